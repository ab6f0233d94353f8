"""Quora Question Pairs without training: whether two questions are duplicates (Figure 7 of Mirror-BERT).

Area under the ROC curve of the pairs' cosines. Kaggle's competition and GLUE publish the same questions.
"""

from __future__ import annotations

from pathlib import Path

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.binary_pairs import read_binary_pairs, score_binary_pairs
from ease.evaluation.tasks.components.graded_pairs import GradedPair
from ease.evaluation.tasks.components.options import SubsetOptions

TASK, METRIC = "qqp", "auc"
KIND = "PairClassification"
SOURCE = (
    "https://dl.fbaipublicfiles.com/glue/data/QQP-clean.zip: QQP/{dev,train}.tsv, or "
    "https://www.kaggle.com/c/quora-question-pairs: train.csv (Quora's terms: not for commercial use)"
)
COLUMNS = ("question1", "question2", "is_duplicate")
LABELS = {"1": True, "0": False}
KAGGLE = "train.csv"


class Options(SubsetOptions):
    """The folder of GLUE's dev.tsv and train.tsv, or of Kaggle's train.csv, and the splits to score."""


def files(options: Options) -> Files:
    """One file per split; of the training split, the one that exists."""
    train, kaggle = options.path / "train.tsv", options.path / KAGGLE
    chosen = kaggle if kaggle.exists() and not train.exists() else train
    return options.select({"dev": (options.path / "dev.tsv",), "train": (chosen,)})


def read_pairs(options: Options) -> dict[str, list[GradedPair]]:
    """Read the questions of each split whose file exists, graded 1 if they are duplicates; blank ones are skipped."""
    return {split: _read(path) for split, (path,) in available_subsets(files(options)).items()}


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Area under the ROC curve of the cosines for each split; 50 is chance."""
    return [score_binary_pairs(encode, pairs, TASK, split) for split, pairs in read_pairs(options).items()]


def _read(path: Path) -> list[GradedPair]:
    quoted = path.name == KAGGLE
    delimiter = "," if quoted else "\t"
    return read_binary_pairs(path, COLUMNS, LABELS, delimiter, quoted=quoted, blanks=True)
