"""Nearest-neighbour search equals scikit-learn's brute force; memory use and ties."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from ease.errors import EaseError
from ease.evaluation import search
from ease.evaluation.search import hits_within, mutual_neighbours, nearest_neighbours


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    """Normally distributed rows of different lengths."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((rows, dimension)) * generator.uniform(0.1, 9, (rows, 1))


def nearest_by_sklearn(queries: np.ndarray, targets: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and rows of the nearest targets, in double precision."""
    index = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(targets)
    distances, rows = index.kneighbors(queries)
    return 1 - distances, rows


BLOCKS = [(11, 5), (64, 100), (1000, 7), (4096, 8192)]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_equal_brute_force(block: tuple[int, int], dtype: type) -> None:
    queries: np.ndarray = random_rows(150, 24, 1).astype(dtype)
    targets: np.ndarray = random_rows(211, 24, 2).astype(dtype)
    found = nearest_neighbours(queries, targets, 5, block)
    cosines, rows = nearest_by_sklearn(queries, targets, 5)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.cosines, cosines, atol=2e-6)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("group", [4, 128])
def test_both_directions_are_found_in_one_pass(
    block: tuple[int, int], group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "GROUP", group)
    queries, targets = random_rows(150, 24, 3), random_rows(211, 24, 4)
    forward, backward = mutual_neighbours(queries, targets, 4, block)
    for found, one, other in ((forward, queries, targets), (backward, targets, queries)):
        cosines, rows = nearest_by_sklearn(one, other, 4)
        np.testing.assert_array_equal(found.rows, rows)
        np.testing.assert_allclose(found.cosines, cosines, atol=2e-6)


def test_targets_kept_on_the_device_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, targets = random_rows(150, 24, 3), random_rows(211, 24, 4)
    read = mutual_neighbours(queries, targets, 4, (64, 100))
    monkeypatch.setattr(search, "_fits", lambda shape, device: True)
    for one, other in zip(read, mutual_neighbours(queries, targets, 4, (64, 100)), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


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


@pytest.mark.slow
def test_search_allocates_one_block_at_a_time() -> None:
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
        (
            np.ones((3, 2)),
            np.array([[np.nan, 1], [1, 1]]),
            1,
            "1 of 2 rows of the targets contain NaN.*row 0",
        ),
        (
            np.ones((3, 2)),
            np.array([[1, 1], [1, np.inf]]),
            1,
            "rows of the targets contain NaN or inf.*row 1",
        ),
    ],
)
def test_unusable_embeddings_are_refused(queries: np.ndarray, targets: np.ndarray, k: int, said: str) -> None:
    for find in (nearest_neighbours, mutual_neighbours):
        with pytest.raises(EaseError, match=said):
            find(queries, targets, k)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_hits_count_correct_candidates_in_the_top_k(k: int) -> None:
    generator = np.random.default_rng(12)
    cosines = -np.sort(-generator.uniform(-1, 1, (200, 6)), axis=1)
    right = generator.random((200, 6)) < 0.15
    hits = hits_within(cosines, right, k)
    np.testing.assert_array_equal(hits, right[:, :k].any(axis=1))
    assert 0 < hits.sum() < 200


def test_a_tie_at_rank_k_is_a_miss() -> None:
    cosines = np.array([[0.9, 0.5, 0.5], [0.9, 0.5, 0.4], [0.5, 0.5, 0.5], [0.7, 0.7, 0.1]])
    right = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    assert hits_within(cosines, right, 1).tolist() == [False, False, False, True]
    assert hits_within(cosines, right, 2).tolist() == [False, True, False, True]
    assert hits_within(cosines, right, 3).tolist() == [True] * 4
