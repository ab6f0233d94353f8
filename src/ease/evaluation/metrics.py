"""Scores of sentence embeddings as functions of NumPy arrays."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.errors import EaseError

logger = logging.getLogger(__name__)

BLOCK_ELEMENTS = 4_000_000
"""Numbers held at once while measuring rows (32 MB)."""

DECIMALS = 6
"""Of cosines that are ranked: those of equal texts differ by rounding, which depends on the order of the rows."""

Floats = NDArray[np.float64]


def finite_rows(embeddings: ArrayLike, name: str = "embeddings") -> NDArray[Any]:
    """Return embeddings as a matrix of finite numbers, in their own precision.

    Args:
        embeddings: One row per sentence: (n, dimension).
        name: Name of the matrix in error messages.

    Raises:
        EaseError: If they are not a matrix, or a number is not finite.
    """
    matrix = np.asarray(embeddings)
    if matrix.ndim != 2:
        raise EaseError(
            f"The {name} have shape {matrix.shape}: give one row per sentence, (sentences, dimension)."
        )
    broken = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if broken.size:
        raise EaseError(
            f"{broken.size} of {len(matrix)} rows of the {name} contain NaN or infinity, first row {broken[0]}: "
            "the model has diverged; lower its learning rate or go back to an earlier checkpoint."
        )
    return matrix


def row_lengths(embeddings: ArrayLike, name: str = "embeddings") -> Floats:
    """Length of each row, (n, dimension) -> (n,), in double precision, computed a block of rows at a time.

    Args:
        embeddings: One row per sentence.
        name: Name of the matrix in error messages.

    Raises:
        EaseError: If it is not a matrix of finite numbers, or a row is zero and so has no direction.
    """
    matrix = finite_rows(embeddings, name)
    lengths = np.empty(len(matrix))
    rows = max(1, BLOCK_ELEMENTS // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), rows):
        block = matrix[start : start + rows].astype(np.float64)
        # Dividing by the largest entry first prevents overflow and underflow of the squares.
        largest = np.abs(block).max(axis=1, initial=0.0)
        scaled = block / np.where(largest > 0, largest, 1.0)[:, None]
        lengths[start : start + rows] = largest * np.linalg.norm(scaled, axis=1)
    zero = np.flatnonzero(lengths == 0)
    if zero.size:
        raise EaseError(
            f"{zero.size} of {len(matrix)} rows of the {name} are zero vectors, first row {zero[0]}: "
            "they have no cosine. Check whether these sentences are blank, and the encoder's pooling."
        )
    return lengths


def normalize_rows(embeddings: ArrayLike, name: str = "embeddings") -> Floats:
    """Scale each row to length 1, in double precision: (n, dimension) -> (n, dimension)."""
    matrix = np.asarray(embeddings, dtype=np.float64)
    normalized: Floats = matrix / row_lengths(matrix, name)[:, None]
    return normalized


def unit_or_zero_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Scale each row to length 1, in its own precision, (n, dimension) -> (n, dimension); a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[Any] = rows / np.where(lengths > 0, lengths, 1)
    return scaled


def pairwise_cosine(left: ArrayLike, right: ArrayLike) -> Floats:
    """Cosine of row i of one matrix with row i of the other: 2 x (n, dimension) -> (n,)."""
    first, second = normalize_rows(left, "left embeddings"), normalize_rows(right, "right embeddings")
    cosines: Floats = np.einsum("nd,nd->n", first, second)
    return cosines.clip(-1.0, 1.0)


def spearman(similarities: ArrayLike, gold: ArrayLike) -> float:
    """Spearman's rank correlation (-1 to 1) of similarities with gold scores; ties share their mean rank.

    If all similarities are equal, the score is 0 with a warning instead of NaN, so that model selection can compare it.

    Raises:
        EaseError: If a similarity is NaN, there are fewer than 2 rows, or gold is constant.
    """
    predicted, wanted = np.asarray(similarities, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if np.isnan(predicted).any():
        raise EaseError(f"{int(np.isnan(predicted).sum())} of {predicted.size} similarities are NaN.")
    if wanted.size < 2:
        raise EaseError(f"{wanted.size} sentence pair has a gold score: at least 2 are needed.")
    if np.ptp(wanted) == 0:
        raise EaseError(
            f"All {wanted.size} gold scores are {wanted[0]:g}: nothing to rank; is it the right column?"
        )
    if np.ptp(predicted) == 0:
        logger.warning("All %d similarities are equal (a collapsed model?): scored as 0", predicted.size)
        return 0.0
    from scipy.stats import spearmanr  # import takes a second

    return float(spearmanr(predicted, wanted).statistic)


def isotropy_score(embeddings: ArrayLike) -> float:
    """Smallest over largest sum of exp(c · v) over all v, for the unit eigenvectors c of VᵀV (Eq. 2 of Mirror-BERT).

    Solvers return an eigenvector or its negative arbitrarily, so both are used.

    Args:
        embeddings: V, (n, dimension), not normalised.

    Returns:
        From 0 (all in one direction) to 1 (isotropic).
    """
    from scipy.special import logsumexp

    rows = np.asarray(finite_rows(embeddings), dtype=np.float64)
    _, directions = np.linalg.eigh(rows.T @ rows)  # columns
    along = rows @ directions  # (n, dimension)
    # Embeddings of length 90 and more overflow exp in single precision, and 710 in double.
    logarithms = np.concatenate([logsumexp(sign * along, axis=0) for sign in (1, -1)])
    return math.exp(logarithms.min() - logarithms.max())


def mean_vector_norm(embeddings: ArrayLike) -> float:
    """Length of the mean vector of (n, dimension) (Eq. 3 of Mirror-BERT); 0 if the embeddings are centred."""
    rows = np.asarray(finite_rows(embeddings), dtype=np.float64)
    return float(np.linalg.norm(rows.mean(axis=0)))
