"""Distributions of the cosines of positive and of negative pairs (Figure 7 of Mirror-BERT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.sentence_pairs import sample
from ease.evaluation.metrics import pairwise_cosine
from ease.evaluation.tasks import Encode, error_prefix
from ease.evaluation.tasks.components.graded_pairs import GradedPair
from ease.io.models import StrictModel

POSITIVE, NEGATIVE = "positive", "negative"
COLUMNS = ["model", "kind", "cosine"]


class CosineOptions(StrictModel):
    """Which pairs are positive and negative, and how many of each are shown."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    above: float = Field(4.0, description="pairs graded higher than this are positive")
    below: float = Field(2.0, description="pairs graded lower than this are negative")
    pairs: int = Field(1000, ge=2, description="maximum number of pairs of each kind; a sample of more")
    seed: int = Field(0, ge=0, description="seed of the sample")

    @model_validator(mode="after")
    def _apart(self) -> CosineOptions:
        if self.below > self.above:
            raise EaseError(
                f"`below` {self.below:g} is higher than `above` {self.above:g}: a pair would be both."
            )
        return self


def draw_pairs(
    sets: Mapping[str, Sequence[GradedPair]], options: CosineOptions
) -> dict[str, list[GradedPair]]:
    """Draw positive and negative pairs over all subsets by the seed, in their order.

    Raises:
        EaseError: If there is no pair of one kind.
    """
    graded = [pair for pairs in sets.values() for pair in pairs]
    kinds = {
        POSITIVE: [pair for pair in graded if pair.gold > options.above],
        NEGATIVE: [pair for pair in graded if pair.gold < options.below],
    }
    bounds = {POSITIVE: f"above {options.above:g}", NEGATIVE: f"below {options.below:g}"}
    for kind, bound in bounds.items():
        if not kinds[kind]:
            raise EaseError(
                f"{options.graded}: none of {len(graded)} pairs is {kind}, graded {bound}; change that bound."
            )
    generator = np.random.default_rng(options.seed)
    return {kind: sample(pairs, options.pairs, generator) for kind, pairs in kinds.items()}


def compare_cosines(
    encoders: Mapping[str, Encode], sets: Mapping[str, Sequence[GradedPair]], options: CosineOptions
) -> pd.DataFrame:
    """Compute the cosines of the same positive and negative pairs with several encoders.

    Args:
        encoders: Encoders by the names of their models.
        sets: Graded pairs by subset.
        options: Which pairs are positive and negative.

    Returns:
        The columns `model`, `kind` (positive or negative) and `cosine`, one row a pair.

    Raises:
        EaseError: If there is no pair of one kind; with the model, if an embedding has no cosine.
    """
    drawn = draw_pairs(sets, options)
    kinds = np.repeat(list(drawn), [len(pairs) for pairs in drawn.values()])
    pairs = [pair for chosen in drawn.values() for pair in chosen]
    tables = []
    for model, encode in encoders.items():
        left, right = np.split(encode([pair.left for pair in pairs] + [pair.right for pair in pairs]), 2)
        with error_prefix(f"{model}, {options.graded}"):
            cosines = pairwise_cosine(left, right)
        tables.append(pd.DataFrame({"model": model, "kind": kinds, "cosine": cosines}, columns=COLUMNS))
    return pd.concat(tables, ignore_index=True)


def summarize_cosines(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise how well each model separates the two kinds.

    Args:
        table: Result of `compare_cosines`.

    Returns:
        The columns `model`; mean and standard deviation of the cosines of either kind; `auc`, the area under the ROC
        curve (0 to 1).
    """
    from sklearn.metrics import roc_auc_score

    rows = []
    for model, own in table.groupby("model", sort=False):
        row: dict[str, object] = {"model": model}
        for kind in (POSITIVE, NEGATIVE):
            cosines = own.loc[own["kind"] == kind, "cosine"]
            row |= {f"{kind}_mean": cosines.mean(), f"{kind}_deviation": cosines.std(ddof=0)}
        rows.append({**row, "auc": float(roc_auc_score(own["kind"] == POSITIVE, own["cosine"]))})
    return pd.DataFrame(rows)
