"""Sentence pairs, scored by the agreement of their cosines with gold similarities, or with labels of two classes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.items import paired_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import TaskOptions, Texts, error_prefix
from ease.evaluation.tasks.set_files import SetFiles, TableOptions, TableTask, required
from ease.io.text_tables import read_rows
from ease.similarity.encode import Encode
from ease.similarity.metrics import spearman
from ease.similarity.vectors import DECIMALS, pairwise_cosine

logger = logging.getLogger(__name__)

SPEARMAN = "spearman"
PART_MEAN = "spearman_part_mean"
AUC = "auc"
TRACK_PAIRS = 250
"""Grades of each track of SemEval 2017; the files of sentences of some tracks have further pairs."""
PAIR_BLOCK = 8192
"""Labelled pairs encoded at once: QQP has hundreds of thousands"""


class GradedPair(NamedTuple):
    """Two sentences and their gold similarity; NaN if ungraded."""

    left: str
    right: str
    gold: float


class GradedSet(SetFiles):
    """A file of graded pairs."""

    lowest: float = Field(float("-inf"), description="lowest possible grade")
    highest: float = Field(float("inf"), description="highest possible grade")


class GradedPairsOptions(TableOptions, GradedSet):
    """Options of graded pairs; a blank grade skips the pair."""

    sets: Mapping[str, GradedSet] = Field({}, description="sets by name, with what differs from the task's own files")


class GradedPairs(TableTask):
    """Spearman's correlation of graded pairs (section 4.1); sets of several parts also have the mean of the parts'."""

    TYPE = "STS"
    METRICS: ClassVar[tuple[str, ...]] = (SPEARMAN, PART_MEAN)
    Options: ClassVar[type[TaskOptions]] = GradedPairsOptions
    options: Any

    def read(self, subset: str, paths: tuple[Path, ...]) -> list[list[GradedPair]]:
        """Read the pairs of each part of a set; a set without parts is one part."""
        form = self.options.form(subset)
        if form.format == "semeval":
            parts = [read_paired_files(*paths[start : start + 2]) for start in range(0, len(paths), 2)]
        else:
            pairs = []
            for place, row in self.rows(subset, paths):
                left, right = required(place, row, "left", "right")
                gold = parse_gold(row["score"], form.lowest, form.highest, place)
                pairs.append(GradedPair(left, right, gold))
            parts = [pairs]
        if len({pair.gold for part in parts for pair in part if not math.isnan(pair.gold)}) < 2:
            raise EaseError(
                f"{paths[0]}: the pairs have no two different grades; is it the right column, and the right file?"
            )
        return parts

    def texts(self, data: list[list[GradedPair]]) -> Mapping[str, Texts]:
        """Return both texts of each graded pair."""
        return {self.METRICS[0]: [(pair.left, pair.right) for part in data for pair in graded_only(part)]}

    def score(self, encode: Encode, subset: str, data: list[list[GradedPair]]) -> Iterator[Score]:
        """Yield the correlation over all pairs in one list and, if there are several parts, its mean over the parts."""
        graded = [graded_only(part) for part in data]
        if ungraded := sum(map(len, data)) - sum(map(len, graded)):
            logger.info("%s %s: %d pairs have no gold score", self.name, subset, ungraded)
        pairs = [pair for part in graded for pair in part]
        cosines = pair_cosines(encode, pairs)
        gold = np.array([pair.gold for pair in pairs])
        yield self._correlation(subset, cosines, gold)
        if len(graded) > 1:
            bounds = pairwise(accumulate(map(len, graded), initial=0))
            parts = [
                self._correlation(f"{subset} {part}", cosines[start:end], gold[start:end])
                for part, (start, end) in zip(self.options.form(subset).parts, bounds, strict=True)
            ]
            yield self.result(subset, PART_MEAN, fmean(part.value for part in parts), parts=tuple(parts))

    def _correlation(self, subset: str, cosines: ArrayLike, gold: ArrayLike) -> Score:
        value = 100 * spearman(cosines, gold)
        return self.result(subset, SPEARMAN, value, items=paired_items("spearman", cosines, gold))


class BinaryOptions(TableOptions):
    """Options of labelled pairs."""

    labels: dict[str, bool] = Field(description="whether each label is the positive class")


class BinaryPairs(GradedPairs):
    """Area under the ROC curve of pairs that are graded 1 (the positive class) or 0.

    Without training, as in Mirror-BERT (section 3, after Li et al., 2020).
    """

    TYPE = "PairClassification"
    METRICS = (AUC,)
    Options: ClassVar[type[TaskOptions]] = BinaryOptions
    options: BinaryOptions

    def read(self, subset: str, paths: tuple[Path, ...]) -> list[list[GradedPair]]:
        """Read the pairs of a set as one part."""
        labels = self.options.labels
        pairs = []
        skipped = 0
        for place, row in self.rows(subset, paths):
            if row["label"] not in labels:
                raise EaseError(f"{place}: the label {row['label']!r} is not one of {', '.join(labels)}.")
            if row["left"] and row["right"]:
                pairs.append(GradedPair(row["left"], row["right"], float(labels[row["label"]])))
            else:
                skipped += 1
        if skipped:
            logger.info("%s: %d pairs with a blank text are skipped", paths[0], skipped)
        if len({pair.gold for pair in pairs}) < 2:
            raise EaseError(f"{paths[0]}: all {len(pairs)} pairs have one label; a ROC curve needs both.")
        return [pairs]

    def score(self, encode: Encode, subset: str, data: list[list[GradedPair]]) -> Iterator[Score]:
        """Yield the area under the ROC curve of the pairs' cosines, in points; 50 is chance."""
        from sklearn.metrics import roc_auc_score

        (pairs,) = data
        cosines = pair_cosines(encode, pairs, block=PAIR_BLOCK)
        positive = [pair.gold > 0 for pair in pairs]
        area = 100 * float(roc_auc_score(positive, cosines))
        yield self.result(subset, AUC, area, items=paired_items("auc", cosines, positive))


