"""Nearest neighbours among given candidates instead of all pairs: sentences that share entities.

Candidates arrive in blocks. Memory holds one block, and the k nearest candidates of each row seen so far.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.evaluation.search import Neighbours, Rows

BLOCK = 16_384
"""Candidates whose vectors are in memory at once."""

MISSING = -1
"""Row number of a neighbour that does not exist, because a row has fewer candidates than neighbours are wanted."""

Units = NDArray[np.float32]
Candidates = tuple[Rows, Rows]


def candidate_neighbours(
    left: Units, right: Units, candidates: Iterable[Candidates], k: int
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
        EaseError: If k is below 1, or there is no candidate.
    """
    if k < 1:
        raise EaseError(f"{k} neighbours: ask for at least 1.")
    forward, backward = _Nearest(len(left), k), _Nearest(len(right), k)
    for left_rows, right_rows in candidates:
        for start in range(0, len(left_rows), BLOCK):
            here, there = left_rows[start : start + BLOCK], right_rows[start : start + BLOCK]
            cosines = np.einsum("ij,ij->i", left[here], right[there])
            forward.update(here, there, cosines)
            backward.update(there, here, cosines)
    if not forward.seen:
        raise EaseError("There is no candidate to compare: give at least one pair of sentences.")
    return forward.neighbours(), backward.neighbours()


class _Nearest:
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
