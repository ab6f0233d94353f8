"""Sentence pairs with gold similarities, read from one or two files and scored by Spearman's correlation.

Errors name the file and line, or the task and subset.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ease.errors import EaseError
from ease.evaluation.items import correlation_items
from ease.evaluation.metrics import DECIMALS, pairwise_cosine, spearman
from ease.evaluation.tasks import Encode, Score, error_prefix
from ease.io.text_tables import find_columns, read_rows

logger = logging.getLogger(__name__)

PUBLISHED = 250
"""Grades of each track of SemEval 2017; the files of sentences of some tracks have further pairs."""


class GradedPair(NamedTuple):
    """Two sentences and their gold similarity; NaN if ungraded."""

    left: str
    right: str
    gold: float


class GradedColumns(NamedTuple):
    """Columns, by name in a file with a header, else by number from 0; and the range of grades."""

    left: int | str
    right: int | str
    gold: int | str
    lowest: float
    highest: float


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
        raise EaseError(
            f"{place}: the score {gold:g} is outside {lowest:g} to {highest:g}; is it the right column?"
        )
    return gold


def read_graded_pairs(path: Path, columns: GradedColumns) -> list[GradedPair]:
    """Read a tab-separated file of graded pairs."""
    rows = ((number, row) for number, row in read_rows(path, "\t") if row)
    positions: Sequence[int | str] = columns[:3]
    if isinstance(columns.left, str):
        _, header = next(rows, (0, []))
        positions = find_columns(path, [str(name) for name in positions], header)
    pairs = []
    for number, row in rows:
        place = f"{path}, line {number}"
        try:
            left, right, gold = (row[int(position)] for position in positions)
        except IndexError:
            needed = 1 + max(map(int, positions))
            raise EaseError(
                f"{place}: {len(row)} tab-separated columns instead of at least {needed}."
            ) from None
        pairs.append(GradedPair(left, right, parse_gold(gold, columns.lowest, columns.highest, place)))
    if not pairs:
        raise EaseError(f"{path}: contains no sentence pair.")
    return pairs


def read_paired_files(sentences: Path, grades: Path) -> list[GradedPair]:
    """Read SemEval's format: a file of pairs, whose further columns are sources, and one of grades from 0 to 5."""
    left, right = list(read_rows(sentences, "\t")), list(read_rows(grades, "\t"))
    while left and not left[-1][1]:
        left.pop()
    # Up to the number of pairs, a blank line is a pair without a grade.
    while right and not right[-1][1] and len(right) not in (len(left), min(len(left), PUBLISHED)):
        right.pop()
    if not left:
        raise EaseError(f"{sentences}: contains no sentence pair.")
    if len(left) > len(right) == PUBLISHED:
        _note_ungraded(sentences, len(left))
        left = left[:PUBLISHED]
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
        gold = parse_gold("".join(grade[:1]), 0, 5, f"{grades}, line {grade_number}")
        pairs.append(GradedPair(row[0], row[1], gold))
    return pairs


@cache
def _note_ungraded(sentences: Path, count: int) -> None:
    """Log once that a file has more pairs than grades."""
    logger.info("%s: the first %d of %d pairs are graded, and scored", sentences, PUBLISHED, count)


def graded_only(pairs: Sequence[GradedPair]) -> list[GradedPair]:
    """Return the pairs that have a grade."""
    return [pair for pair in pairs if not math.isnan(pair.gold)]


def texts_of(pairs: Sequence[GradedPair]) -> list[tuple[str, ...]]:
    """Return the texts of the graded pairs, in order."""
    return [(pair.left, pair.right) for pair in graded_only(pairs)]


def compare_pairs(
    encode: Encode, pairs: Sequence[GradedPair], task: str, subset: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines and grades of the graded pairs, in order: 2 x (graded,); log how many pairs are ungraded."""
    graded = graded_only(pairs)
    if not graded:
        raise EaseError(f"{task} {subset}: none of {len(pairs)} sentence pairs has a gold score.")
    if ungraded := len(pairs) - len(graded):
        logger.info("%s %s: %d of %d pairs have no gold score", task, subset, ungraded, len(pairs))
    cosines = pair_cosines(encode, graded, f"{task} {subset}")
    return cosines, np.array([pair.gold for pair in graded])


def pair_cosines(
    encode: Encode, pairs: Sequence[GradedPair], place: str, block: int | None = None
) -> NDArray[np.float64]:
    """Return the cosine of each pair, (pairs,), to be ranked: computed a block at a time, rounded to `DECIMALS`.

    Errors begin with `place`.
    """
    cosines, size = [], block or len(pairs)
    for part in (pairs[start : start + size] for start in range(0, len(pairs), size)):
        left, right = np.split(encode([pair.left for pair in part] + [pair.right for pair in part]), 2)
        with error_prefix(place):
            cosines.append(pairwise_cosine(left, right).round(DECIMALS))
    return np.concatenate(cosines)


def score_cosines(
    cosines: ArrayLike,
    grades: ArrayLike,
    task: str,
    subset: str,
    texts: Sequence[tuple[str, ...]] | None = None,
) -> Score:
    """Spearman's correlation, in points, of cosines with grades (section 4.1); `texts` are those of the pairs."""
    with error_prefix(f"{task} {subset}"):
        value = 100 * spearman(cosines, grades)
    logger.info("%s %s: Spearman %.1f over %d pairs", task, subset, value, np.size(grades))
    return Score(task, subset, "spearman", value, items=correlation_items(cosines, grades, texts))


def score_graded_sets(encode: Encode, sets: Mapping[str, Sequence[GradedPair]], task: str) -> list[Score]:
    """Spearman's correlation, in points, of the pairs' cosines with their grades, for each subset (section 4.1)."""
    return [
        score_cosines(*compare_pairs(encode, pairs, task, subset), task, subset, texts_of(pairs))
        for subset, pairs in sets.items()
    ]
