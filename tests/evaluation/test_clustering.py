"""K-means equals exhaustive search on a few points; it is seeded and uses one thread."""

from __future__ import annotations

import logging
from itertools import product
from typing import Any

import numpy as np
import pytest
from ease.evaluation.kmeans import cluster_rows
from threadpoolctl import threadpool_info, threadpool_limits

from ease.errors import EaseError
from ease.evaluation import clustering
from ease.evaluation.clustering import cluster, hungarian_accuracy

BLOBS = np.repeat(10 * np.eye(4, 6), 25, axis=0) + np.random.default_rng(0).normal(size=(100, 6))


def inertia(rows: np.ndarray, clusters: np.ndarray) -> float:
    """Return the sum of squared distances to the means, which k-means minimises."""
    return sum(
        float(rows[clusters == one].var(axis=0).sum() * (clusters == one).sum()) for one in {*clusters}
    )


@pytest.mark.parametrize("seed", range(5))
def test_k_means_finds_the_best_partition_of_a_few_points(seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(9, 2))
    partitions = (np.array(parts) for parts in product(range(2), repeat=9) if 0 < sum(parts) < 9)
    least = min(inertia(rows, parts) for parts in partitions)
    assert inertia(rows, cluster(rows, 2, seed=seed, n_init=50)) == pytest.approx(least)


def test_blobs_are_separated_also_by_vector_length() -> None:
    assert hungarian_accuracy(np.repeat(range(4), 25), cluster(BLOBS, 4, seed=1)) == 1
    by_length = cluster([[1, 0.1], [1, -0.1], [9, 0.9], [9, -0.9]], 2, seed=1)
    assert by_length[0] == by_length[1] != by_length[2] == by_length[3], "normalised, signs would decide"


def test_k_means_is_seeded_and_more_restarts_are_not_worse() -> None:
    rows = np.random.default_rng(0).uniform(size=(200, 5))
    assert (cluster(rows, 12, seed=3, n_init=1) == cluster(rows, 12, seed=3, n_init=1)).all()
    single = [inertia(rows, cluster(rows, 12, seed=seed, n_init=1)) for seed in range(6)]
    assert len(set(single)) > 1
    assert inertia(rows, cluster(rows, 12, seed=0, n_init=20)) < np.median(single)


def test_k_means_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def watched(*arguments: Any) -> np.ndarray:
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return cluster_rows(*arguments)

    monkeypatch.setattr(clustering, "cluster_rows", watched)
    with threadpool_limits(2):
        cluster(BLOBS, 4, seed=0)
    assert set(seen) == {1}


def test_zero_vectors_are_clustered_and_identical_vectors_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert set(cluster(np.vstack([np.zeros((2, 6)), BLOBS[:3]]), 2, seed=0)) == {0, 1}
    with caplog.at_level(logging.WARNING):
        assert set(cluster(np.ones((5, 3)), 2, seed=0)) == {0}
    assert "Only 1 of 2 clusters found" in caplog.text


@pytest.mark.parametrize(
    ("rows", "clusters", "said"),
    [
        (BLOBS[:3], 4, "3 embeddings cannot fall into 4 clusters"),
        (BLOBS, 0, "100 embeddings cannot fall into 0 clusters"),
        (
            [[1.0, 2.0], [np.nan, 1.0]],
            2,
            "1 of 2 rows of the embeddings contain NaN or infinity, first row 1",
        ),
        ([1.0, 2.0], 2, "shape .2,.: give one row per sentence"),
    ],
)
def test_invalid_clustering_inputs_are_refused(rows: np.ndarray, clusters: int, said: str) -> None:
    with pytest.raises(EaseError, match=said):
        cluster(rows, clusters, seed=0)
