"""Pairs of sentences with a label of two classes, scored by the area under the ROC curve of their cosines.

A pair's grade is 1 for the positive class and 0 for the negative one. Without training, as in Mirror-BERT (section 3,
after Li et al., 2020).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.items import paired_items
from ease.evaluation.tasks import Score, TaskOptions
from ease.evaluation.tasks.graded_pairs import GradedPair, GradedPairs, pair_cosines
from ease.evaluation.tasks.set_files import TableOptions, required

logger = logging.getLogger(__name__)

BLOCK = 8192
"""Pairs encoded at once."""


class BinaryOptions(TableOptions):
    """Options of labelled pairs."""

    labels: dict[str, bool] = Field(description="whether each label is the positive class")
    blanks: Literal["refuse", "skip"] = Field("refuse", description="what to do with pairs with a blank text")


class BinaryPairs(GradedPairs):
    """Labelled pairs."""

    KIND = "PairClassification"
    METRICS = ("auc",)
    Options: ClassVar[type[TaskOptions]] = BinaryOptions

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> list[list[GradedPair]]:
        """Read the pairs of a set as one part."""
        pairs, skipped = [], 0
        for place, row in self.rows(options, subset, paths):
            if row["label"] not in options.labels:
                raise EaseError(
                    f"{place}: the label {row['label']!r} is not one of {', '.join(options.labels)}."
                )
            if options.blanks == "skip" and not (row["left"] and row["right"]):
                skipped += 1
                continue
            left, right = required(place, row, "left", "right")
            pairs.append(GradedPair(left, right, float(options.labels[row["label"]])))
        if skipped:
            logger.info("%s: %d pairs with a blank text are skipped", paths[0], skipped)
        if len({pair.gold for pair in pairs}) < 2:
            raise EaseError(f"{paths[0]}: all {len(pairs)} pairs have one label; a ROC curve needs both.")
        return [pairs]

    def texts(self, options: Any, data: Any) -> dict[str, list[tuple[str, ...]]]:
        """Return both texts of each pair."""
        return {"auc": [(pair.left, pair.right) for pair in data[0]]}

    def score(self, encode: Encode, options: Any, subset: str, data: Any) -> Iterator[Score]:
        """Area under the ROC curve of the pairs' cosines, in points; 50 is chance."""
        from sklearn.metrics import roc_auc_score

        (pairs,) = data
        cosines = pair_cosines(encode, pairs, block=BLOCK)
        positive = [pair.gold > 0 for pair in pairs]
        area = float(roc_auc_score(positive, cosines))
        logger.info("%s %s: AUC %.1f over %d pairs", self.name, subset, 100 * area, len(pairs))
        yield Score(self.name, subset, "auc", 100 * area, items=paired_items("auc", cosines, positive))


TASK = BinaryPairs
