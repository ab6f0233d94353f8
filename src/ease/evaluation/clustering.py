"""K-means clustering of embeddings (section 4.1 of EASE)."""

from __future__ import annotations

import logging
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
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
