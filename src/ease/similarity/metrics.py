"""Measures of similarities and of embeddings: correlation with grades, isotropy."""

from __future__ import annotations

import logging
import math

import numpy as np
from numpy.typing import ArrayLike

from ease.errors import EaseError
from ease.similarity.vectors import finite_rows

logger = logging.getLogger(__name__)


def spearman(similarities: ArrayLike, gold: ArrayLike) -> float:
    """Return Spearman's rank correlation (-1 to 1) of similarities with gold scores.

    If all similarities are equal, the score is 0 with a warning instead of NaN, so that model selection can compare it.

    Raises:
        EaseError: If all gold scores are equal.
    """
    predicted = np.asarray(similarities, dtype=np.float64)
    grades = np.asarray(gold, dtype=np.float64)
    if np.unique(grades).size < 2:
        raise EaseError(
            f"The {grades.size} gold scores are no two different ones: nothing to rank; is it the right column?"
        )
    if np.ptp(predicted) == 0:
        logger.warning("All %d similarities are equal (a collapsed model?): scored as 0", predicted.size)
        return 0.0
    from scipy.stats import spearmanr  # import takes a second

    return float(spearmanr(predicted, grades).statistic)


def isotropy_score(embeddings: ArrayLike) -> float:
    """Return how evenly embeddings spread: from 0 (all in one direction) to 1 (isotropic).

    The smallest over the largest sum of exp(c · v) over all v, for the unit eigenvectors c of VᵀV (equation 2 of
    Mirror-BERT). The embeddings V are (n, dimension), not normalised.
    """
    from scipy.special import logsumexp

    rows = np.asarray(finite_rows(embeddings), dtype=np.float64)
    _, directions = np.linalg.eigh(rows.T @ rows)  # columns
    along = rows @ directions  # (n, dimension)
    # Solvers return an eigenvector or its negative arbitrarily, so both signs are used. Logarithms, because embeddings
    # of length 90 and more overflow exp in single precision, and 710 in double.
    logarithms = np.concatenate([logsumexp(sign * along, axis=0) for sign in (1, -1)])
    return math.exp(logarithms.min() - logarithms.max())


def mean_vector_norm(embeddings: ArrayLike) -> float:
    """Return the length of the mean vector of (n, dimension) (equation 3 of Mirror-BERT); 0 for centred embeddings."""
    rows = np.asarray(finite_rows(embeddings), dtype=np.float64)
    return float(np.linalg.norm(rows.mean(axis=0)))
