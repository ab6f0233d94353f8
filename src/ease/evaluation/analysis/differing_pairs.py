"""Graded pairs on which two models differ most (section 7.3, Table 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.sentence_pairs import Encoders, GradedSets
from ease.evaluation.metrics import Floats
from ease.evaluation.tasks.components.graded_pairs import GradedPair, pair_cosines
from ease.io.models import StrictModel

IMPROVED, DETERIORATED = "improved", "deteriorated"


class DifferingOptions(StrictModel):
    """Which models are compared, and on which pairs."""

    graded: str = Field(description="a task with graded pairs, or one subset of it (`stsb:dev`)")
    model: str = Field(description="a method, `untrained`, or the folder or hub name of an encoder")
    baseline: str = Field(
        description="the model to compare with: a method, `untrained`, or an encoder's folder or hub name"
    )
    rows: int = Field(5, ge=1, description="improved and deteriorated pairs to show, each")

    @model_validator(mode="after")
    def _differ(self) -> DifferingOptions:
        if self.model == self.baseline:
            raise EaseError(f"`model` and `baseline` are both {self.model}: compare two models.")
        return self


def percent_ranks(values: ArrayLike) -> Floats:
    """Ranks from 0 (lowest) to 100; equal values share their mean rank: (n,) -> (n,), n at least 2."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(values)
    return 100 * (ranks - 1) / (len(ranks) - 1)


def rank_pairs(pairs: Sequence[GradedPair], cosines: Mapping[str, Floats]) -> pd.DataFrame:
    """Rank pairs by gold score and by the cosines of two models, and compute which model's rank is closer to gold.

    Spearman's correlation compares ranks, and ranks make models with different ranges of cosines comparable.

    Args:
        pairs: Pairs with gold scores.
        cosines: Cosines of the pairs by model: first the compared model, then the baseline.

    Returns:
        Sentences, gold score, gold rank; cosine and rank by each model (ranks 0 to 100); `gain`: the baseline's
        distance from the gold rank minus the compared model's.
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


def differing_pairs(encoders: Encoders, sets: GradedSets, rows: int) -> pd.DataFrame:
    """Return the pairs on which the first of two models gains most over the second, and loses most.

    Args:
        encoders: The model and the baseline.
        sets: Graded pairs by subset; pairs are ranked within their subset.
        rows: Maximum number of improved and of deteriorated pairs.

    Returns:
        `change` (improved or deteriorated), `subset` and the columns of `rank_pairs`, the largest changes first.

    Raises:
        EaseError: With the subset, if fewer than 2 of its pairs have a gold score or an embedding is unusable.
    """
    tables = []
    for subset, pairs in sets.items():
        scored = [pair for pair in pairs if not np.isnan(pair.gold)]
        if len(scored) < 2:
            raise EaseError(f"{subset}: {len(scored)} pairs have a gold score; ranks need at least 2.")
        cosines = {
            model: pair_cosines(encode, scored, f"{model}, {subset}") for model, encode in encoders.items()
        }
        tables.append(rank_pairs(scored, cosines))
        tables[-1].insert(0, "subset", subset)
    table = pd.concat(tables, ignore_index=True)
    order = table.sort_values("gain", ascending=False, kind="stable")
    improved = order[order["gain"] > 0].head(rows)
    deteriorated = table.sort_values("gain", kind="stable").query("gain < 0").head(rows)
    picked = pd.concat([improved, deteriorated], ignore_index=True)
    picked.insert(0, "change", np.repeat([IMPROVED, DETERIORATED], [len(improved), len(deteriorated)]))
    return picked
