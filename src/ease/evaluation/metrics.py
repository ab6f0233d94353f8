"""Scores of sentence embeddings as functions of NumPy arrays, and what each test item contributes to them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.errors import EaseError

logger = logging.getLogger(__name__)

BLOCK_ELEMENTS = 4_000_000  # numbers held at once while measuring rows (32 MB)

DECIMALS = 6
"""Of cosines that are ranked: those of equal texts differ by rounding, which depends on the order of the rows."""

Floats = NDArray[np.float64]


def finite_rows(embeddings: ArrayLike, name: str = "embeddings") -> NDArray[Any]:
    """Return embeddings, (n, dimension), in their own precision; refuse, by `name`, other shapes, NaN and infinity."""
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
    """Length of each row, none of them zero, (n, dimension) -> (n,), in double precision, a block at a time."""
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


def pairwise_cosine(left: ArrayLike, right: ArrayLike) -> Floats:
    """Cosine of row i of one matrix with row i of the other: 2 x (n, dimension) -> (n,)."""
    first, second = normalize_rows(left, "left embeddings"), normalize_rows(right, "right embeddings")
    cosines: Floats = np.einsum("nd,nd->n", first, second)
    return cosines.clip(-1.0, 1.0)


def spearman(similarities: ArrayLike, gold: ArrayLike) -> float:
    """Spearman's rank correlation (-1 to 1) of similarities with gold scores, of which two must differ.

    If all similarities are equal, the score is 0 with a warning instead of NaN, so that model selection can compare it.
    """
    predicted, wanted = np.asarray(similarities, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if np.unique(wanted).size < 2:
        raise EaseError(
            f"The {wanted.size} gold scores are no two different ones: nothing to rank; is it the right column?"
        )
    if np.ptp(predicted) == 0:
        logger.warning("All %d similarities are equal (a collapsed model?): scored as 0", predicted.size)
        return 0.0
    from scipy.stats import spearmanr  # import takes a second

    return float(spearmanr(predicted, wanted).statistic)


def isotropy_score(embeddings: ArrayLike) -> float:
    """Smallest over largest sum of exp(c · v) over all v, for the unit eigenvectors c of VᵀV (Eq. 2 of Mirror-BERT).

    Solvers return an eigenvector or its negative arbitrarily, so both are used. The embeddings V are (n, dimension),
    not normalised; the score is from 0 (all in one direction) to 1 (isotropic).
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


Kind = Literal["ratio", "spearman", "auc", "v_measure", "adjusted_mutual_information"]


@dataclass(frozen=True, eq=False)
class Items:
    """What each item of a test set contributes to a score: one array of equal length for each column.

    `ratio` is the sum of `numerator` over the sum of `denominator`, or over the number of items without that column.
    `spearman` is the rank correlation of `cosine` with `gold`, `auc` the area under the ROC curve of `cosine` for
    `gold` of 0 or 1, `v_measure` and `adjusted_mutual_information` the means over the columns `clusters…` of their
    agreement with `class`.
    """

    kind: Kind
    columns: Mapping[str, Floats]

    def __len__(self) -> int:
        """Return the number of items."""
        return len(next(iter(self.columns.values())))

    def take(self, rows: ArrayLike) -> Items:
        """Return some of the items, by their row numbers or by a mask."""
        chosen = np.arange(len(self))[np.asarray(rows, dtype=None if np.size(rows) else np.int64)]
        return Items(self.kind, {name: column[chosen] for name, column in self.columns.items()})

    def value(self) -> float:
        """Return the score of the items in points; NaN where it is not defined, such as for a single gold score."""
        if not len(self):
            return float("nan")
        if self.kind != "spearman":
            numerators, denominators = self.contributions()
            total = float(denominators.sum())
            return 100 * float(numerators.sum()) / total if total else float("nan")
        from scipy.stats import rankdata  # import takes a second

        cosines, gold = self.columns["cosine"], self.columns["gold"]
        if np.ptp(cosines) == 0 or np.ptp(gold) == 0:
            return 0.0 if np.ptp(gold) else float("nan")
        return 100 * float(np.corrcoef(rankdata(cosines), rankdata(gold))[0, 1])

    def contributions(self) -> tuple[Floats, Floats]:
        """Return what each item adds to the numerator and to the denominator of a score but `spearman`, (items,) each.

        An AUC and an agreement of clusters with classes are linear in the items to first order: the mean of these
        contributions is the score.
        """
        ones = np.ones(len(self))
        if self.kind == "ratio":
            return self.columns["numerator"], self.columns.get("denominator", ones)
        if self.kind == "auc":
            return auc_contributions(self.columns["cosine"], self.columns["gold"]), ones
        contributions = v_measure_contributions if self.kind == "v_measure" else adjusted_contributions
        runs = [column for name, column in self.columns.items() if name.startswith("clusters")]
        return np.mean([contributions(self.columns["class"], run) for run in runs], axis=0), ones


