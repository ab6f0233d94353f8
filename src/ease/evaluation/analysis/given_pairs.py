"""Cosines of sentence pairs that the user gives, by several encoders (Table 10 of DuEAM)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ease.evaluation.analysis.sentence_pairs import PRINTED, check_printed
from ease.evaluation.metrics import pairwise_cosine
from ease.evaluation.tasks import Encode, error_prefix
from ease.io.models import StrictModel


class GivenPairsOptions(StrictModel):
    """The pairs to compare, and the cosines that a paper prints for them."""

    pairs: tuple[tuple[str, str], ...] = Field(min_length=1, description="pairs of sentences")
    printed: dict[str, tuple[float, ...]] = Field(
        {}, description="a paper's cosines of the pairs, by its model"
    )

    @model_validator(mode="after")
    def _complete(self) -> GivenPairsOptions:
        check_printed(self.printed, len(self.pairs))
        return self


def compare_given_pairs(encoders: Mapping[str, Encode], options: GivenPairsOptions) -> pd.DataFrame:
    """Compute the cosine of each pair by each encoder.

    Args:
        encoders: Encoders by the names of their models.
        options: The pairs.

    Returns:
        The columns `model`, `sentence1`, `sentence2` and `cosine`, one row per model and pair; the printed ones
        follow.
    """
    left, right = (list(side) for side in zip(*options.pairs, strict=True))
    found = {}
    for model, encode in encoders.items():
        with error_prefix(model):
            found[model] = pairwise_cosine(encode(left), encode(right))
    found |= {model + PRINTED: np.array(cosines) for model, cosines in options.printed.items()}
    return pd.concat(
        [
            pd.DataFrame({"model": model, "sentence1": left, "sentence2": right, "cosine": cosines})
            for model, cosines in found.items()
        ],
        ignore_index=True,
    )
