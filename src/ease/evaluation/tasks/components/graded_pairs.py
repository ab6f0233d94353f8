"""Sentence pairs with gold similarities, read from one or two files and scored by Spearman's correlation."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.errors import EaseError
from ease.evaluation.metrics import pairwise_cosine, spearman
from ease.evaluation.tasks import Encode, Score, error_prefix
from ease.io.text_tables import find_columns, read_rows

logger = logging.getLogger(__name__)


class GradedPair(NamedTuple):
    """Two sentences and their gold similarity; NaN if ungraded."""

    left: str
    right: str
    gold: float


@dataclass(frozen=True)
class GradedColumns:
    """Columns of a tab-separated file of pairs, and the range of grades.

    Columns are names in a file with a header, and numbers from 0 otherwise.
    """

    left: int | str
    right: int | str
    gold: int | str
    lowest: float
    highest: float


def check_gold(gold: float, lowest: float, highest: float, place: str) -> float:
    """Return a grade that is within its range or NaN; outside it, the column is usually wrong."""
    if not math.isnan(gold) and not lowest <= gold <= highest:
        raise EaseError(
            f"{place}: the score {gold:g} is outside {lowest:g} to {highest:g}; is it the right column?"
        )
    return gold


def _parse_gold(text: str, lowest: float, highest: float, place: str) -> float:
    """Parse a grade; a blank one is NaN."""
    if not text.strip():
        return math.nan
    try:
        gold = float(text)
    except ValueError:
        raise EaseError(f"{place}: the score {text!r} is not a number; is it the right column?") from None
    return check_gold(gold, lowest, highest, place)


def read_graded_pairs(path: Path, columns: GradedColumns) -> list[GradedPair]:
    """Read a tab-separated file of graded pairs.

    Raises:
        EaseError: With the file and line, if the file cannot be read, a column is missing or a grade is not a number.
    """
    pairs = []
    positions = [columns.left, columns.right, columns.gold]
    named = isinstance(columns.left, str)
    filled = ((number, row) for number, row in read_rows(path, "\t") if row)
    for index, (number, row) in enumerate(filled):
        place = f"{path}, line {number}"
        if named and index == 0:
            positions = [*find_columns(path, [str(position) for position in positions], row)]
            continue
        try:
            left, right, gold = (row[int(position)] for position in positions)
        except IndexError:
            needed = 1 + max(map(int, positions))
            raise EaseError(
                f"{place}: {len(row)} tab-separated columns instead of at least {needed}."
            ) from None
        pairs.append(GradedPair(left, right, _parse_gold(gold, columns.lowest, columns.highest, place)))
    if not pairs:
        raise EaseError(f"{path}: holds no sentence pair.")
    return pairs


def read_paired_files(
    sentences: Path, grades: Path, lowest: float = 0, highest: float = 5
) -> list[GradedPair]:
    """Read SemEval's format: a file of sentence pairs (further columns are sources) and a file of grades.

    A blank grade is NaN.

    Raises:
        EaseError: If the files differ in length, or with the file and line, if a column is missing or a grade is not a
            number in the range.
    """
    left, right = list(read_rows(sentences, "\t")), list(read_rows(grades, "\t"))
    while left and not left[-1][1]:
        left.pop()
    while len(right) > len(left) and not right[-1][1]:
        right.pop()
    if not left:
        raise EaseError(f"{sentences}: holds no sentence pair.")
    if len(left) != len(right):
        raise EaseError(
            f"{sentences} holds {len(left)} sentence pairs and {grades} {len(right)} grades: line i of both belongs "
            "together; fetch both again."
        )
    pairs = []
    for (number, row), (grade_number, grade) in zip(left, right, strict=True):
        if len(row) < 2:
            raise EaseError(
                f"{sentences}, line {number}: {len(row)} tab-separated columns instead of at least 2."
            )
        gold = _parse_gold("".join(grade[:1]), lowest, highest, f"{grades}, line {grade_number}")
        pairs.append(GradedPair(row[0], row[1], gold))
    return pairs


def compare_pairs(
    encode: Encode, pairs: Sequence[GradedPair], task: str, subset: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines and grades of the graded pairs, in order: 2 x (graded,); log how many pairs are ungraded.

    Raises:
        EaseError: With task and subset, if no pair is graded or an embedding has no cosine.
    """
    graded = [pair for pair in pairs if not math.isnan(pair.gold)]
    if not graded:
        raise EaseError(f"{task} {subset}: none of {len(pairs)} sentence pairs has a gold score.")
    if len(graded) < len(pairs):
        logger.info(
            "%s %s: %d of %d pairs have no gold score", task, subset, len(pairs) - len(graded), len(pairs)
        )
    embeddings = encode([pair.left for pair in graded] + [pair.right for pair in graded])
    with error_prefix(f"{task} {subset}"):
        cosines = pairwise_cosine(embeddings[: len(graded)], embeddings[len(graded) :])
    return cosines, np.array([pair.gold for pair in graded])


def score_cosines(cosines: ArrayLike, grades: ArrayLike, task: str, subset: str) -> Score:
    """Spearman's correlation, in points, of cosines with grades (section 4.1)."""
    with error_prefix(f"{task} {subset}"):
        correlation = spearman(cosines, grades)
    logger.info(
        "%s %s: Spearman %.1f over %d pairs", task, subset, 100 * correlation.value, correlation.scored
    )
    return Score(task, subset, "spearman", 100 * correlation.value)


def score_graded_pairs(encode: Encode, pairs: Sequence[GradedPair], task: str, subset: str) -> Score:
    """Spearman's correlation, in points, of the pairs' cosines with their grades (section 4.1).

    Raises:
        EaseError: With task and subset, if fewer than 2 pairs are graded, all grades are equal, or one has no cosine.
    """
    return score_cosines(*compare_pairs(encode, pairs, task, subset), task, subset)
