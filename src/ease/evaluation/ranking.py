"""Quality of rankings of documents by cosine: normalised discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ease.evaluation.search import TIE_TOLERANCE, Embeddings, nearest_neighbours

K = 10
"""Documents of a query that count"""
SPARE = 90
"""Documents beyond the k best that are compared, so that ties at place k are seen."""


def ndcg(
    queries: Embeddings, documents: Embeddings, gains: Sequence[Mapping[int, float]]
) -> NDArray[np.float64]:
    """Return the normalised discounted cumulative gain (0 to 1) of each query's 10 nearest documents: (n,).

    A document at rank r adds its gain divided by log2(r + 1); the sum is divided by that of the best ranking (Järvelin
    and Kekäläinen, 2002, with the gains as they are, as trec_eval computes it). Documents whose cosines tie are ranked
    by ascending gain.

    Args:
        queries: (n, dimension).
        documents: (m, dimension).
        gains: Gain of each relevant document by its row, for each query, which has at least one above 0.
    """
    found = nearest_neighbours(queries, documents, K + SPARE)
    own = [
        [gain.get(row, 0.0) for row in rows] for gain, rows in zip(gains, found.rows.tolist(), strict=True)
    ]
    earned = np.array(own, dtype=np.float64)  # (n, candidates)
    steps = np.diff(found.cosines, axis=1, prepend=found.cosines[:, :1])
    groups = np.cumsum(steps < -TIE_TOLERANCE, axis=1)
    order = np.lexsort((earned, groups))
    ranked = np.take_along_axis(earned, order, axis=1)[:, :K]
    ideal = np.zeros((len(gains), K))
    for row, gain in zip(ideal, gains, strict=True):
        best = sorted(gain.values(), reverse=True)[:K]
        row[: len(best)] = best
    quality: NDArray[np.float64] = _discounted(ranked) / _discounted(ideal)
    return quality


def _discounted(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum gains in the order of their ranks, discounted: (n, ranks) -> (n,)."""
    discounted: NDArray[np.float64] = gains @ (1 / np.log2(np.arange(gains.shape[1]) + 2))
    return discounted
