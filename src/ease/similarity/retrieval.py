"""Retrieval and mining between two embedding spaces: parallel sentences, maps, CSLS, nDCG, margins and thresholds.

Ties are misses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ease.similarity.neighbours import (
    TIE_TOLERANCE,
    Embeddings,
    Flags,
    Neighbours,
    RowNumbers,
    Scores,
    hits_within,
    mutual_neighbours,
    nearest_neighbours,
    similarity_blocks,
)
from ease.similarity.vectors import DECIMALS, Floats, UnitRows

K = 10  # documents of a query that count
SPARE = 90  # documents beyond the k best that are compared, so that ties at place k are seen


def parallel_hits(left: ArrayLike, right: ArrayLike) -> tuple[Flags, Flags]:
    """Return whether each left row finds its translation, the same right row, by cosine, and each right row: (n,) each.

    Both sides are (n, dimension), compared a block at a time. A translation that ties with another row is a miss.
    """
    own = np.arange(np.shape(left)[0])[:, None]
    forward, backward = (hits_within(near.cosines, near.rows == own, 1) for near in mutual_neighbours(left, right, 2))
    return forward, backward


def common_space(source: Embeddings, target: Embeddings) -> tuple[Floats, Floats]:
    """Return a map of each side, (dimension, dimension), into a space in which paired rows are near each other.

    VecMap's supervised mapping: both sides, (pairs, dimension), are whitened, rotated onto each other, re-weighted by
    the square roots of their cross-correlations, and de-whitened. Directions that no pair has are mapped to 0.

    References: Artetxe et al. 2018 (AAAI), "Generalizing and improving bilingual word embedding mappings with a
    multi-step framework of linear transformations"; the settings are those of VecMap's option `--supervised`.
    """
    sides = [side.astype(np.float64) for side in (source, target)]
    # Symmetric matrices: after `whitening`, columns are uncorrelated, of length 1.
    whitening, dewhitening = [], []
    for rows in sides:
        _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
        spanned = lengths > lengths[0] * max(rows.shape) * np.finfo(np.float32).eps
        lengths, axes = lengths[spanned], axes[spanned]
        whitening.append((axes.T / lengths) @ axes)
        dewhitening.append((axes.T * lengths) @ axes)
    first, correlations, second = np.linalg.svd(whitening[0] @ (sides[0].T @ sides[1]) @ whitening[1])
    left, right = (
        white @ (rotation * np.sqrt(correlations)) @ rotation.T @ colour @ rotation
        for white, rotation, colour in zip(whitening, (first, second.T), dewhitening, strict=True)
    )
    return left, right


def csls_ranks(
    queries: UnitRows, targets: UnitRows, sources: UnitRows, gold: RowNumbers, neighbours: int = 10, progress: str = ""
) -> RowNumbers:
    """Rank of each query's best gold target among all targets that are not gold, by CSLS: (n,), from 1.

    CSLS(x, y) = 2 cos(x, y) - r(x) - r(y), where r is the mean cosine with the nearest rows of the other side
    (Conneau et al., 2018, "Word translation without parallel data", section 2.3). r(x) is the same for all targets of
    x and changes no rank, so it is not computed.

    Queries, (n, dimension), targets, (m, dimension), and sources, (s, dimension), are in one space, of length 1 or 0.
    Sources are the queries' vocabulary: r(y) is the mean cosine with the nearest ones, as many as `neighbours`. `gold`
    is (pairs, 2), rows of queries and of targets; each query has one or more.
    """
    near = nearest_neighbours(targets, sources, neighbours, progress, unit_rows=True)
    density = near.cosines.mean(axis=1)  # (m,)
    best = np.full(len(queries), -np.inf, dtype=np.float32)
    gold_scores = 2 * np.einsum("pd,pd->p", queries[gold[:, 0]], targets[gold[:, 1]]) - density[gold[:, 1]]
    np.maximum.at(best, gold[:, 0], gold_scores)
    ahead = np.zeros(len(queries), dtype=np.int64)
    for here, there, cosines in similarity_blocks(queries, targets, progress, unit_rows=True):
        scores = 2 * cosines.cpu().numpy() - density[there]
        inside = gold - [here.start, there.start]
        inside = inside[((inside >= 0) & (inside < scores.shape)).all(axis=1)]
        scores[inside[:, 0], inside[:, 1]] = -np.inf
        ahead[here] += np.sum(scores >= best[here, None] - TIE_TOLERANCE, axis=1)
    return ahead + 1


def ndcg(queries: Embeddings, documents: Embeddings, gains: Sequence[Mapping[int, float]]) -> Floats:
    """Return the normalised discounted cumulative gain (0 to 1) of each query's 10 nearest documents: (n,).

    A document at rank r adds its gain divided by log2(r + 1); the sum is divided by that of the best ranking (Järvelin
    and Kekäläinen, 2002, with the gains as they are, as trec_eval computes it). Documents whose cosines tie are ranked
    by ascending gain.

    Queries are (n, dimension), documents (m, dimension). `gains` has the gain of each relevant document by its row, for
    each query, at least one above 0.
    """
    found = nearest_neighbours(queries, documents, K + SPARE)
    earned = np.array(  # (n, candidates)
        [[gain.get(row, 0.0) for row in rows] for gain, rows in zip(gains, found.rows.tolist(), strict=True)],
        dtype=np.float64,
    )
    steps = np.diff(found.cosines, axis=1, prepend=found.cosines[:, :1])
    groups = np.cumsum(steps < -TIE_TOLERANCE, axis=1)
    ranked = np.take_along_axis(earned, np.lexsort((earned, groups)), axis=1)[:, :K]
    ideal = np.zeros((len(gains), K))
    for row, gain in zip(ideal, gains, strict=True):
        best = sorted(gain.values(), reverse=True)[:K]
        row[: len(best)] = best
    discounts = 1 / np.log2(np.arange(K) + 2)
    quality: Floats = (ranked @ discounts[: ranked.shape[1]]) / (ideal @ discounts)
    return quality


class MinedPairs(NamedTuple):
    """The score of each query's best target and whether it is right, (queries,) each; the number of all gold pairs."""

    scores: Scores
    right: Flags
    gold: int


