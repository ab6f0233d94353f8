"""FLORES-200: retrieval of translations between 203 languages and English (NLLB Team, 2022)."""

from __future__ import annotations

from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets, averages, score_subsets
from ease.evaluation.tasks.components.flores_languages import ENGLISH, FLORES
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.parallel import METRIC, Sides, distinct_pairs, score_retrieval
from ease.io.text_tables import read_parallel_lines

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files", "read_parallel"]

TASK = "flores"
KIND = "BitextMining"
SOURCE = (
    "https://dl.fbaipublicfiles.com/nllb/flores200_dataset.tar.gz: flores200_dataset/devtest/"
    "{ace_Arab,...,zul_Latn}.devtest (CC BY-SA 4.0)"
)
PAIRS = {f"{code}-{ENGLISH}": code for code in FLORES if code != ENGLISH}


class Options(SubsetOptions):
    """The folder of ace_Arab.devtest to zul_Latn.devtest, and the pairs to score, such as deu_Latn-eng_Latn."""


def files(options: Options) -> Files:
    """The file of the language and that of English."""
    return {
        pair: tuple(options.path / f"{code}.devtest" for code in (PAIRS[pair], ENGLISH))
        for pair in options.chosen(PAIRS)
    }


def read_sides(paths: tuple[Path, ...]) -> Sides:
    """Read the distinct pairs of lines of two files, of 1,012 lines each."""
    first, second = paths
    rows = ((left, right) for _, (left, right) in read_parallel_lines([first, second]))
    return distinct_pairs(rows, None, f"{first} and {second}")


def read_parallel(options: Options, subset: str) -> tuple[list[str], list[str]]:
    """Read both sides of a pair such as deu_Latn-eng_Latn."""
    chosen = options.model_copy(update={"subsets": (subset,)})
    return read_sides(available_subsets(files(chosen))[subset])


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Retrieval accuracy of each language with English, both directions averaged, and the mean over the languages."""
    scores = score_subsets(
        TASK,
        files(options),
        lambda pair, paths: [score_retrieval(encode, TASK, pair, read_sides(paths))],
    )
    return [*scores, *averages(scores, len(PAIRS))]
