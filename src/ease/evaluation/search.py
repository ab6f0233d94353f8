"""Exact nearest-neighbour search by cosine in bounded memory, and the rule for ties of all retrieval scores.

Similarities are matrix products in single precision, computed a block at a time on the GPU where there is one. Two
candidates whose scores differ by less than `TIE_TOLERANCE` are tied. A wrong candidate that is tied with the right one
counts as nearer, so equal sentences and collapsed models gain nothing, and no score depends on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.metrics import DECIMALS, row_lengths
from ease.io.device import best_device

BLOCK = (4096, 8192)
"""Queries and targets compared at once: 134 MB of similarities."""

GROUP = 128
"""Columns whose maximum tells whether they may have one of the highest values"""

FEW = 64
"""Queries or targets below which a search stays on the CPU"""

TIE_TOLERANCE = 10**-DECIMALS
"""Scores closer than this are tied: about the rounding error of a cosine in single precision."""

PAIRS = 16_384
"""Pairs of given candidates whose vectors are in memory at once."""

MISSING = -1
"""Row number of a neighbour that does not exist, because a row has fewer candidates than neighbours are wanted."""

Embeddings = NDArray[np.floating]
Rows = NDArray[np.int64]
Scores = NDArray[np.floating]
Flags = NDArray[np.bool_]
Candidates = tuple[Rows, Rows]
"""Left rows and right rows of pairs, (pairs,) each"""


@dataclass(frozen=True)
class Neighbours:
    """The k nearest candidates of each row, nearest first: cosines (single precision) and row numbers, both (n, k)."""

    cosines: NDArray[np.float32]
    rows: Rows


class _Nearest:
    """The k nearest candidates of each row among those compared so far."""

    def __init__(self, rows: int, k: int, device: torch.device) -> None:
        self.cosines = torch.full((rows, k), -torch.inf, device=device)
        self.candidates = torch.zeros((rows, k), dtype=torch.int64, device=device)

    def update(self, rows: slice, first: int, similarities: Tensor) -> None:
        """Compare rows with the candidates numbered from `first`: similarities are (rows, candidates)."""
        k = self.cosines.shape[1]
        cosines, columns = _highest(similarities, min(k, similarities.shape[1]))
        candidates = torch.cat([self.candidates[rows], columns + first], dim=1)
        self.cosines[rows], order = torch.cat([self.cosines[rows], cosines], dim=1).topk(k, dim=1)
        self.candidates[rows] = candidates.gather(1, order)

    def neighbours(self) -> Neighbours:
        return Neighbours(self.cosines.cpu().numpy(), self.candidates.cpu().numpy())


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
    chosen = groups.gather(1, nearest[:, :, None].expand(-1, -1, GROUP)).view(rows, -1)
    highest, places = chosen.topk(k, dim=1)
    return highest, nearest.gather(1, places // GROUP) * GROUP + places % GROUP


def _lengths(side: Embeddings, name: str, device: torch.device) -> NDArray[np.float64]:
    """Return the length of each row in double precision, (n,); the errors are those of `row_lengths`."""
    if device.type != "cpu" and side.ndim == 2 and side.size:
        parts = (np.ascontiguousarray(side[at : at + BLOCK[1]]) for at in range(0, len(side), BLOCK[1]))
        found = [torch.from_numpy(part).to(device).double().norm(dim=1).cpu().numpy() for part in parts]
        lengths = np.concatenate(found)
        if (lengths > 0).all() and np.isfinite(lengths).all():
            return lengths
    return row_lengths(side, name)


def _device_for(queries: int, targets: int) -> torch.device:
    """Return the device of a search; few rows are compared faster than the others are copied to a GPU."""
    return best_device() if min(queries, targets) >= FEW else torch.device("cpu")


def similarity_blocks(
    queries: ArrayLike,
    targets: ArrayLike,
    block: tuple[int, int] = BLOCK,
    progress: str = "",
    *,
    unit_rows: bool = False,
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Yield rows of queries, rows of targets and their cosines, (queries, targets), until all pairs are compared.

    Args:
        queries: (n, dimension), any non-zero length.
        targets: (m, dimension), any non-zero length.
        block: Queries and targets compared at once.
        progress: Title of the progress bar; no bar if empty.
        unit_rows: Both sides are known to be finite and of length 1, which saves the computation of the lengths.

    Raises:
        EaseError: If a side is empty, the dimensions differ, or a row is zero or not finite.
    """
    sides = [np.asarray(queries), np.asarray(targets)]
    device = _device_for(*(len(np.atleast_1d(side)) for side in sides))
    names = () if unit_rows else ("queries", "targets")
    lengths = [_lengths(side, name, device) for side, name in zip(sides, names, strict=False)]
    shapes = [side.shape for side in sides]
    if 0 in shapes[0] + shapes[1] or shapes[0][1] != shapes[1][1]:
        raise EaseError(
            f"The queries have shape {shapes[0]} and the targets {shapes[1]}: "
            "give at least one row of each, of one dimension."
        )

    def units(side: int, rows: slice) -> Tensor:
        if unit_rows:
            return copied(sides[side][rows])
        part, divisors = sides[side][rows], lengths[side][rows, None]
        # A GPU divides faster, in single precision.
        return copied(part / divisors) if device.type == "cpu" else copied(part) / copied(divisors)

    def copied(values: Embeddings) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(device)

    keeps, kept = _fits(shapes[1], device), dict[int, Tensor]()
    starts = range(0, shapes[0][0], block[0])
    for start in tqdm(starts, desc=progress, unit="block", delay=5, leave=False, disable=not progress):
        here = slice(start, start + block[0])
        left = units(0, here)
        for first in range(0, shapes[1][0], block[1]):
            there = slice(first, first + block[1])
            right = kept[first] if first in kept else units(1, there)
            if keeps:
                kept[first] = right
            yield here, there, left @ right.T


