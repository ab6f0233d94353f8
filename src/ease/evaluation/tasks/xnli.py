"""Retrieval of translations among the sentences of XNLI, which 15 languages share (Conneau et al., 2018).

mSimCSE's analyses of languages use these sentences: Table 7 and Figure 1.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, averages
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.parallel import METRIC, Sides, distinct_pairs, score_retrieval
from ease.io.text_tables import read_records

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files", "read_parallel"]

logger = logging.getLogger(__name__)

TASK = "xnli"
KIND = "BitextMining"
SOURCE = "https://dl.fbaipublicfiles.com/XNLI/XNLI-15way.zip: xnli.15way.orig.tsv (CC BY-NC 4.0)"
FILE = "xnli.15way.orig.tsv"
LANGUAGES = tuple("ar bg de el en es fr hi ru sw th tr ur vi zh".split())
PIVOT = "en"
PAIRS = tuple(f"{language}-{PIVOT}" for language in LANGUAGES if language != PIVOT)


class Options(SubsetOptions):
    """The folder of xnli.15way.orig.tsv, the language pairs to score, such as sw-en, and the number of sentences."""

    sentences: int | None = Field(
        1000,
        ge=2,
        description="sentences to score of each language, the first distinct ones; null: all 10,000",
    )


def files(options: Options) -> Files:
    """The one file of all languages, for each pair."""
    return options.select(dict.fromkeys(PAIRS, (options.path / FILE,)))


def read_sides(options: Options, languages: Sequence[str], most: int | None) -> Sides:
    """Read the distinct sentences of two languages."""
    first, second = languages
    path = options.path / FILE
    rows = ((row[first], row[second]) for _, row in read_records(path, (first, second), "\t"))
    return distinct_pairs(rows, most, str(path))


def read_parallel(options: Options, subset: str) -> tuple[list[str], list[str]]:
    """Read all sentences of two languages, such as sw-en or de-fr."""
    languages = subset.split("-")
    if len(languages) != 2 or not set(languages) <= set(LANGUAGES):
        raise EaseError(
            f"{TASK} has no languages {subset!r}: name two of {', '.join(LANGUAGES)}, such as sw-en."
        )
    return read_sides(options, languages, None)


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Retrieval accuracy between each language and English, both directions averaged, and its average."""
    sides = {
        pair: read_sides(options, pair.split("-"), options.sentences)
        for pair in available_subsets(files(options))
    }
    scores = [score_retrieval(encode, TASK, pair, both) for pair, both in sides.items()]
    means = averages(scores, len(PAIRS))
    logger.info("%s: %.1f of 100 retrieved, %d language pairs", TASK, means[0].value, len(scores))
    return [*scores, *means]
