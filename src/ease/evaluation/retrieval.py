"""Retrieval scores between two embedding spaces: parallel sentences, maps of spaces, CSLS, nDCG. Ties are misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.evaluation.metrics import Floats, row_lengths, unit_or_zero_rows
from ease.evaluation.search import (
    BLOCK,
    TIE_TOLERANCE,
    Embeddings,
    Flags,
    Rows,
    hits_within,
    mutual_neighbours,
    nearest_neighbours,
    similarity_blocks,
)

Units = NDArray[np.float32]

K = 10
"""Documents of a query that count"""
SPARE = 90
"""Documents beyond the k best that are compared, so that ties at place k are seen."""


def parallel_hits(left: ArrayLike, right: ArrayLike, block: tuple[int, int] = BLOCK) -> tuple[Flags, Flags]:
    """Retrieve each row's translation, the same row of the other matrix, by cosine, in both directions.

    A translation that ties with another candidate is a miss.

    Args:
        left: (n, dimension).
        right: (n, dimension); row i is the translation of the left row i.
        block: Rows of both sides compared at once.

    Returns:
        Whether each left row finds its translation, and each right row, (n,) each.
    """
    own = np.arange(np.shape(left)[0])[:, None]
    forward, backward = mutual_neighbours(left, right, 2, block)
    return hits_within(forward.cosines, forward.rows == own, 1), hits_within(
        backward.cosines, backward.rows == own, 1
    )


def unit_rows(embeddings: Embeddings, center: bool = False, name: str = "embeddings") -> Units:
    """Scale rows to length 1, in single precision: (n, dimension) -> (n, dimension).

    Args:
        embeddings: One row per word.
        center: Whether to subtract the mean of the scaled rows and scale again.
        name: Name of the matrix in error messages.

    Raises:
        EaseError: If it is not a matrix of finite numbers, or a row is zero.
    """
    lengths = row_lengths(embeddings, name)[:, None]
    units: Units = np.empty(embeddings.shape, dtype=np.float32)
    np.divide(embeddings, lengths, out=units, casting="same_kind")
    if center:
        units -= units.mean(axis=0, dtype=np.float64).astype(np.float32)
        units = unit_or_zero_rows(units)
    return units


def common_space(source: Embeddings, target: Embeddings) -> tuple[Floats, Floats]:
    """Return a map of each side, (dimension, dimension), into a space in which paired rows are near each other.

    VecMap's supervised mapping: both sides are whitened, rotated onto each other, re-weighted by the square roots of
    their cross-correlations, and de-whitened. Directions that the pairs do not span are mapped to 0.

    Args:
        source: (pairs, dimension).
        target: (pairs, dimension); row i belongs to the source row i.

    References: Artetxe et al. 2018 (AAAI), "Generalizing and improving bilingual word embedding mappings with a
    multi-step framework of linear transformations"; the settings are those of VecMap's option `--supervised`.
    """
    sides = [side.astype(np.float64) for side in (source, target)]
    whitening, dewhitening = zip(*map(_whitening, sides), strict=True)
    first, correlations, second = np.linalg.svd(whitening[0] @ (sides[0].T @ sides[1]) @ whitening[1])
    left, right = (
        white @ (rotation * np.sqrt(correlations)) @ rotation.T @ colour @ rotation
        for white, rotation, colour in zip(whitening, (first, second.T), dewhitening, strict=True)
    )
    return left, right


def _whitening(rows: Floats) -> tuple[Floats, Floats]:
    """Return the symmetric matrix after which columns are uncorrelated and of length 1, and its pseudo-inverse."""
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    spanned = lengths > lengths[0] * max(rows.shape) * np.finfo(np.float32).eps
    lengths, axes = lengths[spanned], axes[spanned]
    return (axes.T / lengths) @ axes, (axes.T * lengths) @ axes


def csls_ranks(
    queries: Units,
    targets: Units,
    sources: Units,
    gold: Rows,
    neighbours: int = 10,
    block: tuple[int, int] = BLOCK,
    progress: str = "",
) -> Rows:
    """Rank of each query's best gold target among all targets that are not gold, by CSLS: (n,), from 1.

    CSLS(x, y) = 2 cos(x, y) - r(x) - r(y), where r is the mean cosine with the nearest rows of the other side
    (Conneau et al., 2018, "Word translation without parallel data", section 2.3). r(x) is the same for all targets of
    x and changes no rank, so it is not computed.

    Args:
        queries: (n, dimension), of length 1 or 0, in the space of the targets.
        targets: (m, dimension), of length 1 or 0.
        sources: (s, dimension), the queries' vocabulary, mapped: r(y) is the mean cosine with the nearest sources.
        gold: (pairs, 2), rows of queries and of targets; each query has one or more.
        neighbours: k of r.
        block: Queries and targets compared at once.
        progress: Title of the progress bars; no bar if empty.
    """
    near = nearest_neighbours(targets, sources, neighbours, block, progress, unit_rows=True)
    density = near.cosines.mean(axis=1)  # (m,)
    best = np.full(len(queries), -np.inf, dtype=np.float32)
    gold_scores = 2 * np.einsum("pd,pd->p", queries[gold[:, 0]], targets[gold[:, 1]]) - density[gold[:, 1]]
    np.maximum.at(best, gold[:, 0], gold_scores)
    ahead = np.zeros(len(queries), dtype=np.int64)
    for here, there, cosines in similarity_blocks(queries, targets, block, progress, unit_rows=True):
        scores = 2 * cosines.cpu().numpy() - density[there]
        inside = gold - [here.start, there.start]
        inside = inside[((inside >= 0) & (inside < scores.shape)).all(axis=1)]
        scores[inside[:, 0], inside[:, 1]] = -np.inf
        ahead[here] += np.sum(scores >= best[here, None] - TIE_TOLERANCE, axis=1)
    return ahead + 1


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
