"""Metrics equal hand-computed values and independent implementations."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata
from sklearn.metrics.pairwise import paired_cosine_distances

from ease.errors import EaseError
from ease.evaluation.metrics import (
    normalize_rows,
    pairwise_cosine,
    row_lengths,
    spearman,
)


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    """Return normally distributed rows."""
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def test_pairwise_cosine_agrees_with_scikit_learn() -> None:
    left, right = random_rows(200, 16, 1), random_rows(200, 16, 2)
    np.testing.assert_allclose(
        pairwise_cosine(left, right), 1 - paired_cosine_distances(left, right), atol=1e-12
    )


def test_rows_of_extreme_length_keep_their_direction() -> None:
    tiny = normalize_rows(np.array([[3e-200, 4e-200], [3e200, 4e200]]))
    np.testing.assert_allclose(tiny, [[0.6, 0.8], [0.6, 0.8]])


def test_row_norms_equal_numpys() -> None:
    rows = random_rows(600_000, 8, 15).astype(np.float32)  # more than one block
    np.testing.assert_allclose(row_lengths(rows), np.linalg.norm(rows.astype(float), axis=1), rtol=1e-12)
    rows[599_999] = 0
    with pytest.raises(EaseError, match="1 of 600000 rows of the queries are zero vectors, first row 599999"):
        row_lengths(rows, "queries")


def test_spearman_with_ties_correlates_mean_ranks() -> None:
    generator = np.random.default_rng(3)
    similarities, gold = generator.integers(0, 9, 300), generator.integers(0, 6, 300)
    expected = pearsonr(rankdata(similarities), rankdata(gold)).statistic
    assert spearman(similarities, gold) == pytest.approx(expected)


def test_a_collapsed_model_scores_zero_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert spearman(pairwise_cosine(np.ones((4, 3)), np.ones((4, 3))), [1, 2, 3, 4]) == 0.0
    assert "equal" in caplog.text


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (np.ones(3), np.ones(3), r"left embeddings have shape \(3,\)"),
        (
            [[1, 1], [0, 0]],
            [[1, 1], [1, 1]],
            "1 of 2 rows of the left embeddings are zero vectors, first row 1",
        ),
        (
            [[1, 1], [1, 1]],
            [[1, np.nan], [1, 1]],
            "1 of 2 rows of the right embeddings contain NaN.*first row 0",
        ),
    ],
)
def test_unusable_embeddings_are_refused(left: object, right: object, said: str) -> None:
    with pytest.raises(EaseError, match=said):
        pairwise_cosine(left, right)


@pytest.mark.parametrize(
    ("similarities", "gold", "said"),
    [
        ([1], [3], "1 sentence pair has a gold score"),
        ([1, 2, 3], [4, 4, 4], "All 3 gold scores are 4"),
        ([1, np.nan, 3], [1, 2, 3], "1 of 3 similarities are NaN"),
    ],
)
def test_unusable_scores_are_refused(similarities: list[float], gold: list[float], said: str) -> None:
    with pytest.raises(EaseError, match=said):
        spearman(similarities, gold)
