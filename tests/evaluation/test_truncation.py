"""Embeddings truncated to their first dimensions."""

from __future__ import annotations

import numpy as np
from ease.evaluation.truncation import Truncated


def test_truncated_embeddings_have_unit_length_and_zeros_stay_zeros() -> None:
    rows = np.array([[3.0, 4.0, 9.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(Truncated(lambda texts: rows, 2)(["a", "b"]), [[0.6, 0.8], [0, 0]])
