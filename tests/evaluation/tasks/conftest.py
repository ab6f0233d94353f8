"""A simple encoder for the tests of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from ease.evaluation.tasks import Encode


@pytest.fixture(scope="session")
def encode() -> Encode:
    """Encode sentences as hashed bags of words, which suffices to rank graded pairs."""
    vectorizer = HashingVectorizer(n_features=512, alternate_sign=False, token_pattern=r"\S+")

    def encode_bags(sentences: Sequence[str]) -> np.ndarray:
        bags: np.ndarray = vectorizer.transform(list(sentences)).toarray().astype(np.float32)
        return bags

    return encode_bags
