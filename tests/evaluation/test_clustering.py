"""K-means and the agreement of clusters with classes equal exhaustive search and the definitions."""

from __future__ import annotations

import logging
from itertools import permutations

import numpy as np
import pytest

from ease.evaluation.tasks import labelled_texts
from ease.evaluation.tasks.labelled_texts import accuracy_of_clusters, cluster

BLOBS = np.repeat(10 * np.eye(4, 6), 25, axis=0) + np.random.default_rng(0).normal(size=(100, 6))


def test_blobs_are_separated_also_by_vector_length() -> None:
    assert accuracy_of_clusters(np.repeat(range(4), 25), cluster(BLOBS, 4, seed=1)).all()
    by_length = cluster([[1, 0.1], [1, -0.1], [9, 0.9], [9, -0.9]], 2, seed=1)
    assert by_length[0] == by_length[1] != by_length[2] == by_length[3], "normalised, signs would decide"


def test_zero_vectors_are_clustered_and_identical_vectors_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert set(cluster(np.vstack([np.zeros((2, 6)), BLOBS[:3]]), 2, seed=0)) == {0, 1}
    with caplog.at_level(logging.WARNING):
        assert set(cluster(np.ones((5, 3)), 2, seed=0)) == {0}
    assert "Only 1 of 2 clusters found" in caplog.text


@pytest.mark.parametrize(("classes", "clusters"), [(4, 4), (5, 3), (2, 5)])
def test_accuracy_is_that_of_the_best_of_all_assignments(classes: int, clusters: int) -> None:
    generator = np.random.default_rng(classes)
    true, found = generator.integers(classes, size=30), generator.integers(clusters, size=30)
    every = (np.array(names)[found] for names in permutations(range(max(classes, clusters))))
    assert accuracy_of_clusters(true, found).mean() == pytest.approx(max(np.mean(named == true) for named in every))


def test_purities_and_each_texts_contribution_to_the_mean_by_hand() -> None:
    # Most frequent class: three of four in cluster 0, both in cluster 1, two of three in cluster 2.
    true, found = list("aaabbbaab"), [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert labelled_texts.purity_of_clusters(true, found).mean() == pytest.approx((3 + 2 + 2) / 9)
    contributions = labelled_texts.mean_purity_of_clusters(true, found)
    assert contributions.mean() == pytest.approx((3 / 4 + 1 + 2 / 3) / 3)
    above = contributions - (3 / 4 + 1 + 2 / 3) / 3
    own = [1 / 4, 1 / 4, 1 / 4, -3 / 4, 0, 0, 1 / 3, 1 / 3, -2 / 3]
    sizes = [4, 4, 4, 4, 2, 2, 3, 3, 3]
    assert above == pytest.approx([9 / 3 * part / size for part, size in zip(own, sizes, strict=True)])
