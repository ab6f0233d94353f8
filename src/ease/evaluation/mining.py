"""Mining of parallel sentences among nearest neighbours: margins, thresholds, precision, recall and F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ease.evaluation.metrics import DECIMALS
from ease.evaluation.search import Flags, Neighbours, Rows, Scores, hits_within


@dataclass(frozen=True)
class MinedPairs:
    """The score of each query's best target and whether that target is right, (queries,) each."""

    scores: Scores
    right: Flags
    gold: int
    """Number of gold pairs, found or not"""


class Matches(NamedTuple):
    """Mined pairs of a query and a target, (pairs,) each, best first; each row occurs once."""

    queries: Rows
    targets: Rows
    scores: Scores
    cosines: Scores


class MiningScore(NamedTuple):
    """Precision, recall and F1, 0 to 1, of the pairs whose score reaches a threshold."""

    precision: float
    recall: float
    f1: float


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

    Args:
        forward: Each query's nearest targets; negative row numbers are missing neighbours.
        backward: Each target's nearest queries, likewise.
        least: Lowest margin of a match.
    """
    scores = margin_scores(forward, backward), margin_scores(backward, forward)
    queries, targets = (np.arange(len(near.rows))[:, None] for near in (forward, backward))
    sides = (
        (np.broadcast_to(queries, forward.rows.shape), forward.rows, scores[0], forward.cosines),
        (backward.rows, np.broadcast_to(targets, backward.rows.shape), scores[1], backward.cosines),
    )
    kept = []
    for side in sides:
        chosen = (side[0] >= 0) & (side[1] >= 0) & (side[2] >= least)
        kept.append([values[chosen] for values in side])
    pairs = [np.concatenate(values) for values in zip(*kept, strict=True)]
    order = np.lexsort((pairs[1], pairs[0], -pairs[2]))
    return _best_first(Matches(*(values[order] for values in pairs)))


def _best_first(pairs: Matches) -> Matches:
    """Take pairs, ordered by score, whose rows are free; in each round, all that are the best pair of both rows."""
    left = np.arange(len(pairs.queries))
    taken: list[Rows] = []
    while len(left):
        queries, targets = pairs.queries[left], pairs.targets[left]
        best = [np.unique(rows, return_index=True)[1] for rows in (queries, targets)]
        first = np.intersect1d(best[0], best[1])
        taken.append(left[first])
        used = np.isin(queries, queries[first]) | np.isin(targets, targets[first])
        left = left[~used]
    chosen = np.sort(np.concatenate([left, *taken]))
    return Matches(*(values[chosen] for values in pairs))


def best_pairs(scores: Scores, rows: Rows, gold: Rows) -> MinedPairs:
    """Pair each query with its best target; a pair is right if it is gold and no wrong target ties with it.

    Args:
        scores: (n, k), of each query's nearest targets; k is at least 2, so that ties are seen.
        rows: (n, k), the targets' row numbers.
        gold: (pairs, 2), rows of queries and of targets.
    """
    width = max(int(rows.max(initial=0)), int(gold[:, 1].max(initial=0))) + 1
    right = np.isin(np.arange(len(rows))[:, None] * width + rows, gold[:, 0] * width + gold[:, 1])
    return MinedPairs(
        scores.max(axis=1).astype(np.float64).round(DECIMALS), hits_within(scores, right, 1), len(gold)
    )


def mining_score(mined: MinedPairs, threshold: float) -> MiningScore:
    """Precision, recall and F1 of the pairs, of which some must be gold, whose score reaches the threshold."""
    found = mined.scores.astype(np.float64) >= threshold
    hits, count = int(np.sum(mined.right & found)), int(np.sum(found))
    return MiningScore(hits / max(count, 1), hits / mined.gold, 2 * hits / (count + mined.gold))


def best_threshold(mined: MinedPairs) -> float:
    """Return the threshold of the highest F1: midway between the lowest score to accept and the next lower score.

    Of several such thresholds it is the highest. There is at least one gold pair and one mined pair.
    """
    scores, gold = mined.scores, mined.gold
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order].astype(np.float64)
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))  # of each run of equal scores
    hits = np.cumsum(mined.right[order])[last]
    best = int(np.argmax(2 * hits / (last + 1 + gold)))
    lowest = float(ranked[last[best]])
    if best + 1 == len(last):
        return lowest
    midway = (lowest + float(ranked[last[best + 1]])) / 2
    return midway if midway > ranked[last[best + 1]] else lowest  # there is no float between adjacent floats
