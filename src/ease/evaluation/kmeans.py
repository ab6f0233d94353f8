"""K-means with the clusters of scikit-learn's `KMeans`, in a fraction of its time.

- All starts draw their centres together: the candidates of a step are compared with the rows in one matrix product.
- A row's distance to a centre changes by at most the centre's own shift. Bounds from earlier iterations therefore show
  for most rows that no other centre has come nearer, and only the other rows are compared with all centres again
  (Elkan, 2003, "Using the triangle inequality to accelerate k-means"; Hamerly, 2010, "Making k-means even faster").
- While most rows of a start have to be compared, they are compared with the centres of all such starts at once.
- Sums of clusters are updated by the rows that changed their cluster.

If many rows have equal distances to several centres, such as bags of words that share no word with any centre, rounding
determines the result. Such starts, and starts with an empty cluster, are left to scikit-learn itself. Among starts of
nearly equal inertia, the rounding of scikit-learn's sums determines the best one: it computes their inertia, or, where
that is nearly equal too, runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from sklearn.cluster import KMeans

Rows = NDArray[np.floating]
Labels = NDArray[np.int64]

ITERATIONS = 300
TOLERANCE = 1e-4
"""Sum of the centres' squared shifts, in units of the mean variance of a column, below which a start ends."""

ROUNDING = 2e-6
"""Rounding error of a squared distance in single precision, in units of the largest squared length."""

TIE, MOST_TIED = 1e-6, 1e-3
"""Difference of squared distances, in units of the largest squared length, below which rounding may determine the
nearer centre; and the share of rows with such a difference above which a start is left to scikit-learn."""

CLOSE, CLOSEST = 2e-5, 3e-7
"""Relative differences of inertias below which scikit-learn's rounding may determine the lower one: by the order of its
sums, and by the last digits of its centres."""

BLOCK = 4096
"""Rows compared at once."""

MOST = 0.3
"""Share of rows to compare above which a start's rows are all compared, together with other starts."""


@dataclass(frozen=True)
class Clustering:
    """Cluster numbers, (n,), and the sum of squared distances to the centres."""

    labels: Labels
    inertia: float
    by_scikit_learn: bool = False


def cluster_rows(rows: Rows, clusters: int, seed: int, n_init: int) -> Labels:
    """Cluster rows (n, dimension) from several starts of k-means++; return the clusters of the lowest inertia, (n,)."""
    exact = rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64
    centred = np.array(rows, dtype=exact, order="C")
    centred -= centred.mean(axis=0)
    starts = draw_starts(centred, clusters, np.random.RandomState(seed), n_init)
    found = _run(centred, [centred[start] for start in starts])
    runs = [(own, one or _by_scikit_learn(rows, own)) for own, one in zip(starts, found, strict=True)]
    for close, compute in ((CLOSE, _rounded), (CLOSEST, _by_scikit_learn)):
        most = min(run.inertia for _, run in runs) * (1 + close)
        (first, *others) = (run for _, run in runs if run.inertia <= most)
        if all(_same(first.labels, other.labels) for other in others):
            break
        runs = [
            (own, compute(rows, own, run) if run.inertia <= most and not run.by_scikit_learn else run)
            for own, run in runs
        ]
    _, best = runs[0]
    for _, run in runs[1:]:
        if run.inertia < best.inertia and not _same(run.labels, best.labels):
            best = run
    return best.labels


