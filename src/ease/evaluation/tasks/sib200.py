"""SIB-200: clustering of sentences by seven topics in 205 languages (Adelani et al., 2024).

As in MTEB, the sentences of all splits are clustered together.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.clusters import METRIC, ClusteringOptions, score_cluster_sets
from ease.evaluation.tasks.components.flores_languages import SIB
from ease.evaluation.tasks.components.labelled_texts import LabelledTexts, collect_texts
from ease.io.text_tables import read_records

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

TASK = "sib200"
KIND = "Clustering"
SOURCE = (
    "https://github.com/dadelani/sib-200, folder data/annotated: {ace_Arab,...,zul_Latn}/{train,dev,test}.tsv "
    "(CC BY-SA 4.0)"
)
SPLITS = ("train", "dev", "test")


class Options(ClusteringOptions):
    """The folder of the languages' folders, the languages to score, and options of k-means."""


def files(options: Options) -> Files:
    """The three splits of each language."""
    return {
        code: tuple(options.path / code / f"{split}.tsv" for split in SPLITS) for code in options.chosen(SIB)
    }


def read_language(paths: tuple[Path, ...]) -> LabelledTexts:
    """Read tab-separated files with the columns category and text."""
    rows = (
        (place, row["category"], row["text"])
        for path in paths
        for place, row in read_records(path, ("category", "text"), "\t")
    )
    return collect_texts(paths[0].parent, rows)


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy, V-measure and adjusted mutual information of k-means on each language, and their averages."""
    found = available_subsets(files(options))
    readers = {code: partial(read_language, paths) for code, paths in found.items()}
    return score_cluster_sets(encode, readers, TASK, options, len(SIB))
