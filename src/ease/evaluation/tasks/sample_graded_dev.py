"""Graded English pairs of the sample wiki for model selection, about other facts than `sample_graded`."""

from __future__ import annotations

from ease.evaluation.tasks import Encode, Score, sample_graded
from ease.evaluation.tasks.components.graded_pairs import score_graded_pairs

METRIC = sample_graded.METRIC
SOURCE = "the pipeline `acquire_evaluation`, which writes it if `path` is `sample:graded_dev`"

Options = sample_graded.Options
files = sample_graded.files
read_pairs = sample_graded.read_pairs


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades."""
    pairs = read_pairs(options)[sample_graded.SUBSET]
    return [score_graded_pairs(encode, pairs, "sample_graded_dev", sample_graded.SUBSET)]
