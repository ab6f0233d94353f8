"""Cosines of positive and of negative pairs: distributions and ROC curves (Figures 7 and 4 of Mirror-BERT)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import Encoders, GradedSets, sample
from ease.evaluation.tasks.graded_pairs import GradedPair, pair_cosines
from ease.io.models import StrictModel

POSITIVE, NEGATIVE = "positive", "negative"
POINTS = 201
"""Maximum number of points of a saved ROC curve."""


class CosineOptions(StrictModel):
    """Which pairs are positive and negative, and how many are shown."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    above: float = Field(4.0, description="pairs graded higher than this are positive")
    below: float = Field(2.0, description="pairs graded lower than this are negative")
    pairs: int = Field(1000, ge=2, description="maximum number of pairs of both kinds; a sample of more")
    seed: int = Field(0, ge=0, description="seed of the sample")

    @model_validator(mode="after")
    def _apart(self) -> CosineOptions:
        if self.below > self.above:
            raise EaseError(
                f"`below` {self.below:g} is higher than `above` {self.above:g}: a pair would be both."
            )
        return self


def draw_pairs(sets: GradedSets, options: CosineOptions) -> dict[str, list[GradedPair]]:
    """Draw positive and negative pairs over all subsets by the seed, in their order."""
    graded = [
        pair
        for pairs in sets.values()
        for pair in pairs
        if pair.gold > options.above or pair.gold < options.below
    ]
    drawn = sample(graded, options.pairs, np.random.default_rng(options.seed))
    kinds = {
        POSITIVE: [pair for pair in drawn if pair.gold > options.above],
        NEGATIVE: [pair for pair in drawn if pair.gold < options.below],
    }
    for kind, bound in ((POSITIVE, f"above {options.above:g}"), (NEGATIVE, f"below {options.below:g}")):
        if not kinds[kind]:
            raise EaseError(
                f"{options.graded}: none of {len(drawn)} drawn pairs is {kind}, graded {bound}; change that bound, or "
                "draw more `pairs`."
            )
    return kinds


def compare_cosines(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Compute the cosines of the same positive and negative pairs with several encoders.

    Returns:
        The columns `model`, `kind` (positive or negative) and `cosine`, one row per pair.

    Raises:
        EaseError: If there is no pair of one kind; with the model, if an embedding has no cosine.
    """
    drawn = draw_pairs(sets, options)
    kinds = np.repeat(list(drawn), [len(pairs) for pairs in drawn.values()])
    pairs = [pair for chosen in drawn.values() for pair in chosen]
    tables = []
    for model, encode in encoders.items():
        cosines = pair_cosines(encode, pairs, f"{model}, {options.graded}")
        tables.append(pd.DataFrame({"model": model, "kind": kinds, "cosine": cosines}))
    return pd.concat(tables, ignore_index=True)


def summarize_cosines(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise how well each model separates the two kinds of a table by `compare_cosines`.

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


class CurveOptions(CosineOptions):
    """Which pairs are positive and negative, and further encoders."""

    further: dict[str, str] = Field(
        {}, description="encoders beside the setting's: the folder or hub name of each, by its title"
    )


def roc_curves(encoders: Encoders, sets: GradedSets, options: CosineOptions) -> pd.DataFrame:
    """Compute the ROC curves of several encoders on the same pairs.

    Returns:
        The columns `model`, `false_positive_rate`, `true_positive_rate` and `auc`, the area under the complete curve (0
        to 1). Long curves are thinned to evenly spaced rates.

    Raises:
        EaseError: If there is no pair of one kind; with the model, if an embedding has no cosine.
    """
    from sklearn.metrics import auc, roc_curve

    tables = []
    for model, own in compare_cosines(encoders, sets, options).groupby("model", sort=False):
        false, true, _ = roc_curve(own["kind"] == POSITIVE, own["cosine"])
        area = float(auc(false, true))
        if len(false) > POINTS:
            grid = np.linspace(0, 1, POINTS)
            false, true = grid, np.concatenate([[0.0], np.interp(grid[1:], false, true)])
        rates = {"false_positive_rate": false, "true_positive_rate": true, "auc": area}
        tables.append(pd.DataFrame({"model": model, **rates}))
    return pd.concat(tables, ignore_index=True)
