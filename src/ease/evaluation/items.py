"""The contribution of each test item to a score, from which the score of a subset of the items can be computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.errors import EaseError

Floats = NDArray[np.float64]
Kind = Literal["ratio", "spearman", "auc", "v_measure", "adjusted_mutual_information"]
NUMERATOR, DENOMINATOR = "numerator", "denominator"
LEFT, GOLD, CLASSES, CLUSTERS = "cosine", "gold", "class", "clusters"


@dataclass(frozen=True, eq=False)
class Items:
    """Numbers of the items of a test set, one array of equal length for each column.

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

        cosines, gold = self.columns[LEFT], self.columns[GOLD]
        if np.ptp(cosines) == 0 or np.ptp(gold) == 0:
            return 0.0 if np.ptp(gold) else float("nan")
        return 100 * float(np.corrcoef(rankdata(cosines), rankdata(gold))[0, 1])

    def contributions(self) -> tuple[Floats, Floats]:
        """Return what each item adds to the numerator and to the denominator of the score, (items,) each.

        An AUC and an agreement of clusters with classes are linear in the items to first order: the mean of these
        contributions is the score.
        """
        if self.kind == "ratio":
            numerators = self.columns[NUMERATOR]
            return numerators, self.columns.get(DENOMINATOR, np.ones(len(self)))
        if self.kind == "auc":
            return auc_contributions(self.columns[LEFT], self.columns[GOLD]), np.ones(len(self))
        if self.kind in ("v_measure", "adjusted_mutual_information"):
            from ease.evaluation.clustering import CONTRIBUTIONS  # scikit-learn takes long to import

            runs = [column for name, column in self.columns.items() if name.startswith(CLUSTERS)]
            each = [CONTRIBUTIONS[self.kind](self.columns[CLASSES], clusters) for clusters in runs]
            return np.mean(each, axis=0), np.ones(len(self))
        raise EaseError(f"A score of the kind {self.kind!r} is not a sum over items.")


def mean_items(values: ArrayLike, denominators: ArrayLike | None = None) -> Items:
    """Return the items of a mean of values (0 to 1), or of the ratio of two sums."""
    columns = {NUMERATOR: np.asarray(values, dtype=np.float64)}
    if denominators is not None:
        columns[DENOMINATOR] = np.asarray(denominators, dtype=np.float64)
    return Items("ratio", columns)


def paired_items(kind: Kind, cosines: ArrayLike, gold: ArrayLike) -> Items:
    """Return the items of a score of cosines and gold scores: `spearman`, or `auc` with gold scores of 0 or 1."""
    columns = {LEFT: np.asarray(cosines, dtype=np.float64), GOLD: np.asarray(gold, dtype=np.float64)}
    return Items(kind, columns)


def agreement_items(kind: str, classes: ArrayLike, runs: Sequence[ArrayLike]) -> Items:
    """Return the items of the mean agreement of several clusterings with classes."""
    columns = {CLASSES: _numbered(classes)}
    columns |= {f"{CLUSTERS}_{number}": _numbered(run) for number, run in enumerate(runs)}
    return Items(cast(Kind, kind), columns)


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
    shares = np.where(chosen, counts[0], counts[1]) / len(cosines)
    return area + (placements - area) / shares


def _numbered(labels: ArrayLike) -> Floats:
    """Number the distinct labels."""
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.float64)