def mean_items(values: ArrayLike, denominators: ArrayLike | None = None) -> Items:
    """Return the items of a mean of values (0 to 1), or of the ratio of two sums."""
    columns = {"numerator": values} | ({} if denominators is None else {"denominator": denominators})
    return Items("ratio", {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()})


def paired_items(kind: Kind, cosines: ArrayLike, gold: ArrayLike) -> Items:
    """Return the items of a score of cosines and gold scores: `spearman`, or `auc` with gold scores of 0 or 1."""
    columns = {"cosine": np.asarray(cosines, dtype=np.float64), "gold": np.asarray(gold, dtype=np.float64)}
    return Items(kind, columns)


def agreement_items(kind: str, classes: ArrayLike, runs: Sequence[ArrayLike]) -> Items:
    """Return the items of the mean agreement of several clusterings with classes."""
    labels = {"class": classes, **{f"clusters_{number}": run for number, run in enumerate(runs)}}
    numbers = {name: np.unique(np.asarray(own), return_inverse=True)[1] for name, own in labels.items()}
    return Items(cast(Kind, kind), {name: own.astype(np.float64) for name, own in numbers.items()})


def auc_contributions(cosines: Floats, positive: Floats) -> Floats:
    """Return contributions whose mean is the AUC: the placement of each row among those of the other class.

    References: DeLong et al. 1988.
    """
    from scipy.stats import rankdata  # import takes a second

    chosen = positive > 0
    counts = int(chosen.sum()), int((~chosen).sum())
    if 0 in counts:
        return np.full(len(cosines), np.nan)
    ranks, placements = rankdata(cosines), np.empty(len(cosines))
    placements[chosen] = (ranks[chosen] - rankdata(cosines[chosen])) / counts[1]
    placements[~chosen] = 1 - (ranks[~chosen] - rankdata(cosines[~chosen])) / counts[0]
    area = float(placements[chosen].mean())
    return area + (placements - area) / (np.where(chosen, *counts) / len(cosines))


def _surprisal(labels: Floats) -> Floats:
    """Return minus the logarithm of the share of each row's label; the mean is the entropy."""
    _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    surprisal: Floats = -np.log(counts / len(labels))[numbers]
    return surprisal


def _surprisals(classes: Floats, clusters: Floats) -> tuple[Floats, Floats]:
    """Return the surprisal of each row's class and cluster: the sum of both, and that of both together."""
    joint = _surprisal(classes * (clusters.max() + 1) + clusters)
    return _surprisal(classes) + _surprisal(clusters), joint


def v_measure_contributions(classes: Floats, clusters: Floats) -> Floats:
    """Return contributions whose mean is the V-measure: its first derivative by the weight of each row."""
    marginal, joint = _surprisals(classes, clusters)
    total, shared = float(marginal.mean()), float(joint.mean())
    if not total:
        return np.ones(len(classes))
    change = -2 * (joint - shared) / total + 2 * shared * (marginal - total) / total**2
    return 2 - 2 * shared / total + change


def adjusted_contributions(classes: Floats, clusters: Floats) -> Floats:
    """Return contributions whose mean is the adjusted mutual information; that of random clusters is taken as fixed."""
    from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

    marginal, joint = _surprisals(classes, clusters)
    total, shared = float(marginal.mean()), float(joint.mean())
    counts = contingency_matrix(classes, clusters, sparse=True)
    random = expected_mutual_information(counts, len(classes))
    above, most = total - shared - random, total / 2 - random
    if not most:
        return np.ones(len(classes))
    change = (marginal - total - joint + shared) / most - above * (marginal - total) / (2 * most**2)
    return above / most + change
