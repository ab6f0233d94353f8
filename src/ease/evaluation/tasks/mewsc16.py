"""MewsC-16: clustering of first sentences of Wikinews articles by topic in 16 languages (section 5.2, Table 3)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pydantic import Field

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.clusters import METRIC, ClusteringOptions, score_cluster_sets
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts, collect_texts, read_paired
from ease.evaluation.tasks.components.parquet import read_columns
from ease.wikimedia.languages import MEWSC16_LANGUAGES

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

KIND = "Clustering"
SOURCE = (
    "https://github.com/studio-ousia/ease, folder downstreams/text-clustering/data/mewsc16, or made from Wikinews "
    "dumps by the pipeline `mewsc16` (Wikinews' text is CC BY)"
)
COLUMNS = pa.schema([("sentence", pa.string()), ("category", pa.string())])


class Options(ClusteringOptions):
    """The folder of the languages' files, the languages and the split to score, and options of k-means."""

    split: Literal["all", "small", "earlier", "recent"] = Field(
        "all",
        description="split of the edition `clean`: balanced and small, or the articles before or since a day",
    )


def files(options: Options) -> Files:
    """Each language's `{language}.parquet` if it exists, else its two text files."""
    return {
        language: _language_files(options.path, language, options.split)
        for language in options.chosen(MEWSC16_LANGUAGES)
    }


def _language_files(folder: Path, language: str, split: str) -> tuple[Path, ...]:
    if split != "all":
        return (folder / f"{language}_{split}.parquet",)
    table = folder / f"{language}.parquet"
    if table.exists():
        return (table,)
    return folder / f"{language}_sentences.txt", folder / f"{language}_categories.txt"


def read_language(paths: tuple[Path, ...]) -> LabelledTexts:
    """Read the sentences of a language with their topics; blank sentences are skipped and counted."""
    if len(paths) == 2:
        return read_paired(*paths)
    (table,) = paths
    rows = enumerate(read_columns(table, COLUMNS).to_pylist(), start=1)
    return collect_texts(
        table, ((f"{table}, row {number}", row["category"], row["sentence"]) for number, row in rows)
    )


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy, V-measure and AMI of k-means on each language, and their averages over the 16."""
    found = available_subsets(files(options))
    readers = {language: partial(read_language, paths) for language, paths in found.items()}
    return score_cluster_sets(encode, readers, "mewsc16", options, len(MEWSC16_LANGUAGES))
