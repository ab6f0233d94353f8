"""The graded pairs on which two models differ most, for better and for worse (section 7.3, Table 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ease.errors import EaseError
from ease.evaluation.metrics import Floats, pairwise_cosine
from ease.evaluation.tasks import Encode
from ease.evaluation.tasks.components.graded_pairs import GradedPair

IMPROVED, DETERIORATED = "improved", "deteriorated"


class DifferingOptions(BaseModel):
    """Which models are compared, on which pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    model: str = Field(description="a method, `untrained`, or the folder or hub name of an encoder")
    baseline: str = Field(description="what it is compared with, named likewise")
    rows: int = Field(5, ge=1, description="pairs to show where the model is better, and where it is worse")

    @model_validator(mode="after")
    def _differ(self) -> DifferingOptions:
        if self.model == self.baseline:
            raise EaseError(f"`model` and `baseline` are both {self.model}: compare two models.")
        return self


def percent_ranks(values: ArrayLike) -> Floats:
    """Ranks from 0, the least, to 100, the greatest; equal values share their mean rank: (n,) -> (n,), n at least 2."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(values)
    return 100 * (ranks - 1) / (len(ranks) - 1)


def rank_pairs(pairs: Sequence[GradedPair], cosines: Mapping[str, Floats]) -> pd.DataFrame:
    """Rank pairs by gold score and by each of two models' cosines, and say which model comes closer.

    What Spearman's correlation compares is ranks; they also bring models whose cosines lie in differing ranges to one
    scale.

    Args:
        pairs: All with a gold score.
        cosines: Of each pair, by model; the first is the one compared, the second the baseline.

    Returns:
        Sentences, gold score, gold rank; cosine and rank by each model (ranks 0 to 100); `gain`: by how many points
        the first model's rank is nearer to the gold rank than the second's.
    """
    table = pd.DataFrame(pairs, columns=["sentence1", "sentence2", "gold"])
    table["gold_rank"] = percent_ranks(table["gold"])
    distances = []
    for model, values in cosines.items():
        table[f"{model}_cosine"] = values
        table[f"{model}_rank"] = percent_ranks(values)
        distances.append((table[f"{model}_rank"] - table["gold_rank"]).abs())
    nearer, farther = distances
    table["gain"] = farther - nearer
    return table


def differing_pairs(
    encoders: Mapping[str, Encode], sets: Mapping[str, Sequence[GradedPair]], rows: int
) -> pd.DataFrame:
    """Pick the pairs on which the first of two models gains most over the second, and loses most.

    Args:
        encoders: The model and the baseline, by their names.
        sets: Graded pairs by subset; pairs are ranked within their own.
        rows: The most pairs to pick on either side.

    Returns:
        The columns of `rank_pairs` after `change` (improved or deteriorated) and `subset`, the greatest changes first.

    Raises:
        EaseError: Naming the subset, if fewer than 2 of its pairs have a gold score or an embedding is unusable.
    """
    table = pd.concat([_ranked(encoders, subset, pairs) for subset, pairs in sets.items()], ignore_index=True)
    order = table.sort_values("gain", ascending=False, kind="stable")
    improved = order[order["gain"] > 0].head(rows)
    deteriorated = table.sort_values("gain", kind="stable").query("gain < 0").head(rows)
    change = np.repeat([IMPROVED, DETERIORATED], [len(improved), len(deteriorated)])
    picked = pd.concat([improved, deteriorated], ignore_index=True)
    picked.insert(0, "change", change)
    return picked


def _ranked(encoders: Mapping[str, Encode], subset: str, pairs: Sequence[GradedPair]) -> pd.DataFrame:
    scored = [pair for pair in pairs if not np.isnan(pair.gold)]
    if len(scored) < 2:
        raise EaseError(f"{subset}: {len(scored)} pairs have a gold score; ranks need at least 2.")
    sentences = [pair.left for pair in scored] + [pair.right for pair in scored]
    cosines = {}
    for model, encode in encoders.items():
        left, right = np.split(encode(sentences), 2)
        try:
            cosines[model] = pairwise_cosine(left, right)
        except EaseError as error:
            raise EaseError(f"{model}, {subset}: {error}") from error
    table = rank_pairs(scored, cosines)
    table.insert(0, "subset", subset)
    return table
