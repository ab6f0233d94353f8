"""K-means finds the clusters of scikit-learn's, from the same starts."""

from __future__ import annotations

import numpy as np
import pytest
from ease.evaluation.kmeans import cluster_rows, draw_starts
from sklearn.cluster import KMeans, kmeans_plusplus

from ease.evaluation import kmeans


def overlapping(rows: int, classes: int, dimension: int, seed: int) -> np.ndarray:
    """Return rows of length 1 whose classes overlap."""
    random = np.random.default_rng(seed)
    directions = random.normal(size=(classes, dimension)) * 0.6
    made = directions[random.integers(classes, size=rows)] + random.normal(size=(rows, dimension))
    scaled: np.ndarray = made / np.linalg.norm(made, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize("most", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("count", "clusters"), [(500, 2), (900, 12), (300, 40), (60, 1)])
def test_the_clusters_are_scikit_learns(
    count: int, clusters: int, dtype: type, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kmeans, "MOST", most)
    monkeypatch.setattr(kmeans, "BLOCK", 128)
    for seed in range(3):
        rows: np.ndarray = overlapping(count, max(clusters, 2), 24, seed).astype(dtype)
        expected = KMeans(clusters, n_init=5, random_state=seed).fit(rows).labels_
        np.testing.assert_array_equal(cluster_rows(rows, clusters, seed, 5), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "dimension", "scale"), [(1500, 16, 1.0), (3000, 8, 2.0), (6000, 16, 1.5)])
def test_of_nearly_equal_results_the_one_of_scikit_learn_is_chosen(
    count: int, dimension: int, scale: float
) -> None:
    """Starts that end in a few other rows have inertias whose order depends on the rounding of their sums."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        centres = random.normal(size=(4, dimension)) * scale
        rows = centres[random.integers(4, size=count)] + random.normal(size=(count, dimension))
        rows = rows.astype(np.float32)
        expected = KMeans(4, n_init=10, random_state=seed).fit(rows).labels_
        np.testing.assert_array_equal(cluster_rows(rows, 4, seed, 10), expected)


def test_the_starts_are_scikit_learns() -> None:
    rows = overlapping(400, 8, 16, 0).astype(np.float32)
    random = np.random.RandomState(7)
    expected = [kmeans_plusplus(rows, 9, random_state=random)[1] for _ in range(4)]
    np.testing.assert_array_equal(draw_starts(rows, 9, np.random.RandomState(7), 4), expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_starts_with_empty_clusters_are_scikit_learns() -> None:
    rows: np.ndarray = np.repeat(overlapping(5, 2, 4, 0), 20, axis=0)
    expected = KMeans(7, n_init=3, random_state=1).fit(rows).labels_
    np.testing.assert_array_equal(cluster_rows(rows, 7, 1, 3), expected)
    whole = np.array([[0, 0], [0, 1], [9, 9], [9, 8]])
    assert cluster_rows(whole, 2, 0, 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_long_runs_end_in_the_same_clusters() -> None:
    rows = np.random.default_rng(3).normal(size=(3000, 12)).astype(np.float32)
    means = KMeans(10, n_init=2, random_state=5).fit(rows)
    assert means.n_iter_ > 30
    np.testing.assert_array_equal(cluster_rows(rows, 10, 5, 2), means.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_run_ends_after_the_iterations_that_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "ITERATIONS", 2)
    rows = np.random.default_rng(3).normal(size=(3000, 12)).astype(np.float32)
    expected = KMeans(10, n_init=1, max_iter=2, random_state=5).fit(rows).labels_
    np.testing.assert_array_equal(cluster_rows(rows, 10, 5, 1), expected)


def test_rows_that_tie_between_centres_get_scikit_learns_clusters() -> None:
    """Bags of words that share no word are equally far from each other."""
    random = np.random.default_rng(0)
    bags = np.zeros((1500, 400), dtype=np.float32)
    for row in bags:
        row[random.integers(400, size=4)] = 0.5
    expected = KMeans(8, n_init=4, random_state=2).fit(bags).labels_
    np.testing.assert_array_equal(cluster_rows(bags, 8, 2, 4), expected)
