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
from ease.similarity.vectors import DECIMALS, Floats, UnitRows, unit_rows

K = 10
"""Documents of a query that count"""
SPARE = 90
"""Documents compared beyond the k best, so that ties at place k are seen"""


def parallel_hits(left: ArrayLike, right: ArrayLike) -> tuple[Flags, Flags]:
    """Return whether each left row finds its translation, the same right row, by cosine, and each right row: (n,) each.

    Both sides are (n, dimension), compared a block at a time. A translation that ties with another row is a miss.
    """
    # The second neighbour shows whether another row ties with the nearest.
    forward, backward = mutual_neighbours(left, right, 2)
    translations = np.arange(np.shape(left)[0])[:, None]
    left_hits = hits_within(forward.cosines, forward.rows == translations, 1)
    right_hits = hits_within(backward.cosines, backward.rows == translations, 1)
    return left_hits, right_hits


def parallel_csls_hits(left: ArrayLike, right: ArrayLike, neighbours: int = 10) -> tuple[Flags, Flags]:
    """Return the hits of `parallel_hits` by CSLS (see `csls_ranks`), which lowers rows that are near all others.

    The mean cosine with the nearest rows of the other side is of as many as `neighbours`, or of all if there are fewer.
    """
    first = unit_rows(np.asarray(left))
    second = unit_rows(np.asarray(right))
    rows = np.arange(len(first))
    gold = np.column_stack([rows, rows])
    forward = csls_ranks(first, second, first, gold, neighbours) == 1
    backward = csls_ranks(second, first, second, gold, neighbours) == 1
    return forward, backward


def common_space(source: Embeddings, target: Embeddings) -> tuple[Floats, Floats]:
    """Return a map of each side, (dimension, dimension), into a space in which paired rows are near each other.

    VecMap's supervised mapping: both sides, (pairs, dimension), are whitened, rotated onto each other, re-weighted by
    the square roots of their cross-correlations, and de-whitened. Directions that no pair has are mapped to 0.

    References: Artetxe et al. 2018 (AAAI), "Generalizing and improving bilingual word embedding mappings with a
    multi-step framework of linear transformations"; the settings are those of VecMap's option `--supervised`.
    """
    source_rows = source.astype(np.float64)
    target_rows = target.astype(np.float64)
    source_whitening, source_dewhitening = _whitening_maps(source_rows)
    target_whitening, target_dewhitening = _whitening_maps(target_rows)
    # The singular values are the correlations of both sides along the axes of the common space.
    whitened_products = source_whitening @ (source_rows.T @ target_rows) @ target_whitening
    source_rotation, correlations, target_axes = np.linalg.svd(whitened_products)
    weights = np.sqrt(correlations)

    def compose(whitening: Floats, rotation: Floats, dewhitening: Floats) -> Floats:
        # De-whitening happens in the side's own axes: rotate back for it, then into the common space again.
        space: Floats = whitening @ (rotation * weights) @ rotation.T @ dewhitening @ rotation
        return space

    source_map = compose(source_whitening, source_rotation, source_dewhitening)
    target_map = compose(target_whitening, target_axes.T, target_dewhitening)
    return source_map, target_map


def _whitening_maps(rows: Floats) -> tuple[Floats, Floats]:
    """Return the symmetric matrix that makes columns uncorrelated, of length 1, and the one that reverts it."""
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    # Embeddings are computed in single precision: shorter axes are rounding errors, which division would blow up.
    is_spanned = lengths > lengths[0] * max(rows.shape) * np.finfo(np.float32).eps
    lengths = lengths[is_spanned]
    axes = axes[is_spanned]
    return (axes.T / lengths) @ axes, (axes.T * lengths) @ axes


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
    nearest_sources = nearest_neighbours(targets, sources, neighbours, progress, unit_rows=True)
    density = nearest_sources.cosines.mean(axis=1)  # r(y), (m,)
    gold_queries = gold[:, 0]
    gold_targets = gold[:, 1]
    gold_cosines = np.einsum("pd,pd->p", queries[gold_queries], targets[gold_targets])
    best_gold = np.full(len(queries), -np.inf, dtype=np.float32)
    np.maximum.at(best_gold, gold_queries, 2 * gold_cosines - density[gold_targets])

    rivals = np.zeros(len(queries), dtype=np.int64)
    for query_rows, target_rows, cosines in similarity_blocks(queries, targets, progress, unit_rows=True):
        scores = 2 * cosines.cpu().numpy() - density[target_rows]
        # A query may have several gold targets, which are no rivals of each other.
        in_block = gold - [query_rows.start, target_rows.start]
        in_block = in_block[((in_block >= 0) & (in_block < scores.shape)).all(axis=1)]
        scores[in_block[:, 0], in_block[:, 1]] = -np.inf
        rivals[query_rows] += np.sum(scores >= best_gold[query_rows, None] - TIE_TOLERANCE, axis=1)
    return rivals + 1


