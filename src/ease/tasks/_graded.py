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
    """Where a tab-separated file holds a pair, columns counted from 0, and the range of its grades."""

    left: int
    right: int
    gold: int
    lowest: float
    highest: float
    header: Sequence[str] | None = None
    """The first line's column names, which are checked; None where the file begins with its first pair."""


def parse_gold(text: str, lowest: float, highest: float, place: str) -> float:
    """Read a grade; a blank one is NaN.

    Raises:
        EaseError: If it is no number or lies outside the range.
    """
    if not text.strip():
        return math.nan
    try:
        gold = float(text)
    except ValueError:
        raise EaseError(f"{place}: the score {text!r} is not a number; is it the right column?") from None
    if not math.isnan(gold) and not lowest <= gold <= highest:
        raise EaseError(f"{place}: the score {text} is outside {lowest:g} to {highest:g}; is it the right column?")
    return gold


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The numbered, non-blank lines of a tab-separated file; its quotation marks are text (LF and CRLF, BOM or none)."""
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


def read_graded_pairs(path: Path, columns: GradedColumns) -> list[GradedPair]:
    """Read a tab-separated file of graded pairs.

    Raises:
        EaseError: Naming the file and the line, if it cannot be read, a column is missing or a grade is no number.
    """
    needed = max(columns.left, columns.right, columns.gold) + 1
    pairs = []
    for index, (number, row) in enumerate(_rows(path)):
        if index == 0 and columns.header is not None:
            missing = [name for name in columns.header if name not in row]
            if missing:
                raise EaseError(f"{path}, line {number}: column {', '.join(missing)} is missing; it has {row}.")
            continue
        if len(row) < needed:
            raise EaseError(f"{path}, line {number}: {len(row)} columns instead of at least {needed}, tab-separated.")
        gold = parse_gold(row[columns.gold], columns.lowest, columns.highest, f"{path}, line {number}")
        pairs.append(GradedPair(row[columns.left], row[columns.right], gold))
    if not pairs:
        raise EaseError(f"{path}: holds no sentence pair.")
    return pairs


def score_graded_pairs(encode: Encode, pairs: Sequence[GradedPair], task: str, subset: str) -> Score:
    """Spearman's correlation, in points, of the pairs' cosines with their grades (section 4.1)."""
    left = encode([pair.left for pair in pairs])
    right = encode([pair.right for pair in pairs])
    correlation = cosine_spearman(left, right, [pair.gold for pair in pairs])
    logger.info(
        "%s %s: Spearman %.1f over %d pairs (%d without a gold score left out)",
        *(task, subset, 100 * correlation.value, correlation.scored, correlation.unscored),
    )
    return Score(task, subset, "spearman", 100 * correlation.value)
