"""MasakhaNEWS: clustering of headlines by topic in 16 languages spoken in Africa (Adelani et al., 2023)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.clusters import METRIC, ClusteringOptions, score_cluster_sets
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts, collect_texts
from ease.io.text_tables import read_records

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

TASK = "masakhanews"
KIND = "Clustering"
SOURCE = (
    "https://github.com/masakhane-io/masakhane-news, folder data: {amh,...,yor}/test.tsv (CC BY-NC 4.0; the news are "
    "their publishers')"
)
LANGUAGES = tuple("amh eng fra hau ibo lin lug orm pcm run sna som swa tir xho yor".split())


class Options(ClusteringOptions):
    """The folder of the languages' folders, the languages to score, and options of k-means."""


def files(options: Options) -> Files:
    """The test file of each language."""
    return {code: (options.path / code / "test.tsv",) for code in options.chosen(LANGUAGES)}


def read_headlines(path: Path) -> LabelledTexts:
    """Read a tab-separated file, whose long texts are in quotation marks, with the columns category and headline."""
    rows = read_records(path, ("category", "headline"), "\t", quoted=True)
    return collect_texts(path, ((place, row["category"], row["headline"]) for place, row in rows))


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy, V-measure and adjusted mutual information of k-means on each language's headlines, and averages."""
    found = available_subsets(files(options))
    readers = {code: partial(read_headlines, path) for code, (path,) in found.items()}
    return score_cluster_sets(encode, readers, TASK, options, len(LANGUAGES))
