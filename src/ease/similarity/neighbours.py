"""Exact nearest-neighbour search by cosine in bounded memory, and the rule for ties of all retrieval scores.

Similarities are matrix products in single precision, computed a block at a time on the GPU where there is one. Two
candidates whose scores differ by less than `TIE_TOLERANCE` are tied. A wrong candidate that is tied with the right one
counts as nearer, so equal sentences and collapsed models gain nothing, and no score depends on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.device import best_device
from ease.errors import EaseError
from ease.io.progress import ProgressBar
from ease.lazy import torch
from ease.similarity.vectors import DECIMALS, row_lengths

if TYPE_CHECKING:
    from torch import Tensor

BLOCK_SHAPE = (4096, 8192)
"""Queries and targets compared at once: 134 MB of similarities"""
GROUP = 128
"""Columns of a group, whose maximum says whether it may have one of the highest values"""
FEW = 64
"""Queries or targets below which a search stays on the CPU"""

TIE_TOLERANCE = 10**-DECIMALS
"""Scores closer than this are tied: about the rounding error of a cosine in single precision."""

PAIRS_IN_MEMORY = 16_384
"""Pairs of candidates whose vectors are in memory at once"""

MISSING = -1
"""Row number of a neighbour that does not exist, because a row has fewer candidates than neighbours are wanted."""

Embeddings = NDArray[np.floating]
RowNumbers = NDArray[np.int64]
Scores = NDArray[np.floating]
Flags = NDArray[np.bool_]
Candidates = tuple[RowNumbers, RowNumbers]  # left rows and right rows of pairs, (pairs,) each


@dataclass(frozen=True)
class Neighbours:
    """The k nearest candidates of each row, nearest first: cosines (single precision) and row numbers, both (n, k)."""

    cosines: NDArray[np.float32]
    rows: RowNumbers


def _device_for(queries: int, targets: int) -> torch.device:
    """Return the device of a search; few rows are compared faster than the others are copied to a GPU."""
    if min(queries, targets) < FEW:
        return torch.device("cpu")
    return best_device()


def _fits_on_gpu(device: torch.device, numbers: int) -> bool:
    """Return whether numbers in single precision take at most half of a GPU's free memory; False for a CPU."""
    if device.type != "cuda":
        return False
    # torch keeps freed memory reserved, which the driver does not count as free.
    reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    free, _ = torch.cuda.mem_get_info(device)
    return 4 * numbers <= (free + reserved) // 2


