"""Retrieval between two embedding spaces: orthogonal maps, CSLS and ranks; NumPy in, numbers out, no model.

A candidate that is as near as the right one counts as nearer: what cannot be told apart is not found.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.metrics import row_lengths
from ease.evaluation.search import BLOCK, TIE_TOLERANCE, Embeddings, Flags, Rows, Scores, nearest_neighbours

Units = NDArray[np.float32]


def unit_rows(embeddings: Embeddings, center: bool = False, name: str = "embeddings") -> Units:
    """Scale rows to length 1, in single precision: (n, dimension) -> (n, dimension).

    Args:
        embeddings: One row a word.
        center: Whether to take their mean from the scaled rows and scale once more (Artetxe et al., 2018).
        name: How an error calls the matrix.

    Raises:
        EaseError: If it is no matrix of finite numbers, or a row is zero, at first or less the mean.
    """
    lengths = row_lengths(embeddings, name)[:, None]
    units: Units = np.empty(embeddings.shape, dtype=np.float32)
    np.divide(embeddings, lengths, out=units, casting="same_kind")
    if not center:
        return units
    units -= units.mean(axis=0, dtype=np.float64).astype(np.float32)
    return unit_rows(units, name=f"centred {name}")


def orthogonal_map(source: Embeddings, target: Embeddings) -> NDArray[np.float64]:
    """Return the orthogonal W of least ‖XW − Y‖, (dimension, dimension): the Procrustes problem (Schönemann, 1966).

    Args:
        source: X, (pairs, dimension).
        target: Y, row i what row i of X is to be mapped to.

    Raises:
        EaseError: If there is no pair, or the shapes differ.
    """
    if source.shape != target.shape or 0 in source.shape:
        raise EaseError(
            f"{source.shape} source and {target.shape} target embeddings: an orthogonal map is learnt from at least "
            "one pair, of one dimension."
        )
    mapping: NDArray[np.float64] = orthogonal_procrustes(
        source.astype(np.float64), target.astype(np.float64)
    )[0]
    return mapping


def csls_ranks(
    queries: Units,
    targets: Units,
    sources: Units,
    gold: Rows,
    neighbours: int = 10,
    block: tuple[int, int] = BLOCK,
    progress: str = "",
) -> Rows:
    """Rank of each query's best gold target among all targets that are not gold, by CSLS: (n,), from 1.

    CSLS(x, y) = 2 cos(x, y) − r(x) − r(y), where r is the mean cosine with the nearest rows of the other side
    (Conneau et al., 2018, "Word translation without parallel data", section 2.3). r(x) is one number for all targets of
    x: it moves no rank and is left out. Similarities are held a block at a time.

    Args:
        queries: (n, dimension), of length 1, mapped into the space of the targets.
        targets: (m, dimension), of length 1.
        sources: (s, dimension), the rows whose nearness makes a target a hub: the queries' whole vocabulary, mapped.
        gold: (pairs, 2), rows of queries and of targets; each query has one or more.
        neighbours: k of r.
        block: Queries and targets compared at once.
        progress: What progress bars call it; none by default.

    Raises:
        EaseError: If a query has no gold target; or as `nearest_neighbours` does.
    """
    density = nearest_neighbours(targets, sources, neighbours, block, progress).cosines.mean(axis=1)  # (m,)
    best = _best_gold(queries, targets, density, gold)
    ahead = np.zeros(len(queries), dtype=np.int64)
    starts = range(0, len(queries), block[0])
    for start in tqdm(starts, desc=progress, unit="block", delay=5, leave=False, disable=not progress):
        here = slice(start, start + block[0])
        inside = gold[(gold[:, 0] >= start) & (gold[:, 0] < start + block[0])] - [start, 0]
        for first in range(0, len(targets), block[1]):
            there = slice(first, first + block[1])
            scores = 2 * _products(queries[here], targets[there]) - density[there]  # (queries, targets)
            right = inside[(inside[:, 1] >= first) & (inside[:, 1] < first + block[1])] - [0, first]
            scores[right[:, 0], right[:, 1]] = -np.inf
            ahead[here] += np.sum(scores >= best[here, None] - TIE_TOLERANCE, axis=1)
    return ahead + 1


def _best_gold(queries: Units, targets: Units, density: Scores, gold: Rows) -> Scores:
    """CSLS, less r(x), of each query's best gold target: (n,)."""
    best = np.full(len(queries), -np.inf, dtype=np.float32)
    scores = 2 * np.einsum("pd,pd->p", queries[gold[:, 0]], targets[gold[:, 1]]) - density[gold[:, 1]]
    np.maximum.at(best, gold[:, 0], scores)
    lacking = np.flatnonzero(np.isinf(best))
    if lacking.size:
        raise EaseError(
            f"{lacking.size} of {len(best)} queries have no gold target, first query {lacking[0]}."
        )
    return best


def _products(left: Units, right: Units) -> Units:
    """Matrix product with the other's transpose, on the GPU where there is one: (n, d), (m, d) -> (n, m)."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    products = torch.from_numpy(left).to(device) @ torch.from_numpy(right).to(device).T
    found: Units = products.cpu().numpy()
    return found


def hits_within(cosines: Scores, right: Flags, k: int) -> Flags:
    """Whether a right candidate is among each query's best k: (n,).

    It is, where fewer than k wrong candidates are as near as the best right one. To see ties at the k-th place, give
    at least one candidate more than k.

    Args:
        cosines: (n, candidates), of each query's nearest.
        right: (n, candidates), whether the candidate is what the query stands for.
        k: How many candidates count.
    """
    best = np.where(right, cosines, -np.inf).max(axis=1)  # (n,)
    ahead = np.sum(~right & (cosines >= best[:, None] - TIE_TOLERANCE), axis=1)
    hits: Flags = right.any(axis=1) & (ahead < k)
    return hits
