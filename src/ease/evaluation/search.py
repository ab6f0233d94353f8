"""Nearest neighbours by cosine in bounded memory, and the mining of parallel sentences among them.

Exact: blocks of similarities are matrix products in single precision, of which only the best k of each row (and of each
column, where both directions are wanted) are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.metrics import row_lengths

BLOCK = (4096, 8192)
"""Queries and targets compared at once: 134 MB of similarities, whatever the number of either."""

TIE_TOLERANCE = 1e-6
"""Scores closer than this are equal: about what single precision leaves of a cosine."""

Embeddings = NDArray[np.floating]
Rows = NDArray[np.int64]
Scores = NDArray[np.floating]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Neighbours:
    """The nearest k rows of the other side, best first: cosines in single precision and row numbers, both (n, k)."""

    cosines: NDArray[np.float32]
    rows: Rows


@dataclass(frozen=True)
class Proposals:
    """Each query's best target (n,), its score (n,), and whether another target has the same score (n,)."""

    rows: Rows
    scores: Scores
    tied: Flags


@dataclass(frozen=True)
class MiningScore:
    """Shares, 0 to 1, of the pairs whose score reaches the threshold."""

    precision: float
    recall: float
    f1: float


class _Side:
    """The embeddings of one side, their lengths, and the best k of what its rows were compared with so far."""

    def __init__(self, embeddings: Embeddings, name: str, device: torch.device) -> None:
        """Measure the rows, which keep nothing yet."""
        self.embeddings = np.asarray(embeddings)
        self.lengths = row_lengths(self.embeddings, name)
        self.device = device
        self._cosines = self._rows = torch.empty(0)

    def keep(self, k: int) -> None:
        """Prepare to keep the best k of each row."""
        shape = (len(self.lengths), k)
        self._cosines = torch.full(shape, -torch.inf, device=self.device)
        self._rows = torch.zeros(shape, dtype=torch.int64, device=self.device)

    def unit(self, rows: slice) -> Tensor:
        """Some rows scaled to length 1: (rows, dimension), single precision."""
        scaled = self.embeddings[rows] / self.lengths[rows, None]
        return torch.from_numpy(scaled.astype(np.float32)).to(self.device)

    def update(self, rows: slice, similarities: Tensor, first: int) -> None:
        """Compare rows with candidates numbered from `first`: similarities are (rows, candidates)."""
        k = self._cosines.shape[1]
        cosines, columns = similarities.topk(min(k, similarities.shape[1]), dim=1)
        cosines = torch.cat([self._cosines[rows], cosines], dim=1)
        candidates = torch.cat([self._rows[rows], columns + first], dim=1)
        self._cosines[rows], order = cosines.topk(k, dim=1)
        self._rows[rows] = candidates.gather(1, order)

    def found(self) -> Neighbours:
        """Return what was kept."""
        return Neighbours(self._cosines.cpu().numpy(), self._rows.cpu().numpy())


def _search(
    queries: Embeddings, targets: Embeddings, k: int, both: bool, block: tuple[int, int], progress: str
) -> tuple[_Side, _Side]:
    """Compare all queries with all targets; the targets keep their nearest queries where both directions are wanted."""
    if k < 1:
        raise EaseError(f"{k} neighbours: ask for at least 1.")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    query, target = _Side(queries, "queries", device), _Side(targets, "targets", device)
    shapes = query.embeddings.shape, target.embeddings.shape
    if 0 in shapes[0] + shapes[1] or shapes[0][1] != shapes[1][1]:
        raise EaseError(
            f"The queries have shape {shapes[0]} and the targets {shapes[1]}: "
            "give at least one row of each, of one dimension."
        )
    query.keep(min(k, len(target.lengths)))
    if both:
        target.keep(min(k, len(query.lengths)))
    starts = range(0, len(query.lengths), block[0])
    for start in tqdm(starts, desc=progress, unit="block", delay=5, leave=False, disable=not progress):
        here = slice(start, start + block[0])
        units = query.unit(here)
        for first in range(0, len(target.lengths), block[1]):
            there = slice(first, first + block[1])
            similarities = units @ target.unit(there).T  # (queries, targets) of the block
            query.update(here, similarities, first)
            if both:
                target.update(there, similarities.T.contiguous(), start)
    return query, target


