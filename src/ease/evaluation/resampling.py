"""Paired bootstrap over test items: intervals of scores, and comparisons of encoders on the same items.

The resamples depend only on the task, the subset and the number of items. Every encoder is therefore scored on the same
resamples, in any process, and differences between two encoders' resampled scores are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ease.evaluation.items import Items
from ease.evaluation.scores import Score

RESAMPLES = 10_000
SEED = 20_221_105
LEVEL = 0.95
FEWEST_ITEMS = 30  # minimum number of items for an interval

TOO_FEW = f"fewer than {FEWEST_ITEMS} items: no interval"

MOST_UNITS = 2_000
"""More items of a sum are resampled in this many random groups, which changes an interval by a few per cent."""

BLOCK_ELEMENTS = 50_000  # numbers of one array held at once: 200 kB, which a processor's cache holds
Resampled = NDArray[np.float32]  # scores of the resamples in points, (RESAMPLES,)


class Interval(NamedTuple):
    """Limits of a 95% interval in points."""

    low: float
    high: float


def with_intervals(scores: Sequence[Score]) -> tuple[list[Score], dict[int, Resampled]]:
    """Return the scores with their intervals, and the resampled scores by the position of their score.

    A score without items gets no interval; a score of fewer than 30 items gets a note.
    """
    known: dict[int, Resampled | None] = {}

    def resampled(score: Score) -> Resampled | None:
        """Resample the items of a score, or average those of its parts."""
        if id(score) not in known:
            parts = [resampled(part) for part in score.parts]
            own = None
            if score.items is not None and len(score.items) >= FEWEST_ITEMS:
                own = resample(score.items, f"{score.task}/{score.subset}")
            elif parts and all(part is not None for part in parts):
                own = np.mean([part for part in parts if part is not None], axis=0)
            known[id(score)] = own
        return known[id(score)]

    found = {}
    noted = list(scores)
    for position, score in enumerate(scores):
        if (values := resampled(score)) is not None:
            found[position] = values
            noted[position] = replace(score, **interval(values)._asdict())
        elif score.items is not None and len(score.items) < FEWEST_ITEMS:
            noted[position] = replace(score, note="; ".join(filter(None, [score.note, TOO_FEW])))
    return noted, found


def resample(items: Items, place: str, resamples: int = RESAMPLES) -> Resampled:
    """Return the scores, in points, of seeded resamples that have as many items as the set: (resamples,).

    The same `place`, task and subset, and number of items give the same resamples.
    """
    generator = np.random.default_rng([SEED, crc32(place.encode()), len(items)])
    if items.kind == "spearman":
        return _resampled_correlations(items.columns["cosine"], items.columns["gold"], generator, resamples)
    sums = np.stack(items.contributions())
    if len(items) > MOST_UNITS:
        order = generator.permutation(len(items))
        starts = np.linspace(0, len(items), MOST_UNITS, endpoint=False).astype(np.int64)
        sums = np.add.reduceat(sums[:, order], starts, axis=1)
    units = sums.shape[1]
    parts = []
    for count in _blocks(resamples, units):
        rows = generator.integers(0, units, size=(count, units), dtype=np.int32)
        numerators, denominators = (
            side[rows].sum(axis=1) if np.ptp(side) else np.full(count, units * side[0]) for side in sums
        )
        parts.append(np.divide(numerators, denominators, out=np.zeros(count), where=denominators != 0))
    return (100 * np.concatenate(parts)).astype(np.float32)


def _blocks(resamples: int, units: int) -> Iterator[int]:
    """Divide a number of resamples into blocks of bounded memory."""
    size = max(1, BLOCK_ELEMENTS // max(1, units))
    yield from (min(size, resamples - start) for start in range(0, resamples, size))


def _resampled_correlations(
    cosines: NDArray[np.float64], gold: NDArray[np.float64], generator: np.random.Generator, resamples: int
) -> Resampled:
    """Return Spearman's correlation, in points, of each resample.

    A resample weights each row by how often it was drawn. Ranks are cumulative weights in the order of the values. Rows
    are drawn by their place in the order of the gold scores, which is the same for all encoders.
    """

    def runs(ordered: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where each run of equal values starts, and the number of each row's run."""
        first = np.append(True, ordered[1:] != ordered[:-1])
        return np.flatnonzero(first), np.cumsum(first) - 1

    def centred_ranks(weights: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the mean rank of each weighted value minus the mean of all ranks, and their sum of squares."""
        ranks = np.cumsum(weights, axis=1)
        ranks -= weights / 2
        ranks -= np.float32(count / 2)
        return ranks, np.einsum("rn,rn,rn->r", weights, ranks, ranks)

    count, by_gold = len(cosines), np.argsort(gold, kind="stable")
    gold_starts, groups = runs(gold[by_gold])
    order = np.argsort(cosines[by_gold], kind="stable")
    starts, tied = runs(cosines[by_gold][order])
    parts = []
    for rows in _blocks(resamples, count):
        drawn = generator.integers(0, count, size=(rows, count), dtype=np.int32)
        drawn += (np.arange(rows, dtype=np.int32) * count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count).astype(np.float32)
        gold_ranks, gold_spread = centred_ranks(np.add.reduceat(weights, gold_starts, axis=1))
        weights = weights.take(order, axis=1)
        unique = len(starts) == count
        ranks, spread = centred_ranks(weights if unique else np.add.reduceat(weights, starts, axis=1))
        ranks = ranks if unique else ranks.take(tied, axis=1)
        shared = np.einsum("rn,rn->r", weights * gold_ranks.take(groups[order], axis=1), ranks)
        scale = np.sqrt(spread * gold_spread)
        parts.append(np.divide(shared, scale, out=np.zeros(rows, np.float32), where=scale > 0))
    return np.clip(100 * np.concatenate(parts), -100, 100).astype(np.float32)


def interval(resampled: Resampled) -> Interval:
    """Return the interval between the outer quantiles of the resampled scores."""
    outside = (1 - LEVEL) / 2
    low, high = np.quantile(resampled, [outside, 1 - outside])
    return Interval(float(low), float(high))


def seed_interval(values: Sequence[float]) -> Interval:
    """Return the interval of the mean over training seeds, of at least two scores, by Student's t."""
    from scipy.stats import t  # import takes a second

    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    return Interval(mean - half, mean + half)


def paired_p(better: Resampled, worse: Resampled) -> float:
    """Return the two-sided p-value of the difference of two encoders' scores on the same resamples."""
    fewer = min(int(np.sum(better <= worse)), int(np.sum(better >= worse)))
    return min(1.0, 2 * (1 + fewer) / (1 + len(better)))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values corrected for their number by Holm's method, by name."""
    names = sorted(p_values, key=p_values.__getitem__)
    scaled = (min(1.0, (len(names) - rank) * p_values[name]) for rank, name in enumerate(names))
    return dict(zip(names, accumulate(scaled, max), strict=True))
