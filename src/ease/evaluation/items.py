"""What each test item contributes to a score, from which resampled scores and scores of some items are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from ease.similarity.vectors import Floats

ItemKind = Literal["ratio", "spearman", "auc", "v_measure", "adjusted_mutual_information"]


@dataclass(frozen=True, eq=False)
class Items:
    """What each item of a test set contributes to a score: one array of equal length for each column.

    `ratio` is the sum of `numerator` over the sum of `denominator`, or over the number of items without that column.
    `spearman` is the rank correlation of `cosine` with `gold`, `auc` the area under the ROC curve of `cosine` for
    `gold` of 0 or 1, `v_measure` and `adjusted_mutual_information` the means over the columns `clusters…` of their
    agreement with `class`.
    """

    kind: ItemKind
    columns: Mapping[str, Floats]

    def __len__(self) -> int:
        """Return the number of items."""
        return len(next(iter(self.columns.values())))

    def take(self, rows: ArrayLike) -> Items:
        """Return some of the items, by their row numbers or by a mask."""
        # NumPy would read an empty list as floating-point numbers, which are no index.
        index = np.asarray(rows, dtype=None if np.size(rows) else np.int64)
        numbers = np.arange(len(self))[index]
        return Items(self.kind, {name: column[numbers] for name, column in self.columns.items()})

    def value(self) -> float:
        """Return the score of the items in points; NaN where it is not defined, such as for a single gold score."""
        if not len(self):
            return float("nan")
        if self.kind == "spearman":
            return self._correlation()
        numerators, denominators = self.contributions()
        total = float(denominators.sum())
        return 100 * float(numerators.sum()) / total if total else float("nan")

    def _correlation(self) -> float:
        from scipy.stats import rankdata  # import takes a second

        cosines = self.columns["cosine"]
        gold = self.columns["gold"]
        if np.ptp(gold) == 0:
            return float("nan")
        if np.ptp(cosines) == 0:
            return 0.0
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
    columns = {"numerator": np.asarray(values, dtype=np.float64)}
    if denominators is not None:
        columns["denominator"] = np.asarray(denominators, dtype=np.float64)
    return Items("ratio", columns)


def paired_items(kind: ItemKind, cosines: ArrayLike, gold: ArrayLike) -> Items:
    """Return the items of a score of cosines and gold scores: `spearman`, or `auc` with gold scores of 0 or 1."""
    columns = {"cosine": np.asarray(cosines, dtype=np.float64), "gold": np.asarray(gold, dtype=np.float64)}
    return Items(kind, columns)


def agreement_items(kind: str, classes: ArrayLike, runs: Sequence[ArrayLike]) -> Items:
    """Return the items of the mean agreement of several clusterings with classes."""
    labels = {"class": classes, **{f"clusters_{number}": run for number, run in enumerate(runs)}}
    numbers = {name: np.unique(np.asarray(column), return_inverse=True)[1] for name, column in labels.items()}
    return Items(cast(ItemKind, kind), {name: column.astype(np.float64) for name, column in numbers.items()})


def auc_contributions(cosines: Floats, positive: Floats) -> Floats:
    """Return contributions whose mean is the AUC: the placement of each row among those of the other class.

    References: DeLong et al. 1988.
    """
    from scipy.stats import rankdata  # import takes a second

    is_positive = positive > 0
    counts = int(is_positive.sum()), int((~is_positive).sum())
    if 0 in counts:
        return np.full(len(cosines), np.nan)
    ranks = rankdata(cosines)
    # A rank among all rows minus that within the class counts the rows of the other class below, ties as halves.
    placements = np.empty(len(cosines))
    placements[is_positive] = (ranks[is_positive] - rankdata(cosines[is_positive])) / counts[1]
    placements[~is_positive] = 1 - (ranks[~is_positive] - rankdata(cosines[~is_positive])) / counts[0]
    area = float(placements[is_positive].mean())
    return area + (placements - area) / (np.where(is_positive, *counts) / len(cosines))


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
    total = float(marginal.mean())
    shared = float(joint.mean())
    if not total:  # one class and one cluster agree
        return np.ones(len(classes))
    change = -2 * (joint - shared) / total + 2 * shared * (marginal - total) / total**2
    return 2 - 2 * shared / total + change


def adjusted_contributions(classes: Floats, clusters: Floats) -> Floats:
    """Return contributions whose mean is the adjusted mutual information.

    The mutual information expected of random clusters is treated as fixed.
    """
    from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

    marginal, joint = _surprisals(classes, clusters)
    total = float(marginal.mean())
    shared = float(joint.mean())
    counts = contingency_matrix(classes, clusters, sparse=True)
    random = expected_mutual_information(counts, len(classes))
    above = total - shared - random
    most = total / 2 - random
    if not most:
        return np.ones(len(classes))
    change = (marginal - total - joint + shared) / most - above * (marginal - total) / (2 * most**2)
    return above / most + change
