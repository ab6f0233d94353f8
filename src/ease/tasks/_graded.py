"""Sentence pairs with gold similarities: read from tab-separated files, scored by Spearman's correlation."""

from __future__ import annotations

import csv
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ease.errors import EaseError
from ease.metrics import cosine_spearman
from ease.tasks import Encode, Score

logger = logging.getLogger(__name__)


class GradedPair(NamedTuple):
    """Two sentences and how alike people found them; NaN where nobody graded them."""

    left: str
    right: str
    gold: float


@dataclass(frozen=True)
class GradedColumns:
    """Where a tab-separated file holds a pair, and the range of its grades.

    Columns are numbers from 0 in a file that begins with its first pair, names in one whose first line names
    them.
    """

    left: int | str
    right: int | str
    gold: int | str
    lowest: float
    highest: float


def check_gold(gold: float, lowest: float, highest: float, place: str) -> float:
    """Refuse a grade outside its range: most often another column was read. NaN, ungraded, may pass."""
    if not math.isnan(gold) and not lowest <= gold <= highest:
        raise EaseError(
            f"{place}: the score {gold:g} is outside {lowest:g} to {highest:g}; is it the right column?"
        )
    return gold


def _parse_gold(text: str, columns: GradedColumns, place: str) -> float:
    """Read a grade; a blank one is NaN."""
    if not text.strip():
        return math.nan
    try:
        gold = float(text)
    except ValueError:
        raise EaseError(f"{place}: the score {text!r} is not a number; is it the right column?") from None
    return check_gold(gold, columns.lowest, columns.highest, place)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The numbered, non-blank lines of a tab-separated file, whose quotation marks are plain text."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            for row in reader:
                if row:
                    yield reader.line_num, row
    except OSError as error:
        raise EaseError(f"{path}: cannot be read ({error.strerror}); set the task's `path`.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise EaseError(f"{path}: not a tab-separated UTF-8 text ({error}).") from error


def _find_columns(columns: GradedColumns, header: list[str], place: str) -> list[int]:
    """Turn column names into numbers by the first line of the file."""
    names = [str(name) for name in (columns.left, columns.right, columns.gold)]
    missing = [name for name in names if name not in header]
    if missing:
        raise EaseError(f"{place}: no column {', '.join(missing)} among {', '.join(header)}.")
    return [header.index(name) for name in names]


def read_graded_pairs(path: Path, columns: GradedColumns) -> list[GradedPair]:
    """Read a tab-separated file of graded pairs.

    Raises:
        EaseError: Naming the file and line, if it cannot be read, lacks a column or a grade is no number.
    """
    pairs = []
    positions = [columns.left, columns.right, columns.gold]
    named = isinstance(columns.left, str)
    for index, (number, row) in enumerate(_rows(path)):
        place = f"{path}, line {number}"
        if named and index == 0:
            positions = [*_find_columns(columns, row, place)]
            continue
        try:
            left, right, gold = (row[int(position)] for position in positions)
        except IndexError:
            needed = 1 + max(map(int, positions))
            raise EaseError(
                f"{place}: {len(row)} tab-separated columns instead of at least {needed}."
            ) from None
        pairs.append(GradedPair(left, right, _parse_gold(gold, columns, place)))
    if not pairs:
        raise EaseError(f"{path}: holds no sentence pair.")
    return pairs


def score_graded_pairs(encode: Encode, pairs: Sequence[GradedPair], task: str, subset: str) -> Score:
    """Spearman's correlation, in points, of the pairs' cosines with their grades (section 4.1)."""
    left = encode([pair.left for pair in pairs])
    right = encode([pair.right for pair in pairs])
    try:
        correlation = cosine_spearman(left, right, [pair.gold for pair in pairs])
    except EaseError as error:
        raise EaseError(f"{task} {subset}: {error}") from error
    logger.info(
        "%s %s: Spearman %.1f over %d pairs (%d without a gold score left out)",
        *(task, subset, 100 * correlation.value, correlation.scored, correlation.unscored),
    )
    return Score(task, subset, "spearman", 100 * correlation.value)