def draw_starts(rows: Rows, clusters: int, random: np.random.RandomState, n_init: int) -> Labels:
    """Draw the rows that are the first centres of each start, by scikit-learn's k-means++: (n_init, clusters).

    Each next centre is the best of a few candidates, drawn with a probability in proportion to the squared distance to
    the nearest centre (Arthur and Vassilvitskii, 2007). Distances are computed in double precision and kept in that of
    the rows, and random numbers are drawn in the order of one start after the other, as in scikit-learn.
    """
    trials = 2 + int(np.log(clusters))
    weights = np.ones(len(rows), dtype=rows.dtype)
    chances = weights / weights.sum()
    starts = np.empty((n_init, clusters), dtype=np.int64)
    draws = np.empty((n_init, clusters - 1, trials))
    for start in range(n_init):
        starts[start, 0] = random.choice(len(rows), p=chances)
        draws[start] = random.uniform(size=(clusters - 1, trials))
    exact = rows.astype(np.float64)
    lengths = np.einsum("nd,nd->n", exact, exact)

    def distances(chosen: Labels) -> Rows:
        squared = (-2 * exact[chosen]) @ exact.T
        squared += lengths[chosen, None]
        squared += lengths
        return np.maximum(squared.astype(rows.dtype), 0)

    nearest = distances(starts[:, 0])
    potentials = np.stack([own @ weights for own in nearest])
    for centre in range(1, clusters):
        candidates = np.stack(
            [
                np.searchsorted(np.cumsum(own), drawn[centre - 1] * potential)
                for own, drawn, potential in zip(nearest, draws, potentials, strict=True)
            ]
        ).clip(None, len(rows) - 1)
        found = distances(candidates.reshape(-1)).reshape(n_init, trials, -1)
        for start, own in enumerate(found):
            np.minimum(nearest[start], own, out=own)
            sums = own @ weights[:, None]  # In scikit-learn's order: another one rounds differently.
            best = np.argmin(sums)
            nearest[start], potentials[start] = own[best], sums[best, 0]
            starts[start, centre] = candidates[start, best]
    return starts


def _run(rows: Rows, centres: Sequence[Rows]) -> Iterator[Clustering | None]:
    """Yield the result of each start, in order; None for a start that is left to scikit-learn."""
    lengths = np.einsum("nd,nd->n", rows, rows)
    starts = [_Start(rows, lengths, own) for own in centres]
    tolerance = TOLERANCE * float(rows.var(axis=0).mean())
    while active := [start for start in starts if start.going]:
        crowded = [start for start in active if start.mark() > MOST]
        for part in _blocks(len(rows)) if crowded else ():
            products = rows[part] @ np.concatenate([start.centres for start in crowded]).T
            for start, own in zip(crowded, np.split(products, len(crowded), axis=1), strict=True):
                start.compare(part, rows[part], own)
        for start in active:
            if start not in crowded:
                start.compare_marked()
            start.advance(tolerance)
    yield from (start.result() for start in starts)


