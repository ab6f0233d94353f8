"""Search and mining against brute force, scikit-learn and an exhaustive scan of thresholds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support
from sklearn.neighbors import NearestNeighbors

from ease.errors import EaseError
from ease.evaluation.search import (
    Neighbours,
    Proposals,
    are_gold,
    best_targets,
    best_threshold,
    margin_scores,
    mining_score,
    mutual_neighbours,
    nearest_neighbours,
)


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    """Rows drawn from a normal distribution, of unlike lengths."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((rows, dimension)) * generator.uniform(0.1, 9, (rows, 1))


def nearest_by_sklearn(queries: np.ndarray, targets: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and rows of the nearest targets, in double precision."""
    index = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(targets)
    distances, rows = index.kneighbors(queries)
    return 1 - distances, rows


BLOCKS = [(11, 5), (64, 100), (1000, 7), (4096, 8192)]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_those_of_brute_force(block: tuple[int, int], dtype: type) -> None:
    queries: np.ndarray = random_rows(150, 24, 1).astype(dtype)
    targets: np.ndarray = random_rows(211, 24, 2).astype(dtype)
    found = nearest_neighbours(queries, targets, 5, block)
    cosines, rows = nearest_by_sklearn(queries, targets, 5)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.cosines, cosines, atol=2e-6)


@pytest.mark.parametrize("block", BLOCKS)
def test_both_directions_are_found_in_one_pass(block: tuple[int, int]) -> None:
    queries, targets = random_rows(150, 24, 3), random_rows(211, 24, 4)
    forward, backward = mutual_neighbours(queries, targets, 4, block)
    for found, one, other in ((forward, queries, targets), (backward, targets, queries)):
        cosines, rows = nearest_by_sklearn(one, other, 4)
        np.testing.assert_array_equal(found.rows, rows)
        np.testing.assert_allclose(found.cosines, cosines, atol=2e-6)


@pytest.mark.parametrize("block", [(1, 1), (2, 2), (9, 9)])
def test_fewer_rows_than_neighbours_are_all_found(block: tuple[int, int]) -> None:
    queries, targets = random_rows(7, 5, 5), random_rows(3, 5, 6)
    forward, backward = mutual_neighbours(queries, targets, 4, block)
    assert forward.rows.shape == forward.cosines.shape == (7, 3)
    assert backward.rows.shape == (3, 4)
    np.testing.assert_array_equal(forward.rows, nearest_by_sklearn(queries, targets, 3)[1])


def test_rows_of_extreme_length_are_found() -> None:
    queries, targets = random_rows(40, 6, 7), random_rows(50, 6, 8)
    expected = nearest_by_sklearn(queries, targets, 3)[1]
    np.testing.assert_array_equal(nearest_neighbours(queries * 1e-200, targets * 1e200, 3).rows, expected)


MEASURE = """
import resource
import numpy as np
from ease.evaluation.search import mutual_neighbours

rows = np.random.default_rng(0).standard_normal((10_000, 4)).astype(np.float32)
mutual_neighbours(rows[:50], rows[:50], 4)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
mutual_neighbours(rows, rows, 4, (500, 1_000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_search_holds_a_block_at_a_time() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    grown = int(done.stdout) * 1024  # Linux counts in KiB
    assert grown < 10_000 * 10_000 * 4 / 10  # all similarities at once take 400 MB


@pytest.mark.parametrize(
    ("queries", "targets", "k", "said"),
    [
        (np.ones((3, 2)), np.ones((3, 2)), 0, "0 neighbours: ask for at least 1"),
        (np.ones((3, 2)), np.ones((3, 4)), 1, r"\(3, 2\) and the targets \(3, 4\)"),
        (np.ones((0, 2)), np.ones((3, 2)), 1, r"\(0, 2\) and the targets \(3, 2\): give at least one row"),
        (np.ones((3, 2)), np.ones((0, 2)), 1, "give at least one row"),
        (np.ones(3), np.ones((3, 2)), 1, r"queries have shape \(3,\)"),
        (np.array([[1, 1], [0, 0]]), np.ones((3, 2)), 1, "1 of 2 rows of the queries are zero.*first row 1"),
        (np.ones((3, 2)), np.array([[np.nan, 1], [1, 1]]), 1, "1 of 2 rows of the targets hold NaN.*row 0"),
        (np.ones((3, 2)), np.array([[1, 1], [1, np.inf]]), 1, "rows of the targets hold NaN or inf.*row 1"),
    ],
)
def test_unusable_embeddings_are_refused(queries: np.ndarray, targets: np.ndarray, k: int, said: str) -> None:
    for search in (nearest_neighbours, mutual_neighbours):
        with pytest.raises(EaseError, match=said):
            search(queries, targets, k)


def test_margins_are_those_of_the_formula() -> None:
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


def test_a_margin_over_no_positive_mean_is_0() -> None:
    forward = Neighbours(np.array([[-0.2, -0.4]], np.float32), np.array([[1, 0]]))
    backward = Neighbours(np.array([[-0.4], [-0.2]], np.float32), np.array([[0], [0]]))
    np.testing.assert_array_equal(margin_scores(forward, backward), [[0, 0]])


def test_the_best_target_may_not_be_the_nearest() -> None:
    proposals = best_targets(np.array([[0.5, 1.5, 1.2], [3.0, 1.0, 1.0]]), np.array([[7, 8, 9], [4, 5, 6]]))
    np.testing.assert_array_equal(proposals.rows, [8, 4])
    np.testing.assert_array_equal(proposals.scores, [1.5, 3.0])
    assert not proposals.tied.any()


def test_equal_targets_are_tied_and_wrong_whichever_is_proposed() -> None:
    targets = random_rows(60, 16, 11).astype(np.float32)
    targets[40] = 3 * targets[12]
    queries = targets[[12, 40, 5]] + 0.01
    gold = np.array([[0, 12], [1, 40], [2, 5]])
    for block in BLOCKS:
        forward, backward = mutual_neighbours(queries, targets, 4, block)
        for scores in (forward.cosines, margin_scores(forward, backward)):
            proposals = best_targets(scores, forward.rows)
            np.testing.assert_array_equal(proposals.tied, [True, True, False])
            np.testing.assert_array_equal(are_gold(proposals, gold), [False, False, True])


def test_a_single_target_has_no_rival() -> None:
    proposals = best_targets(np.array([[0.5], [0.5]]), np.array([[0], [0]]))
    assert not proposals.tied.any()
    np.testing.assert_array_equal(are_gold(proposals, np.array([[1, 0]])), [False, True])


def test_gold_pairs_are_told_apart_by_both_rows() -> None:
    proposals = Proposals(np.array([1, 0, 2]), np.ones(3), np.zeros(3, bool))
    gold = np.array([[0, 2], [1, 0], [2, 1], [0, 1]])  # the first query has two translations
    np.testing.assert_array_equal(are_gold(proposals, gold), [True, True, False])


def test_a_mining_score_is_that_of_scikit_learn() -> None:
    generator = np.random.default_rng(12)
    scores, right = generator.uniform(0, 1, 300), generator.uniform(0, 1, 300) < 0.4
    # 17 gold pairs that nobody proposed: never found, though right.
    wanted, found = np.append(right, [True] * 17), np.append(scores >= 0.3, [False] * 17)
    expected = precision_recall_fscore_support(wanted, found, average="binary")
    score = mining_score(scores, right, int(right.sum()) + 17, 0.3)
    assert (score.precision, score.recall, score.f1) == pytest.approx(expected[:3])


def test_nothing_above_the_threshold_scores_0() -> None:
    score = mining_score(np.array([0.1]), np.array([True]), 3, 0.2)
    assert (score.precision, score.recall, score.f1) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_is_better_than_the_best(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, 40, 60) / 7 - 2  # with equal scores among them
    right = generator.uniform(0, 1, 60) < np.where(scores > 1, 0.7, 0.1)
    gold = int(right.sum()) + 5
    threshold = best_threshold(scores, right, gold)
    best = mining_score(scores, right, gold, threshold).f1
    tried = {value: mining_score(scores, right, gold, value).f1 for value in scores}
    assert best == max(tried.values())
    assert threshold not in scores or threshold == scores.min()
    highest = max(value for value, f1 in tried.items() if f1 == best)
    assert threshold <= highest
    assert not ((scores < highest) & (scores >= threshold)).any()


def test_a_threshold_by_hand_lies_midway() -> None:
    # Above 0.7: 2 of 2 right of 3, F1 0.8. Above 0.5: 2 of 3, 0.67. All: 3 of 4, 0.86.
    scores, right = np.array([0.5, 0.9, 0.8, 0.4]), np.array([False, True, True, True])
    assert best_threshold(scores, right, 3) == 0.4
    assert best_threshold(scores, np.array([False, True, True, False]), 3) == pytest.approx(0.65)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_between_neighbouring_floats_still_parts_them(dtype: type) -> None:
    low = dtype(0.7)
    for _ in range(5):
        high = np.nextafter(low, dtype(1))
        scores: np.ndarray = np.array([low, high], dtype)
        right = np.array([False, True])
        assert mining_score(scores, right, 1, best_threshold(scores, right, 1)).f1 == 1
        low = high


def test_thresholds_and_scores_need_pairs() -> None:
    nothing = np.empty(0)
    with pytest.raises(EaseError, match="0 proposed and 3 gold pairs"):
        best_threshold(nothing, nothing.astype(bool), 3)
    with pytest.raises(EaseError, match="1 proposed and 0 gold pairs"):
        best_threshold(np.ones(1), np.ones(1, bool), 0)
    with pytest.raises(EaseError, match="No gold pair"):
        mining_score(np.ones(1), np.ones(1, bool), 0, 0.5)
