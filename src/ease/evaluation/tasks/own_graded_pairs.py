"""Your own pairs of texts with similarity grades, from files with columns (docs/own_data.md)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, averages
from ease.evaluation.tasks.components.graded_pairs import GradedPair, parse_gold, score_graded_sets
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.own_files import (
    OwnSet,
    read_own_rows,
    require_own,
    required,
    select_own,
)
from ease.io.models import StrictModel

TASK, METRIC = "own_graded_pairs", "spearman"
KIND = "STS"
SOURCE = "nobody: the files are your own, and `tasks.own_graded_pairs.sets` names them"


class Columns(StrictModel):
    """Names of the columns."""

    left: str = Field("sentence1", description="column of the first text")
    right: str = Field("sentence2", description="column of the second text")
    score: str = Field("score", description="column of the grade; a blank grade skips the pair")


class GradedSet(OwnSet):
    """A file of graded pairs."""

    columns: Columns = Field(Columns(), description="names of the columns")
    lowest: float = Field(float("-inf"), description="lowest possible grade")
    highest: float = Field(float("inf"), description="highest possible grade")


class Options(SubsetOptions):
    """The folder of the files, the sets to score, and the sets."""

    sets: dict[str, GradedSet] = Field({}, description="files of pairs, by the names of the sets")


def files(options: Options) -> Files:
    """One file per set."""
    return select_own(options, options.sets, TASK)


def read_pairs(options: Options) -> dict[str, list[GradedPair]]:
    """Read each set whose file exists."""
    found = available_subsets(require_own(files(options), TASK))
    return {name: read_set(path, options.sets[name]) for name, (path,) in found.items()}


def read_set(path: Path, chosen: GradedSet) -> list[GradedPair]:
    """Read a file of graded pairs.

    Raises:
        EaseError: If a column or a text is missing, a grade is not a number or outside its range, or all are equal.
    """
    columns = chosen.columns.model_dump()
    pairs = []
    for place, row in read_own_rows(path, columns):
        left, right = required(place, row, columns, "left", "right")
        gold = parse_gold(
            row["score"], chosen.lowest, chosen.highest, f"{place}, column {columns['score']!r}"
        )
        pairs.append(GradedPair(left, right, gold))
    if len({pair.gold for pair in pairs}) < 2:
        raise EaseError(
            f"{path}: the {len(pairs)} pairs have no two different grades; is it the right column?"
        )
    return pairs


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades of each set, and the mean over the sets."""
    scores = score_graded_sets(encode, read_pairs(options), TASK)
    return [*scores, *averages(scores, len(options.chosen(options.sets)))]
