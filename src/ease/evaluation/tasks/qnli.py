"""QNLI without training: whether a sentence answers a question (Wang et al., 2019).

Area under the ROC curve of the pairs' cosines, as in Mirror-BERT (section 3, after Li et al., 2020).
"""

from __future__ import annotations

from ease.evaluation.tasks import Encode, Files, Score, available_subsets
from ease.evaluation.tasks.components.binary_pairs import read_binary_pairs, score_binary_pairs
from ease.evaluation.tasks.components.graded_pairs import GradedPair
from ease.evaluation.tasks.components.options import SubsetOptions

TASK, METRIC = "qnli", "auc"
KIND = "PairClassification"
SOURCE = "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip: QNLI/{dev,train}.tsv (GLUE; text of SQuAD, CC BY-SA 4.0)"
COLUMNS = ("question", "sentence", "label")
LABELS = {"entailment": True, "not_entailment": False}


class Options(SubsetOptions):
    """The folder of dev.tsv and train.tsv, and the splits to score; the test set has no labels."""


def files(options: Options) -> Files:
    """One file per split."""
    return {split: (options.path / f"{split}.tsv",) for split in options.chosen(("dev", "train"))}


def read_pairs(options: Options) -> dict[str, list[GradedPair]]:
    """Read the questions and sentences of each split whose file exists, graded 1 if the sentence is the answer."""
    return {
        split: read_binary_pairs(path, COLUMNS, LABELS)
        for split, (path,) in available_subsets(files(options)).items()
    }


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Area under the ROC curve of the cosines for each split; 50 is chance."""
    return [score_binary_pairs(encode, pairs, TASK, split) for split, pairs in read_pairs(options).items()]
