"""Cosines of sentence pairs that the user gives, by several encoders (Table 10 of DuEAM)."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from pydantic import Field

from ease.evaluation.metrics import pairwise_cosine
from ease.evaluation.tasks import Encode, error_prefix
from ease.io.models import StrictModel

COLUMNS = ["model", "sentence1", "sentence2", "cosine"]


class GivenPairsOptions(StrictModel):
    """The pairs to compare."""

    pairs: tuple[tuple[str, str], ...] = Field(min_length=1, description="pairs of sentences")


def compare_given_pairs(encoders: Mapping[str, Encode], options: GivenPairsOptions) -> pd.DataFrame:
    """Compute the cosine of each pair by each encoder.

    Args:
        encoders: Encoders by the names of their models.
        options: The pairs.

    Returns:
        The columns `model`, `sentence1`, `sentence2` and `cosine`, one row per model and pair.
    """
    left, right = (list(side) for side in zip(*options.pairs, strict=True))
    tables = []
    for model, encode in encoders.items():
        with error_prefix(model):
            cosines = pairwise_cosine(encode(left), encode(right))
        tables.append(
            pd.DataFrame({"model": model, "sentence1": left, "sentence2": right, "cosine": cosines})
        )
    return pd.concat(tables, ignore_index=True)[COLUMNS]
