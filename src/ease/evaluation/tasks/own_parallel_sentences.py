"""Your own sentences with their translations, from files with columns (docs/own_data.md)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from ease.evaluation.tasks import Encode, Files, Score, available_subsets, averages
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.own_files import (
    OwnSet,
    read_own_rows,
    require_own,
    required,
    select_own,
)
from ease.evaluation.tasks.components.parallel import METRIC, Sides, distinct_pairs, score_retrieval
from ease.io.models import StrictModel

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files", "read_parallel"]

TASK = "own_parallel_sentences"
KIND = "BitextMining"
SOURCE = "nobody: the files are your own, and `tasks.own_parallel_sentences.sets` names them"


class Columns(StrictModel):
    """Names of the columns."""

    left: str = Field("sentence1", description="column of the sentence")
    right: str = Field("sentence2", description="column of its translation")


class ParallelSet(OwnSet):
    """A file of parallel sentences."""

    columns: Columns = Field(Columns(), description="names of the columns")
    sentences: int | None = Field(
        None, ge=2, description="number of pairs to read, the first distinct ones; null: all"
    )


class Options(SubsetOptions):
    """The folder of the files, the sets to score, and the sets."""

    sets: dict[str, ParallelSet] = Field(
        {}, description="files of parallel sentences, by the names of the sets"
    )


def files(options: Options) -> Files:
    """One file per set."""
    return select_own(options, options.sets, TASK)


def read_set(path: Path, chosen: ParallelSet) -> Sides:
    """Read the first distinct pairs of a file."""
    columns = chosen.columns.model_dump()
    rows = (required(place, row, columns, "left", "right") for place, row in read_own_rows(path, columns))
    return distinct_pairs(((left, right) for left, right in rows), chosen.sentences, str(path))


def read_parallel(options: Options, subset: str) -> tuple[list[str], list[str]]:
    """Read both sides of a set."""
    (path,) = available_subsets(files(options.model_copy(update={"subsets": (subset,)})))[subset]
    return read_set(path, options.sets[subset])


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Retrieval accuracy of each set, both directions averaged, and the mean over the sets."""
    found = available_subsets(require_own(files(options), TASK))
    sides = {name: read_set(path, options.sets[name]) for name, (path,) in found.items()}
    scores = [score_retrieval(encode, TASK, name, pair) for name, pair in sides.items()]
    return [*scores, *averages(scores, len(options.chosen(options.sets)))]
