"""Isotropy of a set of embeddings (Eq. 2 and 3 of Mirror-BERT)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ease.errors import EaseError
from ease.evaluation.metrics import finite_rows


def isotropy_score(embeddings: ArrayLike) -> float:
    """Smallest over largest sum of exp(c · v) over all v, for the unit eigenvectors c of VᵀV (Eq. 2 of Mirror-BERT).

    Solvers return an eigenvector or its negative arbitrarily, so both are used.

    Args:
        embeddings: V, (n, dimension), not normalised.

    Returns:
        From 0 (all in one direction) to 1 (isotropic).

    Raises:
        EaseError: If there is no row, or one is not finite.
    """
    from scipy.special import logsumexp

    rows = _rows(embeddings)
    _, directions = np.linalg.eigh(rows.T @ rows)  # columns
    along = rows @ directions  # (n, dimension)
    # Embeddings of length 90 and more overflow exp in single precision, and 710 in double.
    logarithms = np.concatenate([logsumexp(sign * along, axis=0) for sign in (1, -1)])
    return math.exp(logarithms.min() - logarithms.max())


def mean_vector_norm(embeddings: ArrayLike) -> float:
    """Length of the mean vector of (n, dimension) (Eq. 3 of Mirror-BERT); 0 if the embeddings are centred.

    Raises:
        EaseError: If there is no row, or one is not finite.
    """
    return float(np.linalg.norm(_rows(embeddings).mean(axis=0)))


def _rows(embeddings: ArrayLike) -> np.ndarray:
    rows = np.asarray(finite_rows(embeddings), dtype=np.float64)
    if not len(rows):
        raise EaseError("No embedding to measure the isotropy of.")
    return rows
