"""Retrieval of translations in any aligned text files, such as TED2020, which selects DuEAM's models (section 5)."""

from __future__ import annotations

import logging
from pathlib import Path

from pydantic import Field

from ease.evaluation.tasks import Encode, Files, Score, available_subsets, averages
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.parallel import METRIC, Sides, distinct_pairs, score_retrieval
from ease.io.text_tables import read_parallel_lines

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files", "read_parallel"]

logger = logging.getLogger(__name__)

TASK = "parallel_files"
KIND = "BitextMining"
SOURCE = (
    "https://opus.nlpl.eu/TED2020: the plain files of each pair, TED2020.de-en.{de,en} (CC BY-NC-ND 4.0), or your own: "
    "two files whose lines i are translations"
)


class Options(SubsetOptions):
    """The folder of the files, the two files of each language pair, and the number of sentences."""

    pairs: dict[str, tuple[Path, Path]] = Field(
        min_length=1,
        description="the two aligned files of each subset, below `path`; subsets are named like de-en",
    )
    sentences: int | None = Field(
        1000,
        ge=2,
        description="pairs of sentences to read of each subset, the first distinct ones; null: all",
    )


def files(options: Options) -> Files:
    """Both files of each pair."""
    return options.select(
        {subset: tuple(options.path / file for file in pair) for subset, pair in options.pairs.items()}
    )


def read_sides(paths: tuple[Path, ...], most: int | None) -> Sides:
    """Read the first distinct pairs of two aligned files."""
    first, second = paths
    rows = ((left, right) for _, (left, right) in read_parallel_lines([first, second]))
    return distinct_pairs(rows, most, f"{first} and {second}")


def read_parallel(options: Options, subset: str) -> tuple[list[str], list[str]]:
    """Read both sides of a subset such as de-en."""
    chosen = options.model_copy(update={"subsets": (subset,)})
    return read_sides(available_subsets(files(chosen))[subset], options.sentences)


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Retrieval accuracy of each pair of files, both directions averaged, and its average over the pairs."""
    sides = {
        subset: read_sides(paths, options.sentences)
        for subset, paths in available_subsets(files(options)).items()
    }
    scores = [score_retrieval(encode, TASK, subset, pair) for subset, pair in sides.items()]
    means = averages(scores, len(options.chosen(options.pairs)))
    logger.info("%s: %.1f of 100 retrieved, %d pairs of files", TASK, means[0].value, len(scores))
    return [*scores, *means]
