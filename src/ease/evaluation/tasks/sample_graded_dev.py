"""Graded English pairs of the sample wiki for model selection, about other facts than `sample_graded`."""

from __future__ import annotations

from ease.evaluation.tasks import Encode, Score
from ease.evaluation.tasks.components.graded_pairs import score_graded_sets
from ease.evaluation.tasks.sample_graded import METRIC, Options, files, read_pairs

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files", "read_pairs"]

KIND = "STS"
SOURCE = "the pipeline `acquire_evaluation`, which writes it if `path` is `sample:graded_dev`"


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades."""
    return score_graded_sets(encode, read_pairs(options), "sample_graded_dev")
