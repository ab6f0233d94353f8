"""K-means clusters of embeddings, their agreement with classes, and the contribution of each row to it.

Section 4.1 of EASE and section 4.5 of mSimCSE.
"""

from __future__ import annotations

import logging
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information
from threadpoolctl import threadpool_limits

from ease.evaluation.metrics import finite_rows

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]


def cluster(embeddings: ArrayLike, clusters: int, seed: int, n_init: int = 10) -> NDArray[np.int64]:
    """Cluster embeddings by k-means: (n, dimension) -> (n,), cluster numbers.

    Settings are those of the published scores, scikit-learn's defaults of the time: embeddings are not normalised;
    k-means++; the start of the lowest inertia; at most 300 iterations; tolerance 1e-4. One thread computes, because
    the order of summation would otherwise make the clusters depend on the number of threads.

    Args:
        embeddings: Zero vectors are allowed.
        clusters: Number of clusters, k; at most that of the embeddings.
        seed: Seed of all starts.
        n_init: Number of starts.
    """
    rows = finite_rows(embeddings)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # logged below
        found = KMeans(clusters, n_init=n_init, random_state=seed).fit(rows).labels_.astype(np.int64)
    if (distinct := np.unique(found).size) < clusters:
        logger.warning(
            "Only %d of %d clusters found: all other embeddings are duplicates", distinct, clusters
        )
    return found


def accuracy_of_clusters(classes: ArrayLike, clusters: ArrayLike) -> Floats:
    """Return whether each row is in the cluster of its class: (n,).

    Clusters and classes are matched one-to-one for the best accuracy (section 4.1); surplus ones match nothing.
    """
    counts, own, found = _contingency(classes, clusters)
    matched = np.zeros(counts.shape, dtype=bool)
    matched[linear_sum_assignment(counts, maximize=True)] = True
    return matched[own, found].astype(np.float64)


def purity_of_clusters(classes: ArrayLike, clusters: ArrayLike) -> Floats:
    """Return whether each row is of the most frequent class of its cluster: (n,) (Manning et al., 2008, eq. 16.1)."""
    counts, own, found = _contingency(classes, clusters)
    return (counts.argmax(axis=0)[found] == own).astype(np.float64)


def mean_purity_of_clusters(classes: ArrayLike, clusters: ArrayLike) -> Floats:
    """Return contributions whose mean is the unweighted mean of the clusters' purities: (n,) (mSimCSE, section 4.5)."""
    counts, _, found = _contingency(classes, clusters)
    sizes = counts.sum(axis=0)
    purities, flags = counts.max(axis=0) / sizes, purity_of_clusters(classes, clusters)
    scale = len(found) / (sizes[found] * len(sizes))
    return float(purities.mean()) + (flags - purities[found]) * scale


def v_measure_contributions(classes: Floats, clusters: Floats) -> Floats:
    """Return contributions whose mean is the V-measure: its first derivative by the weight of each row."""
    marginal, joint = _surprisals(classes, clusters)
    total, shared = float(marginal.mean()), float(joint.mean())
    if not total:
        return np.ones(len(classes))
    change = -2 * (joint - shared) / total + 2 * shared * (marginal - total) / total**2
    return 2 - 2 * shared / total + change


def adjusted_contributions(classes: Floats, clusters: Floats) -> Floats:
    """Return contributions whose mean is the adjusted mutual information; that of random clusters is taken as fixed."""
    marginal, joint = _surprisals(classes, clusters)
    total, shared = float(marginal.mean()), float(joint.mean())
    counts = contingency_matrix(classes, clusters, sparse=True)
    random = expected_mutual_information(counts, len(classes))
    above, most = total - shared - random, total / 2 - random
    if not most:
        return np.ones(len(classes))
    change = (marginal - total - joint + shared) / most - above * (marginal - total) / (2 * most**2)
    return above / most + change


CONTRIBUTIONS = {"v_measure": v_measure_contributions, "adjusted_mutual_information": adjusted_contributions}
"""The contributions to measures that are linear in the rows to first order, by the name of the measure."""

AGREEMENTS = {"v_measure": v_measure_score, "adjusted_mutual_information": adjusted_mutual_info_score}
"""Agreement of clusters with classes (0 to 1), by the name of the metric."""

ROWS = {
    "accuracy": accuracy_of_clusters,
    "purity": purity_of_clusters,
    "mean_cluster_purity": mean_purity_of_clusters,
}
"""The contribution of each row to a measure that is a mean over rows."""


def _contingency(
    classes: ArrayLike, clusters: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp]]:
    """Return the counts, (classes, clusters), and the row and the column of each item."""
    own, found = (np.unique(np.asarray(side), return_inverse=True)[1] for side in (classes, clusters))
    return contingency_matrix(own, found), own, found


def _surprisals(classes: Floats, clusters: Floats) -> tuple[Floats, Floats]:
    """Return the surprisal of each row's class and cluster: the sum of both, and that of both together."""
    joint = _surprisal(classes * (clusters.max() + 1) + clusters)
    return _surprisal(classes) + _surprisal(clusters), joint


def _surprisal(labels: Floats) -> Floats:
    """Return minus the logarithm of the share of each row's label; the mean is the entropy."""
    _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    surprisal: Floats = -np.log(counts / len(labels))[numbers]
    return surprisal
