"""K-means clustering of embeddings, and agreement of clusters with classes (section 4.1 of EASE, 4.5 of mSimCSE)."""

from __future__ import annotations

import logging
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

from ease.errors import EaseError
from ease.evaluation.kmeans import cluster_rows
from ease.evaluation.metrics import finite_rows

logger = logging.getLogger(__name__)


def cluster(embeddings: ArrayLike, clusters: int, seed: int, n_init: int = 10) -> NDArray[np.int64]:
    """Cluster embeddings by k-means: (n, dimension) -> (n,), cluster numbers.

    Settings are those of the published scores, scikit-learn's defaults of the time: embeddings are not normalised;
    k-means++; the start of the lowest inertia; at most 300 iterations; tolerance 1e-4. One thread computes, because
    the order of summation would otherwise make the clusters depend on the number of threads.

    Args:
        embeddings: Zero vectors are allowed.
        clusters: Number of clusters, k.
        seed: Seed of all starts.
        n_init: Number of starts.

    Raises:
        EaseError: If an embedding is not finite, or there are more clusters than embeddings.
    """
    rows = finite_rows(embeddings)
    if not 1 <= clusters <= len(rows):
        raise EaseError(
            f"{len(rows)} embeddings cannot fall into {clusters} clusters: there must be at least one embedding for "
            "each, and at least one cluster."
        )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # logged below
        found = cluster_rows(rows, clusters, seed, n_init)
    if (distinct := np.unique(found).size) < clusters:
        logger.warning(
            "Only %d of %d clusters found: all other embeddings are duplicates", distinct, clusters
        )
    return found


def hungarian_accuracy(classes: ArrayLike, clusters: ArrayLike) -> float:
    """Share (0 to 1) of rows in their class under the best one-to-one match of clusters with classes (section 4.1).

    Surplus clusters or classes match nothing.
    """
    counts = contingency_matrix(*_aligned(classes, clusters))  # (classes, clusters)
    matched = linear_sum_assignment(counts, maximize=True)
    return float(counts[matched].sum() / counts.sum())


def v_measure(classes: ArrayLike, clusters: ArrayLike) -> float:
    """Harmonic mean (0 to 1) of homogeneity and completeness (Rosenberg and Hirschberg, 2007)."""
    return float(v_measure_score(*_aligned(classes, clusters)))


def adjusted_mutual_information(classes: ArrayLike, clusters: ArrayLike) -> float:
    """Mutual information, scaled: 0 for random clusters of the same sizes, 1 for equal ones (Vinh et al., 2010)."""
    return float(adjusted_mutual_info_score(*_aligned(classes, clusters)))


def purity(classes: ArrayLike, clusters: ArrayLike) -> float:
    """Share (0 to 1) of rows in the most frequent class of their cluster (Manning et al., 2008, eq. 16.1)."""
    counts = contingency_matrix(*_aligned(classes, clusters))  # (classes, clusters)
    return float(counts.max(axis=0).sum() / counts.sum())


def mean_cluster_purity(classes: ArrayLike, clusters: ArrayLike) -> float:
    """Unweighted mean over clusters of the share (0 to 1) of their most frequent class (mSimCSE, section 4.5)."""
    counts = contingency_matrix(*_aligned(classes, clusters))  # (classes, clusters)
    return float((counts.max(axis=0) / counts.sum(axis=0)).mean())


def _aligned(classes: ArrayLike, clusters: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both as arrays of one length."""
    true, found = np.asarray(classes), np.asarray(clusters)
    if true.ndim != 1 or true.shape != found.shape or not true.size:
        raise EaseError(f"{true.shape} classes against {found.shape} clusters: give one of each a row.")
    return true, found