class Matches(NamedTuple):
    """Mined pairs of a query and a target, (pairs,) each, best first; each row occurs once."""

    queries: RowNumbers
    targets: RowNumbers
    scores: Scores
    cosines: Scores


def margin_scores(forward: Neighbours, backward: Neighbours) -> Scores:
    """Ratio margins of each query's nearest targets: (n, k), in the order of `forward`.

    The cosine of x and y, divided by the mean of x's mean cosine with its nearest targets and y's mean cosine with its
    nearest queries (Artetxe and Schwenk, 2019, "Margin-based parallel corpus mining", the ratio margin of section 3).
    The margin is 0 where the divisor is not positive.
    """
    near_query = forward.cosines.astype(np.float64).mean(axis=1)  # (n,)
    near_target = backward.cosines.astype(np.float64).mean(axis=1)  # (m,)
    around = (near_query[:, None] + near_target[forward.rows]) / 2
    margins: Scores = np.divide(forward.cosines, around, out=np.zeros_like(around), where=around > 0)
    return margins


def one_to_one(forward: Neighbours, backward: Neighbours, least: float = 0.0) -> Matches:
    """Match queries and targets one to one: repeatedly the pair with the best margin whose two rows are free.

    Negative row numbers are missing neighbours; `least` is the lowest margin of a match.
    """
    sides = []
    for near, other in ((forward, backward), (backward, forward)):
        own = np.broadcast_to(np.arange(len(near.rows))[:, None], near.rows.shape)
        scores = margin_scores(near, other)
        kept = (near.rows >= 0) & (scores >= least)
        queries, targets = (own, near.rows) if near is forward else (near.rows, own)
        sides.append([values[kept] for values in (queries, targets, scores, near.cosines)])
    found = [np.concatenate(values) for values in zip(*sides, strict=True)]
    order = np.lexsort((found[1], found[0], -found[2]))
    pairs = [values[order] for values in found]
    left = np.arange(len(order))
    taken: list[RowNumbers] = [left[:0]]
    while len(left):  # in each round, take all pairs that are the best one of both of their rows
        queries, targets = pairs[0][left], pairs[1][left]
        best = [np.unique(rows, return_index=True)[1] for rows in (queries, targets)]
        first = np.intersect1d(best[0], best[1])
        taken.append(left[first])
        left = left[~(np.isin(queries, queries[first]) | np.isin(targets, targets[first]))]
    chosen = np.sort(np.concatenate(taken))
    return Matches(*(values[chosen] for values in pairs))


def best_pairs(scores: Scores, rows: RowNumbers, gold: RowNumbers) -> MinedPairs:
    """Pair each query with its best target; a pair is right if it is gold and no wrong target ties with it.

    Scores and rows are (n, k), of each query's nearest targets, with k of at least 2, so that ties are seen. `gold` is
    (pairs, 2), rows of queries and of targets.
    """
    width = max(int(rows.max(initial=0)), int(gold[:, 1].max(initial=0))) + 1
    right = np.isin(np.arange(len(rows))[:, None] * width + rows, gold[:, 0] * width + gold[:, 1])
    best = scores.max(axis=1).astype(np.float64).round(DECIMALS)
    return MinedPairs(best, hits_within(scores, right, 1), len(gold))


def best_threshold(mined: MinedPairs) -> float:
    """Return the threshold of the highest F1: midway between the lowest score to accept and the next lower score.

    Of several such thresholds it is the highest. There is at least one gold pair and one mined pair.
    """
    order = np.argsort(-mined.scores, kind="stable")
    ranked = mined.scores[order].astype(np.float64)
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))  # of each run of equal scores
    hits = np.cumsum(mined.right[order])[last]
    best = int(np.argmax(2 * hits / (last + 1 + mined.gold)))
    lowest = float(ranked[last[best]])
    if best + 1 == len(last):
        return lowest
    midway = (lowest + float(ranked[last[best + 1]])) / 2
    return midway if midway > ranked[last[best + 1]] else lowest  # there is no float between adjacent floats
