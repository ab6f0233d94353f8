"""K-means clusters of embeddings, their agreement with classes, and the contribution of each row to it.

Section 4.1 of EASE and section 4.5 of mSimCSE.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix

from ease.evaluation.classifiers import one_thread
from ease.evaluation.metrics import Floats, finite_rows

logger = logging.getLogger(__name__)


def cluster(embeddings: ArrayLike, clusters: int, seed: int, n_init: int = 10) -> NDArray[np.int64]:
    """Cluster embeddings, of which some may be zero vectors, by k-means: (n, dimension) -> (n,), cluster numbers.

    Settings are those of the published scores, scikit-learn's defaults of the time: embeddings are not normalised;
    k-means++; the start of the lowest inertia; at most 300 iterations; tolerance 1e-4. One thread computes, because
    the order of summation would otherwise make the clusters depend on the number of threads.
    """
    with one_thread():
        model = KMeans(clusters, n_init=n_init, random_state=seed).fit(finite_rows(embeddings))
    found = model.labels_.astype(np.int64)
    if (distinct := np.unique(found).size) < clusters:
        logger.warning(
            "Only %d of %d clusters found: all other embeddings are duplicates", distinct, clusters
        )
    return found


def _contingency(classes: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the counts, (classes, clusters), and the row and the column of each item."""
    own, found = (np.unique(np.asarray(side), return_inverse=True)[1] for side in (classes, clusters))
    return contingency_matrix(own, found), own, found


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


AGREEMENTS = {"v_measure": v_measure_score, "adjusted_mutual_information": adjusted_mutual_info_score}
"""Agreement of clusters with classes (0 to 1)."""
ROWS = {
    "accuracy": accuracy_of_clusters,
    "purity": purity_of_clusters,
    "mean_cluster_purity": mean_purity_of_clusters,
}
"""The contribution of each row to a measure that is a mean over rows."""