class _Start:
    """One start of k-means.

    A row's bound to a centre is kept with the shifts that the centre had made by then. Less all shifts so far, it holds
    at any time.
    """

    def __init__(self, rows: Rows, lengths: Rows, centres: Rows) -> None:
        self.rows, self.centres, self.going = rows, centres, True
        self.counts = np.zeros(len(centres), dtype=np.int64)
        self._lengths = lengths
        self._slack = ROUNDING * float(lengths.max())
        self._labels = np.full(len(rows), -1)
        self._sums = np.zeros(centres.shape)
        self._shifts = np.zeros(len(centres), dtype=rows.dtype)
        self._upper = np.full(len(rows), np.inf, dtype=rows.dtype)
        """Bound of the distance to the own centre"""
        self._others = np.zeros(len(rows), dtype=rows.dtype)
        """Bound of the distance to the nearest other centre"""
        self._lower = np.zeros((len(rows), len(centres)), dtype=rows.dtype)
        self._marked = np.arange(len(rows))
        self._changed = self._last = False
        self._iterations = self._tied = 0
        self._undecided = False

    def mark(self) -> float:
        """Mark the rows whose bounds overlap; return their share."""
        marked = np.flatnonzero(self._others < self._upper)
        nearest = (self._lower[marked] - self._shifts).min(axis=1)
        self._others[marked] = nearest
        self._marked = marked[nearest < self._upper[marked]]
        self._changed, self._tied = False, 0
        return len(self._marked) / len(self.rows)

    def compare_marked(self) -> None:
        """Compare the marked rows with all centres."""
        for part in _blocks(len(self._marked)):
            chosen = self._marked[part]
            rows = self.rows[chosen]
            self.compare(chosen, rows, rows @ self.centres.T)

    def compare(self, chosen: Labels | slice, rows: Rows, products: Rows) -> None:
        """Assign rows to their nearest centres by their products with the centres, (rows, clusters)."""
        squared = np.einsum("kd,kd->k", self.centres, self.centres) - 2 * products
        labels = squared.argmin(axis=1)
        squared += self._lengths[chosen, None]
        every = np.arange(len(rows))
        own = squared[every, labels]
        self._upper[chosen] = np.sqrt(np.maximum(own, 0) + self._slack)
        squared -= self._slack
        bounds = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
        bounds[every, labels] = np.inf
        others = bounds.min(axis=1)
        self._others[chosen] = others
        self._tied += int(np.count_nonzero(others**2 + self._slack - own < self._slack * TIE / ROUNDING))
        self._lower[chosen] = np.add(bounds, self._shifts, out=bounds)
        before = self._labels[chosen]
        moved = np.flatnonzero(labels != before)
        if moved.size:
            self._changed = True
            self._reassign(rows[moved], before[moved], labels[moved])
            self._labels[chosen] = labels

    def _reassign(self, rows: Rows, before: Labels, labels: Labels) -> None:
        """Add rows to the sums of their new clusters, and subtract them from those of their old ones."""
        count, entries = len(rows), (1, -1) if before[0] >= 0 else (1,)
        changes = csc_array(
            (
                np.tile(np.array(entries, dtype=rows.dtype), count),
                np.stack([labels, before][: len(entries)], axis=1).reshape(-1),
                np.arange(0, count * len(entries) + 1, len(entries)),
            ),
            shape=(len(self.counts), count),
        )
        self._sums += changes @ rows
        self.counts += np.bincount(labels, minlength=len(self.counts))
        if len(entries) > 1:
            self.counts -= np.bincount(before, minlength=len(self.counts))

    def advance(self, tolerance: float) -> None:
        """Move the centres to the means of their rows and widen the bounds, or end."""
        self._iterations += 1
        self._undecided |= not self.counts.all() or self._tied > MOST_TIED * len(self.rows)
        if self._last or not self._changed or self._undecided:
            self.going = False
            return
        means = (self._sums / self.counts[:, None]).astype(self.rows.dtype)
        squared = np.sum((means.astype(np.float64) - self.centres) ** 2, axis=1)
        shifts = (np.sqrt(squared) * (1 + ROUNDING)).astype(self.rows.dtype)
        self._upper += shifts[self._labels]
        self._others -= shifts.max()
        self._shifts += shifts
        self.centres = means
        self._last = bool(squared.sum() <= tolerance) or self._iterations == ITERATIONS

    def result(self) -> Clustering | None:
        """Return the clusters with their inertia; None if rounding determines them or a cluster is empty."""
        if self._undecided:
            return None
        inertia = 0.0
        for part in _blocks(len(self.rows)):
            within = self.rows[part] - self.centres[self._labels[part]]
            inertia += float(np.vdot(within, within))
        return Clustering(self._labels, inertia)


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK))


def _by_scikit_learn(rows: Rows, start: Labels, run: Clustering | None = None) -> Clustering:
    """Cluster by scikit-learn from the rows that are the first centres, whatever a run here has found."""
    means = KMeans(len(start), init=rows[start], n_init=1, max_iter=ITERATIONS, tol=TOLERANCE).fit(rows)
    return Clustering(means.labels_.astype(np.int64), float(means.inertia_), by_scikit_learn=True)


def _rounded(rows: Rows, start: Labels, run: Clustering) -> Clustering:
    """Return the clusters of a run with their inertia around their means as scikit-learn rounds it."""
    numbers, places = np.unique(run.labels, return_inverse=True)
    members = csc_array(
        (np.ones(len(rows)), places, np.arange(len(rows) + 1)), shape=(len(numbers), len(rows))
    )
    centres = (members @ rows.astype(np.float64)) / np.bincount(places)[:, None]
    means = KMeans(len(numbers), init=centres.astype(rows.dtype), n_init=1, max_iter=1).fit(rows)
    return Clustering(run.labels, float(means.inertia_))


def _same(left: Labels, right: Labels) -> bool:
    """Whether two clusterings differ in the numbers of the clusters alone."""
    pairs = len(set(zip(left.tolist(), right.tolist(), strict=True)))
    return pairs == np.unique(left).size == np.unique(right).size