def ndcg(queries: Embeddings, documents: Embeddings, gains: Sequence[Mapping[int, float]]) -> Floats:
    """Return the normalised discounted cumulative gain (0 to 1) of each query's 10 nearest documents: (n,).

    A document at rank r adds its gain divided by log2(r + 1); the sum is divided by that of the best ranking (Järvelin
    and Kekäläinen, 2002, with the gains as they are, as trec_eval computes it). Documents whose cosines tie are ranked
    by ascending gain.

    Queries are (n, dimension), documents (m, dimension). `gains` has the gain of each relevant document by its row, for
    each query, at least one above 0.
    """
    candidates = nearest_neighbours(queries, documents, K + SPARE)
    document_gains = np.array(  # (n, candidates)
        [[gain.get(row, 0.0) for row in rows] for gain, rows in zip(gains, candidates.rows.tolist(), strict=True)],
        dtype=np.float64,
    )
    # Documents that tie have one group number, and are sorted by gain within their group.
    steps = np.diff(candidates.cosines, axis=1, prepend=candidates.cosines[:, :1])
    tie_groups = np.cumsum(steps < -TIE_TOLERANCE, axis=1)
    order = np.lexsort((document_gains, tie_groups))
    ranked = np.take_along_axis(document_gains, order, axis=1)[:, :K]
    ideal = np.zeros((len(gains), K))
    for row, gain in zip(ideal, gains, strict=True):
        best = sorted(gain.values(), reverse=True)[:K]
        row[: len(best)] = best
    discounts = 1 / np.log2(np.arange(K) + 2)
    # There may be fewer than K documents.
    quality: Floats = (ranked @ discounts[: ranked.shape[1]]) / (ideal @ discounts)
    return quality


class MinedPairs(NamedTuple):
    """The score of each query's best target and whether it is right, (queries,) each; the number of all gold pairs."""

    scores: Scores
    right: Flags
    gold: int


class Matches(NamedTuple):
    """Mined pairs of a query and a target, (pairs,) each."""

    queries: RowNumbers
    targets: RowNumbers
    scores: Scores
    cosines: Scores

    def at(self, places: RowNumbers) -> Matches:
        """Return the pairs at some places, in their order."""
        return Matches(self.queries[places], self.targets[places], self.scores[places], self.cosines[places])


def margin_scores(forward: Neighbours, backward: Neighbours) -> Scores:
    """Ratio margins of each query's nearest targets: (n, k), in the order of `forward`.

    The cosine of x and y, divided by the mean of x's mean cosine with its nearest targets and y's mean cosine with its
    nearest queries (Artetxe and Schwenk, 2019, "Margin-based parallel corpus mining", the ratio margin of section 3).
    The margin is 0 where the divisor is not positive.
    """
    near_query = forward.cosines.astype(np.float64).mean(axis=1)  # (n,)
    near_target = backward.cosines.astype(np.float64).mean(axis=1)  # (m,)
    neighbourhood = (near_query[:, None] + near_target[forward.rows]) / 2
    margins: Scores = np.divide(
        forward.cosines, neighbourhood, out=np.zeros_like(neighbourhood), where=neighbourhood > 0
    )
    return margins


def one_to_one(forward: Neighbours, backward: Neighbours, least: float = 0.0) -> Matches:
    """Match queries and targets one to one: repeatedly the pair with the best margin whose two rows are free.

    Matches are ordered by margin, the best first. Negative row numbers are missing neighbours; `least` is the lowest
    margin of a match.
    """
    from_queries = _pairs_above(forward, backward, least)
    # The pairs of each target, as the query of its own search.
    from_targets = _pairs_above(backward, forward, least)
    pairs = Matches(
        np.concatenate([from_queries.queries, from_targets.targets]),
        np.concatenate([from_queries.targets, from_targets.queries]),
        np.concatenate([from_queries.scores, from_targets.scores]),
        np.concatenate([from_queries.cosines, from_targets.cosines]),
    )
    # Equal margins are ordered by row numbers, so that matches do not depend on the order of the search.
    candidates = pairs.at(np.lexsort((pairs.targets, pairs.queries, -pairs.scores)))

    # Places of the pairs whose rows are both unmatched.
    free = np.arange(len(candidates.queries))
    rounds: list[RowNumbers] = [free[:0]]
    while len(free):
        # Match all pairs at once that are the best of both of their rows: no other pair can take these rows.
        queries = candidates.queries[free]
        targets = candidates.targets[free]
        best_of_queries = np.unique(queries, return_index=True)[1]
        best_of_targets = np.unique(targets, return_index=True)[1]
        mutual = np.intersect1d(best_of_queries, best_of_targets)
        rounds.append(free[mutual])
        free = free[~(np.isin(queries, queries[mutual]) | np.isin(targets, targets[mutual]))]
    return candidates.at(np.sort(np.concatenate(rounds)))


def _pairs_above(forward: Neighbours, reverse: Neighbours, least: float) -> Matches:
    """Return the pairs of each row, as the query, and its neighbours whose margin is at least `least`."""
    owners = np.broadcast_to(np.arange(len(forward.rows))[:, None], forward.rows.shape)
    margins = margin_scores(forward, reverse)
    is_candidate = (forward.rows >= 0) & (margins >= least)
    return Matches(
        owners[is_candidate], forward.rows[is_candidate], margins[is_candidate], forward.cosines[is_candidate]
    )


def best_pairs(scores: Scores, rows: RowNumbers, gold: RowNumbers) -> MinedPairs:
    """Pair each query with its best target; a pair is right if it is gold and no wrong target ties with it.

    Scores and rows are (n, k), of each query's nearest targets, with k of at least 2, so that ties are seen. `gold` is
    (pairs, 2), rows of queries and of targets.
    """
    # A pair's number, query × width + target, makes pairs comparable by one integer.
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
    # A threshold accepts all pairs of equal scores or none: candidates are the last places of runs of equal scores.
    last_places = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    hits = np.cumsum(mined.right[order])[last_places]
    # F1 = 2 hits / (accepted + gold); argmax returns the first, so the highest, of equally good thresholds.
    best = int(np.argmax(2 * hits / (last_places + 1 + mined.gold)))
    lowest = float(ranked[last_places[best]])
    if best + 1 == len(last_places):
        return lowest
    next_lower = float(ranked[last_places[best + 1]])
    midway = (lowest + next_lower) / 2
    if midway > next_lower:
        return midway
    return lowest  # the scores are adjacent floats, with none between them
