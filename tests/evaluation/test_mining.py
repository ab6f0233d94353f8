"""Bitext mining equals the margin formula, scikit-learn and an exhaustive search for the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from ease.evaluation.mining import (
    MinedPairs,
    MiningScore,
    best_pairs,
    best_threshold,
    margin_scores,
    mining_score,
)
from ease.evaluation.search import Neighbours, mutual_neighbours


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    """Return normally distributed rows."""
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def score(scores: object, right: object, gold: int, threshold: float) -> MiningScore:
    return mining_score(MinedPairs(np.asarray(scores), np.asarray(right), gold), threshold)


def threshold_of(scores: object, right: object, gold: int) -> float:
    return best_threshold(MinedPairs(np.asarray(scores), np.asarray(right), gold))


def test_margins_equal_the_formula() -> None:
    queries, targets, k = random_rows(30, 6, 9), random_rows(41, 6, 10), 4
    forward, backward = mutual_neighbours(queries, targets, k)
    margins = margin_scores(forward, backward)
    unit_queries = queries / np.linalg.norm(queries, axis=1)[:, None]
    unit_targets = targets / np.linalg.norm(targets, axis=1)[:, None]
    cosines = unit_queries @ unit_targets.T
    for x in range(30):
        for place, y in enumerate(forward.rows[x]):
            around = sum(sorted(cosines[x])[-k:]) / (2 * k) + sum(sorted(cosines[:, y])[-k:]) / (2 * k)
            assert margins[x, place] == pytest.approx(cosines[x, y] / around, abs=1e-5)


def test_a_margin_without_a_positive_mean_is_0() -> None:
    forward = Neighbours(np.array([[-0.2, -0.4]], np.float32), np.array([[1, 0]]))
    backward = Neighbours(np.array([[-0.4], [-0.2]], np.float32), np.array([[0], [0]]))
    np.testing.assert_array_equal(margin_scores(forward, backward), [[0, 0]])


def test_the_best_target_may_not_be_the_nearest() -> None:
    scores, rows = np.array([[0.5, 1.5, 1.2], [3.0, 1.0, 1.0]]), np.array([[7, 8, 9], [4, 5, 6]])
    mined = best_pairs(scores, rows, np.array([[0, 8], [1, 5]]))
    np.testing.assert_array_equal(mined.scores, [1.5, 3.0])
    np.testing.assert_array_equal(mined.right, [True, False])


@pytest.mark.parametrize("block", [(11, 5), (1000, 7), (4096, 8192)])
def test_a_pair_that_ties_with_a_wrong_one_is_wrong(block: tuple[int, int]) -> None:
    targets = random_rows(60, 16, 11).astype(np.float32)
    targets[40] = 3 * targets[12]
    queries = targets[[12, 40, 5]] + 0.01
    forward, backward = mutual_neighbours(queries, targets, 4, block)
    for scores in (forward.cosines, margin_scores(forward, backward)):
        one_each = best_pairs(scores, forward.rows, np.array([[0, 12], [1, 40], [2, 5]]))
        np.testing.assert_array_equal(one_each.right, [False, False, True])
        both_right = best_pairs(scores, forward.rows, np.array([[0, 12], [0, 40], [2, 5]]))
        np.testing.assert_array_equal(both_right.right, [True, False, True])


def test_the_mining_score_equals_scikit_learns() -> None:
    generator = np.random.default_rng(12)
    scores, right = generator.uniform(0, 1, 300), generator.uniform(0, 1, 300) < 0.4
    # 17 gold pairs that are not among the mined pairs: they lower the recall.
    wanted, mined = np.append(right, [True] * 17), np.append(scores >= 0.3, [False] * 17)
    expected = precision_recall_fscore_support(wanted, mined, average="binary")
    found = score(scores, right, int(right.sum()) + 17, 0.3)
    assert (found.precision, found.recall, found.f1) == pytest.approx(expected[:3])


@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_is_better_than_the_best(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, 40, 60) / 7 - 2  # with equal scores among them
    right = generator.uniform(0, 1, 60) < np.where(scores > 1, 0.7, 0.1)
    gold = int(right.sum()) + 5
    threshold = threshold_of(scores, right, gold)
    best = score(scores, right, gold, threshold).f1
    tried = {value: score(scores, right, gold, value).f1 for value in scores}
    assert best == max(tried.values())
    assert threshold not in scores or threshold == scores.min()
    highest = max(value for value, f1 in tried.items() if f1 == best)
    assert threshold <= highest
    assert not ((scores < highest) & (scores >= threshold)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_separates_adjacent_floats(dtype: type) -> None:
    low = dtype(0.7)
    for _ in range(5):
        high = np.nextafter(low, dtype(1))
        scores: np.ndarray = np.array([low, high], dtype)
        right = np.array([False, True])
        assert score(scores, right, 1, threshold_of(scores, right, 1)).f1 == 1
        low = high