def similarity_blocks(
    queries: ArrayLike, targets: ArrayLike, progress: str = "", *, unit_rows: bool = False
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Yield rows of queries, rows of targets and their cosines, (queries, targets), until all pairs are compared.

    Queries are (n, dimension), targets (m, dimension), of any length; empty sides, zero vectors and numbers that are
    not finite are refused. With `unit_rows`, both are known to be of length 1. `progress` is the title of a bar.
    """
    sides = [np.asarray(queries), np.asarray(targets)]
    device = _device_for(*(len(np.atleast_1d(side)) for side in sides))
    names = () if unit_rows else ("queries", "targets")
    lengths = [row_lengths(side, name) for side, name in zip(sides, names, strict=False)]
    shapes = [side.shape for side in sides]
    if 0 in shapes[0] + shapes[1] or shapes[0][1] != shapes[1][1]:
        raise EaseError(
            f"The queries have shape {shapes[0]} and the targets {shapes[1]}: "
            "give at least one row of each, of one dimension."
        )

    def copied(values: Embeddings) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(device)

    def units(side: int, rows: slice) -> Tensor:
        if unit_rows:
            return copied(sides[side][rows])
        part = sides[side][rows]
        divisors = lengths[side][rows, None]
        if device.type == "cpu":
            return copied(part / divisors)
        # A GPU divides faster, in single precision.
        return copied(part) / copied(divisors)

    # Every block of queries meets all targets: copying them once saves most of the transfers.
    keeps_targets = _fits_on_gpu(device, math.prod(shapes[1]))
    target_blocks: dict[int, Tensor] = {}
    starts = range(0, shapes[0][0], BLOCK_SHAPE[0])
    for start in ProgressBar(starts, desc=progress, unit="block", delay=5):
        query_rows = slice(start, start + BLOCK_SHAPE[0])
        left = units(0, query_rows)
        for first in range(0, shapes[1][0], BLOCK_SHAPE[1]):
            target_rows = slice(first, first + BLOCK_SHAPE[1])
            right = target_blocks.get(first)
            if right is None:
                right = units(1, target_rows)
            if keeps_targets:
                target_blocks[first] = right
            yield query_rows, target_rows, left @ right.T


def _highest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k highest values of each row, highest first, and their columns, both (n, k).

    They are in the k groups of columns with the highest maxima. Maxima need one pass over the values, which torch's
    search on a GPU makes many times.
    """
    rows, columns = values.shape
    if columns % GROUP or columns < 4 * k * GROUP:
        return values.topk(k, dim=1)
    groups = values.view(rows, -1, GROUP)
    nearest = groups.amax(dim=2).topk(k, dim=1).indices  # (n, k)
    values_of_groups = groups.gather(1, nearest[:, :, None].expand(-1, -1, GROUP)).view(rows, -1)
    highest, places = values_of_groups.topk(k, dim=1)
    return highest, nearest.gather(1, places // GROUP) * GROUP + places % GROUP


def nearest_neighbours(
    queries: ArrayLike, targets: ArrayLike, k: int, progress: str = "", *, unit_rows: bool = False
) -> Neighbours:
    """Return each query's k nearest targets by cosine; all targets if there are fewer than k.

    Peak memory beyond the arguments is one block and 12 bytes per neighbour. The order of equally near targets is
    undefined. The other arguments and errors are those of `similarity_blocks`.
    """
    return mutual_neighbours(queries, targets, k, progress, backward=False, unit_rows=unit_rows)[0]


def mutual_neighbours(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int,
    progress: str = "",
    *,
    backward: bool = True,
    unit_rows: bool = False,
) -> tuple[Neighbours, Neighbours]:
    """Return each query's k nearest targets and each target's k nearest queries, found in one pass over all pairs.

    Without `backward`, the latter are undefined. The other arguments and errors are those of `nearest_neighbours`.
    """
    if k < 1:
        raise EaseError(f"{k} neighbours: ask for at least 1.")
    counts = len(np.atleast_1d(queries)), len(np.atleast_1d(targets))
    device = _device_for(*counts)
    nearest_so_far = []  # of both sides, the cosines and the row numbers of the nearest so far
    for count, other in (counts, counts[::-1]):
        nearest = torch.full((count, min(k, other)), -torch.inf, device=device)
        nearest_so_far.append((nearest, torch.zeros_like(nearest, dtype=torch.int64)))

    def update(side: int, rows: slice, first: int, similarities: Tensor) -> None:
        best_cosines, candidates = nearest_so_far[side]
        cosines, columns = _highest(similarities, min(best_cosines.shape[1], similarities.shape[1]))
        best_cosines[rows], order = torch.cat([best_cosines[rows], cosines], dim=1).topk(best_cosines.shape[1], dim=1)
        candidates[rows] = torch.cat([candidates[rows], columns + first], dim=1).gather(1, order)

    for query_rows, target_rows, cosines in similarity_blocks(queries, targets, progress, unit_rows=unit_rows):
        update(0, query_rows, target_rows.start, cosines)
        if backward:
            update(1, target_rows, query_rows.start, cosines.T.contiguous())
    forward, back = (Neighbours(cosines.cpu().numpy(), rows.cpu().numpy()) for cosines, rows in nearest_so_far)
    return forward, back


def hits_within(scores: Scores, right: Flags, k: int) -> Flags:
    """Whether a right candidate is among the best k of each query: (n,).

    It is if fewer than k wrong candidates score as high as the best right one or tie with it. Scores and flags are
    (n, candidates), of each query's nearest, at least k + 1, so that ties at place k are seen.
    """
    best = np.where(right, scores, -np.inf).max(axis=1)  # (n,)
    rivals = np.sum(~right & (scores >= best[:, None] - TIE_TOLERANCE), axis=1)
    hits: Flags = right.any(axis=1) & (rivals < k)
    return hits


def candidate_neighbours(
    left: NDArray[np.float32], right: NDArray[np.float32], candidates: Iterable[Candidates], k: int
) -> tuple[Neighbours, Neighbours]:
    """Return each left row's k nearest candidates and each right row's, by cosine; of equally near ones the first.

    A row with fewer than k candidates has neighbours of the row number `MISSING`. The cosine of a missing j-th
    neighbour is the mean cosine of the existing j-th ones on that side, so that margins stay comparable.

    Both sides, (n, dimension) and (m, dimension), have rows of length 1 and may be on disk. Each pair occurs once, and
    there must be one.
    """
    forward, backward = (
        Neighbours(np.full((len(side), k), -np.inf, np.float32), np.full((len(side), k), MISSING, np.int64))
        for side in (left, right)
    )

    def update(
        neighbours: Neighbours, rows: RowNumbers, candidate_rows: RowNumbers, cosines: NDArray[np.float32]
    ) -> None:
        """Compare rows with one candidate each; a row may occur several times."""
        touched = np.unique(rows)
        owners = np.concatenate([np.repeat(touched, k), rows])
        values = np.concatenate([neighbours.cosines[touched].ravel(), cosines])
        numbers = np.concatenate([neighbours.rows[touched].ravel(), candidate_rows])
        order = np.lexsort((numbers, -values, owners))
        # Every touched row has at least k entries.
        best = order[np.searchsorted(owners[order], touched)[:, None] + np.arange(k)]
        neighbours.cosines[touched] = values[best]
        neighbours.rows[touched] = numbers[best]

    is_empty = True
    for left_rows, right_rows in candidates:
        for start in range(0, len(left_rows), PAIRS_IN_MEMORY):
            query_rows = left_rows[start : start + PAIRS_IN_MEMORY]
            target_rows = right_rows[start : start + PAIRS_IN_MEMORY]
            cosines = np.einsum("ij,ij->i", left[query_rows], right[target_rows])
            update(forward, query_rows, target_rows, cosines)
            update(backward, target_rows, query_rows, cosines)
            is_empty = False
    if is_empty:
        raise EaseError("There is no candidate to compare: give at least one pair of sentences.")
    mean = np.float64(0)
    for neighbours in (forward, backward):
        for cosines, rows in zip(neighbours.cosines.T, neighbours.rows.T, strict=True):  # of each place, as views
            if (exists := rows != MISSING).any():
                mean = cosines[exists].mean(dtype=np.float64)
            cosines[~exists] = mean  # of the last place with a neighbour
    return forward, backward
