"""STS Benchmark: English sentence pairs graded 0 to 5 (Cer et al., 2017)."""

from __future__ import annotations

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components import graded_pairs as graded
from ease.evaluation.tasks.components.options import SubsetOptions

METRIC = "spearman"
KIND = "STS"
SOURCE = "https://ixa2.si.ehu.eus/stswiki: Stsbenchmark.tar.gz, which holds sts-{train,dev,test}.csv (CC BY-SA 4.0)"
COLUMNS = graded.GradedColumns(left=5, right=6, gold=4, lowest=0, highest=5)


class Options(SubsetOptions):
    """The folder of sts-train.csv, sts-dev.csv and sts-test.csv, and the splits to score; dev selects models."""


def files(options: Options) -> Files:
    """One file per split."""
    chosen = options.chosen(("train", "dev", "test"))
    return {split: (options.path / f"sts-{split}.csv",) for split in chosen}


def read_pairs(options: Options) -> dict[str, list[graded.GradedPair]]:
    """Read the pairs of each split whose file exists."""
    found = available_subsets(files(options))
    return {split: graded.read_graded_pairs(path, COLUMNS) for split, (path,) in found.items()}


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Spearman's correlation of cosines with grades for each split."""
    return graded.score_graded_sets(encode, read_pairs(options), "stsb")