def nearest_neighbours(
    queries: Embeddings,
    targets: Embeddings,
    k: int,
    block: tuple[int, int] = BLOCK,
    progress: str = "",
) -> Neighbours:
    """Find each query's k nearest targets by cosine, on the GPU where there is one.

    Beyond its arguments it holds one block, and 12 bytes for each neighbour. Where targets are equally near, any of
    them may come first.

    Args:
        queries: (n, dimension), of any length but zero.
        targets: (m, dimension); where m is below k, all m are found.
        k: How many.
        block: Queries and targets compared at once.
        progress: What a progress bar calls the search; none by default.

    Raises:
        EaseError: If k is below 1, a side is empty, the dimensions differ, or a row is zero or not finite.
    """
    return _search(queries, targets, k, False, block, progress)[0].found()


def mutual_neighbours(
    queries: Embeddings,
    targets: Embeddings,
    k: int,
    block: tuple[int, int] = BLOCK,
    progress: str = "",
) -> tuple[Neighbours, Neighbours]:
    """Find each query's k nearest targets and each target's k nearest queries, in one pass over all pairs.

    Arguments and errors are those of `nearest_neighbours`.
    """
    query, target = _search(queries, targets, k, True, block, progress)
    return query.found(), target.found()


def margin_scores(forward: Neighbours, backward: Neighbours) -> Scores:
    """Ratio margins of each query's nearest targets: (n, k), in the order of `forward`.

    The cosine of x and y over the mean of two means: of x's cosines with its nearest targets, and of y's with its
    nearest queries (Artetxe and Schwenk, 2019, "Margin-based parallel corpus mining", the ratio margin of section 3).
    Where that is not positive, a ratio says nothing; the margin is then 0.
    """
    near_query = forward.cosines.astype(np.float64).mean(axis=1)  # (n,)
    near_target = backward.cosines.astype(np.float64).mean(axis=1)  # (m,)
    around = (near_query[:, None] + near_target[forward.rows]) / 2
    margins: Scores = np.divide(forward.cosines, around, out=np.zeros_like(around), where=around > 0)
    return margins


def best_targets(scores: Scores, rows: Rows) -> Proposals:
    """Take each query's best scored target; it is tied where the next best differs by less than `TIE_TOLERANCE`.

    Args:
        scores: (n, k) of each query's neighbours; ties are seen only where k is at least 2.
        rows: (n, k), the neighbours' row numbers.
    """
    order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    best = np.take_along_axis(scores, order, axis=1)  # (n, 1 or 2)
    tied = best[:, 0] - best[:, -1] < TIE_TOLERANCE if best.shape[1] == 2 else np.zeros(len(best), bool)
    return Proposals(np.take_along_axis(rows, order[:, :1], axis=1)[:, 0], best[:, 0], tied)


def are_gold(proposals: Proposals, gold: Rows) -> Flags:
    """Whether each query's proposal is among the gold pairs: (n,). A tied one is not: it was found by chance.

    Args:
        proposals: Of n queries.
        gold: (pairs, 2), rows of queries and of targets.
    """
    width = max(int(proposals.rows.max(initial=0)), int(gold[:, 1].max(initial=0))) + 1
    proposed = np.arange(len(proposals.rows)) * width + proposals.rows
    right: Flags = np.isin(proposed, gold[:, 0] * width + gold[:, 1]) & ~proposals.tied
    return right


def mining_score(scores: Scores, right: Flags, gold: int, threshold: float) -> MiningScore:
    """Precision, recall and F1 of the proposed pairs whose score reaches the threshold.

    Args:
        scores: (n,), a proposed pair each.
        right: (n,), whether it is a gold pair.
        gold: How many gold pairs there are, proposed or not.
        threshold: The lowest score that counts.

    Raises:
        EaseError: If there is no gold pair.
    """
    if gold < 1:
        raise EaseError("No gold pair: there is nothing to find.")
    found = scores.astype(np.float64) >= threshold
    hits, count = int(np.sum(right & found)), int(np.sum(found))
    return MiningScore(hits / max(count, 1), hits / gold, 2 * hits / (count + gold))


def best_threshold(scores: Scores, right: Flags, gold: int) -> float:
    """The threshold of the highest F1; the highest of several, midway to the next lower score.

    Arguments are those of `mining_score`.

    Raises:
        EaseError: If there is no gold or no proposed pair.
    """
    if gold < 1 or not len(scores):
        raise EaseError(f"{len(scores)} proposed and {gold} gold pairs: a threshold needs some of both.")
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order].astype(np.float64)
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))  # of each run of equal scores
    hits = np.cumsum(right[order])[last]
    best = int(np.argmax(2 * hits / (last + 1 + gold)))
    lowest = float(ranked[last[best]])
    if best + 1 == len(last):
        return lowest
    midway = (lowest + float(ranked[last[best + 1]])) / 2
    return midway if midway > ranked[last[best + 1]] else lowest  # neighbouring floats have nothing between
