"""Graded English pairs of the sample wiki, held out of its dumps."""

from __future__ import annotations

import pyarrow as pa

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score
from ease.evaluation.tasks.components.graded_pairs import GradedPair, parse_gold, score_graded_sets
from ease.evaluation.tasks.components.options import TaskOptions
from ease.evaluation.tasks.components.parquet import read_columns

METRIC = "spearman"
KIND = "STS"
SOURCE = "the pipeline `acquire_evaluation`, which writes it if `path` is `sample:graded`"
COLUMNS = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])


class Options(TaskOptions):
    """The Parquet file with the columns sentence1, sentence2 and score (0 to 5)."""


def files(options: Options) -> Files:
    """The one file."""
    return {"en": (options.path,)}


def read_pairs(options: Options) -> dict[str, list[GradedPair]]:
    """Read the pairs."""
    pairs = []
    for number, row in enumerate(read_columns(options.path, COLUMNS).to_pylist(), start=1):
        place = f"{options.path}, row {number}"
        left, right, score = row.values()
        if left is None or right is None:
            raise EaseError(f"{place}: a sentence is missing; make the file again.")
        pairs.append(GradedPair(left, right, parse_gold("" if score is None else str(score), 0, 5, place)))
    if not pairs:
        raise EaseError(f"{options.path}: contains no sentence pair.")
    return {"en": pairs}


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades."""
    return score_graded_sets(encode, read_pairs(options), "sample_graded")
