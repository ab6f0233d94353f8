"""Clustering of eight English sets of short texts (section 4.1 and Table 15 of EASE; Zhang et al., 2021)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.clusters import METRIC, ClusteringOptions, score_cluster_sets
from ease.evaluation.tasks.components.labelled_texts import (
    LabelledTexts,
    collect_texts,
    read_objects,
    read_paired,
    read_tab_separated,
)

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

KIND = "Clustering"
SOURCE = (
    "https://github.com/studio-ousia/ease, folder downstreams/text-clustering/data/monolingual_benchmark (sets of "
    "Rakib et al., 2020, and Xu et al., 2017; no licence stated: for research)"
)
FILES = {
    "agnews": ("agnews.txt",),
    "biomedical": ("biomedical.txt", "biomedical_label.txt"),
    "googlenews-s": ("s.txt",),
    "googlenews-t": ("t.txt",),
    "googlenews-ts": ("ts.txt",),
    "searchsnippets": ("searchsnippets.txt", "searchsnippets_label.txt"),
    "stackoverflow": ("stackoverflow.txt", "stackoverflow_label.txt"),
    "tweet": ("tweet.txt",),
}


class Options(ClusteringOptions):
    """The folder of agnews.txt and the others, the subsets to score, and options of k-means."""


def files(options: Options) -> Files:
    """One file per set, or two if the labels are in a separate file."""
    return options.select(
        {subset: tuple(options.path / file for file in names) for subset, names in FILES.items()}
    )


def read_set(subset: str, paths: tuple[Path, ...]) -> LabelledTexts:
    """Read a set in its published format: JSON lines, paired lines, or a label, a tab and a text."""
    if subset == "tweet":
        rows = read_objects(paths[0], ["cluster", "text"])
        return collect_texts(paths[0], ((place, row["cluster"], row["text"]) for place, row in rows))
    return read_paired(*paths) if len(paths) == 2 else read_tab_separated(paths[0])


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Accuracy, V-measure and AMI of k-means on each set, and their averages."""
    found = available_subsets(files(options))
    readers = {subset: partial(read_set, subset, paths) for subset, paths in found.items()}
    return score_cluster_sets(encode, readers, "stc", options, len(FILES))
