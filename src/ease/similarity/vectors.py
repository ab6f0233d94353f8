"""Matrices with one embedding a row: checks, lengths and cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.errors import EaseError

BLOCK_ELEMENTS = 4_000_000
"""Numbers held at once while rows are measured (32 MB)"""

DECIMALS = 6
"""Of cosines that are ranked: those of equal texts differ by rounding, which depends on the order of the rows."""

Floats = NDArray[np.float64]
UnitRows = NDArray[np.float32]
"""Rows of length 1, or 0, in single precision: (n, dimension)"""


def finite_rows(embeddings: ArrayLike, name: str = "embeddings") -> NDArray[Any]:
    """Return embeddings, (n, dimension), in their own precision.

    Raises:
        EaseError: With `name`, for another shape, NaN or infinity.
    """
    matrix = np.asarray(embeddings)
    if matrix.ndim != 2:
        raise EaseError(f"The {name} have shape {matrix.shape}: give one row per sentence, (sentences, dimension).")
    if (broken := np.flatnonzero(~np.isfinite(matrix).all(axis=1))).size:
        raise EaseError(
            f"{broken.size} of {len(matrix)} rows of the {name} contain NaN or infinity, first row {broken[0]}: "
            "the model has diverged; lower its learning rate or go back to an earlier checkpoint."
        )
    return matrix


def row_lengths(embeddings: ArrayLike, name: str = "embeddings") -> Floats:
    """Return the length of each row in double precision, a block at a time: (n, dimension) -> (n,).

    Raises:
        EaseError: With `name`, for a zero vector, and as `finite_rows` does.
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
    if (zero := np.flatnonzero(lengths == 0)).size:
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


def unit_rows(embeddings: NDArray[np.floating], center: bool = False, name: str = "embeddings") -> UnitRows:
    """Scale finite rows, none of them zero, to length 1, in single precision: (n, dimension) -> (n, dimension).

    `center` subtracts their mean; `name` names them in error messages.
    """
    lengths = row_lengths(embeddings, name)[:, None]
    units: UnitRows = np.empty(embeddings.shape, dtype=np.float32)
    np.divide(embeddings, lengths, out=units, casting="same_kind")
    if center:
        units -= units.mean(axis=0, dtype=np.float64).astype(np.float32)
        # A row that equals the mean is zero now.
        units = unit_or_zero_rows(units)
    return units


def pairwise_cosine(left: ArrayLike, right: ArrayLike) -> Floats:
    """Return the cosine of row i of one matrix with row i of the other: 2 x (n, dimension) -> (n,)."""
    first = normalize_rows(left, "left embeddings")
    second = normalize_rows(right, "right embeddings")
    cosines: Floats = np.einsum("nd,nd->n", first, second)
    # Rounding may give 1.0000000000000002.
    return cosines.clip(-1.0, 1.0)
