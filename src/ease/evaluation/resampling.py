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
RESAMPLING_SEED = 20_221_105
CONFIDENCE_LEVEL = 0.95
FEWEST_ITEMS = 30
"""Minimum number of items for an interval"""

TOO_FEW = f"fewer than {FEWEST_ITEMS} items: no interval"

MOST_UNITS = 2_000
"""More items of a sum are resampled in this many random groups, which changes an interval by a few per cent."""

RESAMPLED_ELEMENTS = 50_000
"""Numbers of one array held at once: 200 kB, which a processor's cache holds"""
Resampled = NDArray[np.float32]
"""Scores of the resamples in points, (RESAMPLES,)"""


class Interval(NamedTuple):
    """Limits of a 95% interval in points."""

    low: float
    high: float


def with_intervals(scores: Sequence[Score]) -> tuple[list[Score], dict[int, Resampled]]:
    """Return the scores with their intervals, and the resampled scores by the position of their score.

    A score without items gets no interval; a score of fewer than 30 items gets a note.
    """
    # A score is often a part of several means.
    by_score: dict[int, Resampled | None] = {}

    def resample_score(score: Score) -> Resampled | None:
        """Resample the items of a score, or average those of its parts."""
        if id(score) in by_score:
            return by_score[id(score)]
        parts = [resample_score(part) for part in score.parts]
        values = None
        if score.items is not None and len(score.items) >= FEWEST_ITEMS:
            values = resample(score.items, f"{score.task}/{score.subset}")
        elif parts and all(part is not None for part in parts):
            values = np.mean([part for part in parts if part is not None], axis=0)
        by_score[id(score)] = values
        return values

    resampled = {}
    noted = list(scores)
    for position, score in enumerate(scores):
        values = resample_score(score)
        if values is not None:
            resampled[position] = values
            noted[position] = replace(score, **interval(values)._asdict())
        elif score.items is not None and len(score.items) < FEWEST_ITEMS:
            noted[position] = replace(score, note="; ".join(filter(None, [score.note, TOO_FEW])))
    return noted, resampled


def resample(items: Items, place: str, resamples: int = RESAMPLES) -> Resampled:
    """Return the scores, in points, of seeded resamples that have as many items as the set: (resamples,).

    The same `place`, task and subset, and number of items give the same resamples.
    """
    generator = np.random.default_rng([RESAMPLING_SEED, crc32(place.encode()), len(items)])
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
        numerators, denominators = (_sums(side, rows) for side in sums)
        parts.append(np.divide(numerators, denominators, out=np.zeros(count), where=denominators != 0))
    return (100 * np.concatenate(parts)).astype(np.float32)


def _sums(values: NDArray[np.float64], rows: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the sum of the values of each resample's rows: (units,), (resamples, units) -> (resamples,)."""
    if np.ptp(values) == 0:  # such as the denominators of a mean: there is nothing to look up
        return np.full(len(rows), len(values) * values[0])
    sums: NDArray[np.float64] = values[rows].sum(axis=1)
    return sums


def _blocks(resamples: int, units: int) -> Iterator[int]:
    """Divide a number of resamples into blocks of bounded memory."""
    size = max(1, RESAMPLED_ELEMENTS // max(1, units))
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

    count = len(cosines)
    by_gold = np.argsort(gold, kind="stable")
    gold_starts, gold_runs = runs(gold[by_gold])
    order = np.argsort(cosines[by_gold], kind="stable")
    starts, cosine_runs = runs(cosines[by_gold][order])
    has_ties = len(starts) < count
    parts = []
    for rows in _blocks(resamples, count):
        draws = generator.integers(0, count, size=(rows, count), dtype=np.int32)
        # Each resample has numbers of its own, so that one `bincount` counts the draws of all.
        draws += (np.arange(rows, dtype=np.int32) * count)[:, None]
        weights = np.bincount(draws.ravel(), minlength=rows * count).reshape(rows, count).astype(np.float32)
        gold_ranks, gold_spread = centred_ranks(np.add.reduceat(weights, gold_starts, axis=1))
        weights = weights.take(order, axis=1)
        if has_ties:
            ranks, spread = centred_ranks(np.add.reduceat(weights, starts, axis=1))
            ranks = ranks.take(cosine_runs, axis=1)
        else:
            ranks, spread = centred_ranks(weights)
        shared = np.einsum("rn,rn->r", weights * gold_ranks.take(gold_runs[order], axis=1), ranks)
        scale = np.sqrt(spread * gold_spread)
        parts.append(np.divide(shared, scale, out=np.zeros(rows, np.float32), where=scale > 0))
    return np.clip(100 * np.concatenate(parts), -100, 100).astype(np.float32)


def interval(resampled: Resampled) -> Interval:
    """Return the interval between the outer quantiles of the resampled scores."""
    outside = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(resampled, [outside, 1 - outside])
    return Interval(float(low), float(high))


def seed_interval(values: Sequence[float]) -> Interval:
    """Return the interval of the mean over training seeds, of at least two scores, by Student's t."""
    from scipy.stats import t  # import takes a second

    mean = float(np.mean(values))
    standard_error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    half = float(t.ppf((1 + CONFIDENCE_LEVEL) / 2, len(values) - 1)) * standard_error
    return Interval(mean - half, mean + half)


def paired_p(better: Resampled, worse: Resampled) -> float:
    """Return the two-sided p-value of the difference of two encoders' scores on the same resamples."""
    fewer = min(int(np.sum(better <= worse)), int(np.sum(better >= worse)))
    # The ones keep the p-value above 0: that of a larger number of resamples would not be 0 either.
    return min(1.0, 2 * (1 + fewer) / (1 + len(better)))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values corrected for their number by Holm's method, by name."""
    names = sorted(p_values, key=p_values.__getitem__)
    scaled = (min(1.0, (len(names) - rank) * p_values[name]) for rank, name in enumerate(names))
    return dict(zip(names, accumulate(scaled, max), strict=True))
