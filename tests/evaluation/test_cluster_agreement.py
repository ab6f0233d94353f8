"""Agreement of clusters with classes equals exhaustive search and the definitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import entropy

from ease.errors import EaseError
from ease.evaluation.clustering import (
    accuracy_of_clusters,
    adjusted_mutual_information,
    hungarian_accuracy,
    mean_cluster_purity,
    mean_purity_of_clusters,
    purity,
    purity_of_clusters,
    v_measure,
)

RANDOM = np.random.default_rng(7)
CLASSES = RANDOM.integers(0, 6, 400)
CLUSTERS = np.where(RANDOM.random(400) < 0.6, CLASSES, RANDOM.integers(0, 7, 400))


def exhaustive_accuracy(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the best accuracy over all assignments of clusters to classes."""
    size = 1 + max(classes.max(), clusters.max())
    names = (np.array(order)[clusters] for order in permutations(range(size)))
    return max(float(np.mean(named == classes)) for named in names)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("classes", "clusters"), [(4, 4), (5, 3), (2, 5)])
def test_accuracy_uses_the_best_cluster_assignment(seed: int, classes: int, clusters: int) -> None:
    generator = np.random.default_rng(seed)
    true, found = generator.integers(classes, size=30), generator.integers(clusters, size=30)
    assert hungarian_accuracy(true, found) == pytest.approx(exhaustive_accuracy(true, found))


def test_accuracy_by_hand() -> None:
    # Greedy matching would take the 3 first and end with 3 + 0 of 7; the best match has 2 + 2.
    assert hungarian_accuracy(list("aaaaabb"), [0, 0, 0, 1, 1, 0, 0]) == pytest.approx(4 / 7)
    assert hungarian_accuracy(["x", "y"], [7, 3]) == 1


def conditional_entropy(of: np.ndarray, given: np.ndarray) -> float:
    """Return the conditional entropy H(of | given) in nats."""
    values, counts = np.unique(given, return_counts=True)
    parts = [entropy(np.unique(of[given == value], return_counts=True)[1]) for value in values]
    return float(np.average(parts, weights=counts))


@pytest.mark.parametrize("seed", range(5))
def test_v_measure_is_the_harmonic_mean_of_homogeneity_and_completeness(seed: int) -> None:
    generator = np.random.default_rng(seed)
    true, found = generator.integers(4, size=50), generator.integers(6, size=50)
    homogeneity = 1 - conditional_entropy(true, found) / entropy(np.bincount(true))
    completeness = 1 - conditional_entropy(found, true) / entropy(np.bincount(found))
    expected = 2 * homogeneity * completeness / (homogeneity + completeness)
    assert v_measure(true, found) == pytest.approx(expected)
    assert v_measure(true, -true) == pytest.approx(1)


@pytest.mark.parametrize("classes", [2, 13, 100])
def test_random_clusters_have_no_adjusted_mutual_information(classes: int) -> None:
    generator = np.random.default_rng(classes)
    true = generator.integers(classes, size=3000) // generator.integers(1, 3, size=3000)
    scores = [100 * adjusted_mutual_information(true, generator.permutation(true)) for _ in range(5)]
    assert abs(np.mean(scores)) < 0.5
    assert adjusted_mutual_information(true, -true) == pytest.approx(1)


def test_purities_by_hand() -> None:
    # Most frequent class: three of four in cluster 0, both in cluster 1, one of three in cluster 2.
    true, found = list("aaabccabc"), [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert purity(true, found) == pytest.approx((3 + 2 + 1) / 9)
    assert mean_cluster_purity(true, found) == pytest.approx((3 / 4 + 1 + 1 / 3) / 3)
    assert purity(true, true) == mean_cluster_purity(true, true) == 1


@pytest.mark.parametrize("seed", range(5))
def test_purity_is_the_share_of_the_most_frequent_class(seed: int) -> None:
    generator = np.random.default_rng(seed)
    true, found = generator.integers(4, size=60), generator.integers(6, size=60)
    greatest = {one: np.bincount(true[found == one]).max() for one in {*found.tolist()}}
    assert purity(true, found) == pytest.approx(sum(greatest.values()) / 60)
    shares = [most / np.sum(found == one) for one, most in greatest.items()]
    assert mean_cluster_purity(true, found) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(
    "measure", [hungarian_accuracy, v_measure, adjusted_mutual_information, purity, mean_cluster_purity]
)
def test_classes_and_clusters_of_different_lengths_are_refused(measure: object) -> None:
    assert callable(measure)
    for true, found in [([1, 2], [1, 2, 3]), ([], [])]:
        with pytest.raises(EaseError, match="give one of each a row"):
            measure(true, found)


@pytest.mark.parametrize(
    ("rows", "measure"),
    [
        (accuracy_of_clusters, hungarian_accuracy),
        (purity_of_clusters, purity),
        (mean_purity_of_clusters, mean_cluster_purity),
    ],
)
def test_contributions_of_texts_average_to_the_measure_of_their_clusters(
    rows: Callable[..., np.ndarray], measure: Callable[..., float]
) -> None:
    assert np.mean(rows(CLASSES, CLUSTERS)) == pytest.approx(measure(CLASSES, CLUSTERS))


def test_contributions_to_the_mean_purity_are_its_derivative_by_each_text() -> None:
    # Most frequent class: three of four in cluster 0, both in cluster 1, two of three in cluster 2.
    true, found = list("aaabbbaab"), [0, 0, 0, 0, 1, 1, 2, 2, 2]
    above = mean_purity_of_clusters(true, found) - mean_cluster_purity(true, found)
    own = [1 / 4, 1 / 4, 1 / 4, -3 / 4, 0, 0, 1 / 3, 1 / 3, -2 / 3]
    sizes = [4, 4, 4, 4, 2, 2, 3, 3, 3]
    assert above == pytest.approx([9 / 3 * part / size for part, size in zip(own, sizes, strict=True)])