def _fits(shape: tuple[int, ...], device: torch.device) -> bool:
    """Return whether a matrix in single precision takes at most half of a GPU's free memory; a CPU has it already."""
    if device.type != "cuda":
        return False
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return 4 * math.prod(shape) <= (torch.cuda.mem_get_info(device)[0] + unused) // 2


def nearest_neighbours(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int,
    block: tuple[int, int] = BLOCK,
    progress: str = "",
    *,
    unit_rows: bool = False,
) -> Neighbours:
    """Return each query's k nearest targets by cosine; all targets if there are fewer than k.

    Peak memory beyond the arguments is one block and 12 bytes per neighbour. The order of equally near targets is
    undefined. The other arguments and errors are those of `similarity_blocks`.
    """
    return mutual_neighbours(queries, targets, k, block, progress, backward=False, unit_rows=unit_rows)[0]


def mutual_neighbours(
    queries: ArrayLike,
    targets: ArrayLike,
    k: int,
    block: tuple[int, int] = BLOCK,
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
    near_queries, near_targets = (
        _Nearest(count, min(k, other), _device_for(*counts)) for count, other in (counts, counts[::-1])
    )
    for here, there, similarities in similarity_blocks(
        queries, targets, block, progress, unit_rows=unit_rows
    ):
        near_queries.update(here, there.start, similarities)
        if backward:
            near_targets.update(there, here.start, similarities.T.contiguous())
    return near_queries.neighbours(), near_targets.neighbours()


def hits_within(scores: Scores, right: Flags, k: int) -> Flags:
    """Whether a right candidate is among the best k of each query: (n,).

    It is if fewer than k wrong candidates score as high as the best right one or tie with it.

    Args:
        scores: (n, candidates), of each query's nearest; at least k + 1, so that ties at place k are seen.
        right: (n, candidates), whether the candidate is right.
        k: Number of candidates that count.
    """
    best = np.where(right, scores, -np.inf).max(axis=1)  # (n,)
    rivals = np.sum(~right & (scores >= best[:, None] - TIE_TOLERANCE), axis=1)
    hits: Flags = right.any(axis=1) & (rivals < k)
    return hits


def candidate_neighbours(
    left: NDArray[np.float32], right: NDArray[np.float32], candidates: Iterable[Candidates], k: int
) -> tuple[Neighbours, Neighbours]:
    """Return each left row's k nearest candidates and each right row's, by cosine.

    A row with fewer than k candidates has neighbours of the row number `MISSING`. The cosine of a missing j-th
    neighbour is the mean cosine of the existing j-th ones on that side, so that margins stay comparable.

    Args:
        left: (n, dimension), rows of length 1; may be on disk.
        right: (m, dimension), likewise.
        candidates: Blocks of pairs: left rows and right rows, (pairs,) each. Each pair occurs once.
        k: Number of neighbours.

    Raises:
        EaseError: If there is no candidate.
    """
    forward, backward = _NearestGiven(len(left), k), _NearestGiven(len(right), k)
    for left_rows, right_rows in candidates:
        for start in range(0, len(left_rows), PAIRS):
            here, there = left_rows[start : start + PAIRS], right_rows[start : start + PAIRS]
            cosines = np.einsum("ij,ij->i", left[here], right[there])
            forward.update(here, there, cosines)
            backward.update(there, here, cosines)
    if not forward.seen:
        raise EaseError("There is no candidate to compare: give at least one pair of sentences.")
    return forward.neighbours(), backward.neighbours()


class _NearestGiven:
    """The k nearest candidates of each row among those compared so far; equally near ones by their row number."""

    def __init__(self, rows: int, k: int) -> None:
        self.cosines = np.full((rows, k), -np.inf, dtype=np.float32)
        self.candidates = np.full((rows, k), MISSING, dtype=np.int64)
        self.seen = False

    def update(self, rows: Rows, candidates: Rows, cosines: NDArray[np.float32]) -> None:
        """Compare rows with one candidate each; a row may occur several times."""
        if not len(rows):
            return
        self.seen, k = True, self.cosines.shape[1]
        touched = np.unique(rows)
        owners = np.concatenate([np.repeat(touched, k), rows])
        values = np.concatenate([self.cosines[touched].ravel(), cosines])
        others = np.concatenate([self.candidates[touched].ravel(), candidates])
        order = np.lexsort((others, -values, owners))
        owners, values, others = owners[order], values[order], others[order]
        starts = np.searchsorted(owners, touched)
        places = starts[:, None] + np.arange(k)  # every touched row has at least k entries
        self.cosines[touched], self.candidates[touched] = values[places], others[places]

    def neighbours(self) -> Neighbours:
        """Return the neighbours; missing ones have their column's mean cosine."""
        for place in range(self.cosines.shape[1]):
            column = self.cosines[:, place]
            exists = self.candidates[:, place] != MISSING
            if exists.any():
                mean = column[exists].mean(dtype=np.float64)
            column[~exists] = mean
        return Neighbours(self.cosines, self.candidates)
