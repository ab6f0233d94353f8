"""A real, if simple, encoder for the tasks' tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from ease.evaluation.tasks import Encode


@pytest.fixture(scope="session")
def encode() -> Encode:
    """Hashed bags of words: deterministic, and good enough to rank graded pairs."""
    vectorizer = HashingVectorizer(n_features=512, alternate_sign=False, token_pattern=r"\S+")

    def encode_bags(sentences: Sequence[str]) -> np.ndarray:
        bags: np.ndarray = vectorizer.transform(list(sentences)).toarray().astype(np.float32)
        return bags

    return encode_bags