def parse_gold(text: str, lowest: float, highest: float, place: str) -> float:
    """Parse a grade, which is NaN if blank; a grade outside its range usually comes from a wrong column."""
    if not text.strip():
        return math.nan
    try:
        gold = float(text)
    except ValueError:
        gold = math.nan
    if not math.isfinite(gold):
        raise EaseError(f"{place}: the score {text!r} is not a number; is it the right column?")
    if not lowest <= gold <= highest:
        raise EaseError(f"{place}: the score {gold:g} is outside {lowest:g} to {highest:g}; is it the right column?")
    return gold


def read_paired_files(sentences: Path, grades: Path) -> list[GradedPair]:
    """Read SemEval's format: a file of pairs, whose further columns are sources, and one of grades from 0 to 5."""
    left = list(read_rows(sentences, "\t"))
    right = list(read_rows(grades, "\t"))
    while left and not left[-1][1]:
        left.pop()
    # Up to the number of pairs, a blank line is a pair without a grade.
    while right and not right[-1][1] and len(right) not in (len(left), min(len(left), TRACK_PAIRS)):
        right.pop()
    if len(left) > len(right) == TRACK_PAIRS:
        left = left[:TRACK_PAIRS]
    if not left or len(left) != len(right):
        raise EaseError(
            f"{sentences} holds {len(left)} sentence pairs and {grades} {len(right)} grades: line i of both belongs "
            "together; fetch both again."
        )
    pairs = []
    for (number, row), (grade_number, grade) in zip(left, right, strict=True):
        if len(row) < 2:
            raise EaseError(f"{sentences}, line {number}: {len(row)} tab-separated columns instead of at least 2.")
        gold = parse_gold("".join(grade[:1]), 0, 5, f"{grades}, line {grade_number}")
        pairs.append(GradedPair(row[0], row[1], gold))
    return pairs


def graded_only(pairs: Sequence[GradedPair]) -> list[GradedPair]:
    """Return the pairs that have a grade."""
    return [pair for pair in pairs if not math.isnan(pair.gold)]


def pair_cosines(
    encode: Encode, pairs: Sequence[GradedPair], place: str = "", block: int | None = None
) -> NDArray[np.float64]:
    """Return the cosine of each pair, (pairs,), to be ranked: computed a block at a time, rounded to `DECIMALS`.

    Errors begin with `place`.
    """
    cosines = []
    size = block or len(pairs)
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        left, right = np.split(encode([pair.left for pair in part] + [pair.right for pair in part]), 2)
        with error_prefix(place) if place else nullcontext():
            cosines.append(pairwise_cosine(left, right).round(DECIMALS))
    return np.concatenate(cosines)
