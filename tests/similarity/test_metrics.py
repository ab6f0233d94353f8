"""Cosines and correlations equal independent implementations."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata
from sklearn.metrics.pairwise import paired_cosine_distances

from ease.errors import EaseError
from ease.similarity.metrics import spearman
from ease.similarity.vectors import normalize_rows, pairwise_cosine


def test_pairwise_cosine_agrees_with_scikit_learn() -> None:
    left, right = np.random.default_rng(1).standard_normal((2, 200, 16))
    expected = 1 - paired_cosine_distances(left, right)
    np.testing.assert_allclose(pairwise_cosine(left, right), expected, atol=1e-12)
    tiny = normalize_rows(np.array([[3e-200, 4e-200], [3e200, 4e200]]))
    np.testing.assert_allclose(tiny, [[0.6, 0.8], [0.6, 0.8]])


def test_spearman_with_ties_and_without_two_different_scores(caplog: pytest.LogCaptureFixture) -> None:
    generator = np.random.default_rng(3)
    similarities, gold = generator.integers(0, 9, 300), generator.integers(0, 6, 300)
    assert spearman(similarities, gold) == pytest.approx(pearsonr(rankdata(similarities), rankdata(gold)).statistic)
    for same in ([4.0], [4, 4, 4]):
        with pytest.raises(EaseError, match="gold scores are no two different ones: nothing to rank"):
            spearman(range(len(same)), same)
    with caplog.at_level(logging.WARNING):
        assert spearman(pairwise_cosine(np.ones((4, 3)), np.ones((4, 3))), [1, 2, 3, 4]) == 0.0
    assert "equal" in caplog.text
