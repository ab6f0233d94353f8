"""QNLI without training: whether a sentence answers a question (Wang et al., 2019).

Area under the ROC curve of the pairs' cosines, as in Mirror-BERT (section 3, after Li et al., 2020).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from ease.errors import EaseError
from ease.evaluation.metrics import pairwise_cosine
from ease.evaluation.tasks import Encode, Files, Score, available_subsets, error_prefix
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.text_tables import read_records

logger = logging.getLogger(__name__)

TASK, METRIC = "qnli", "auc"
SOURCE = "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip: QNLI/{dev,train}.tsv (GLUE; text of SQuAD, CC BY-SA 4.0)"
LABELS = {"entailment": True, "not_entailment": False}
BLOCK = 8192
"""Pairs encoded at once."""


class Options(SubsetOptions):
    """The folder of dev.tsv and train.tsv, and the splits to score; the test set has no labels."""


@dataclass(frozen=True)
class Pairs:
    """Questions, sentences, and whether each sentence answers its question."""

    questions: list[str]
    sentences: list[str]
    answers: NDArray[np.bool_]


def files(options: Options) -> Files:
    """One file a split."""
    return {split: (options.path / f"{split}.tsv",) for split in options.chosen(("dev", "train"))}


def read_questions(path: Path) -> Pairs:
    """Read a tab-separated file of the columns question, sentence and label.

    Raises:
        EaseError: With the file and line, if a column, a text or a label is missing, a label is unknown, or all labels
            are equal.
    """
    questions, sentences, answers = [], [], []
    for place, row in read_records(path, ("question", "sentence", "label"), "\t"):
        if row["label"] not in LABELS:
            raise EaseError(f"{place}: the label {row['label']!r} is none of {', '.join(LABELS)}.")
        if not row["question"] or not row["sentence"]:
            raise EaseError(f"{place}: the question or the sentence is missing; fetch the file again.")
        questions.append(row["question"])
        sentences.append(row["sentence"])
        answers.append(LABELS[row["label"]])
    if all(answers) or not any(answers):
        raise EaseError(f"{path}: all {len(answers)} pairs have one label; a ROC curve needs both.")
    return Pairs(questions, sentences, np.array(answers))


def compare(encode: Encode, pairs: Pairs, block: int = BLOCK) -> NDArray[np.float64]:
    """Cosine of each question with its sentence, (pairs,), computed in blocks."""
    cosines = []
    for start in range(0, len(pairs.questions), block):
        questions, sentences = (texts[start : start + block] for texts in (pairs.questions, pairs.sentences))
        embeddings = encode(questions + sentences)
        cosines.append(pairwise_cosine(embeddings[: len(questions)], embeddings[len(questions) :]))
    return np.concatenate(cosines)


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Area under the ROC curve of the cosines for each split; 50 is chance.

    Raises:
        EaseError: With the file and line, or the split, that cannot be scored.
    """
    scores = []
    for split, (path,) in available_subsets(files(options)).items():
        pairs = read_questions(path)
        with error_prefix(f"{TASK} {split}"):
            area = float(roc_auc_score(pairs.answers, compare(encode, pairs)))
        logger.info("%s %s: AUC %.1f over %d pairs", TASK, split, 100 * area, len(pairs.answers))
        scores.append(Score(TASK, split, METRIC, 100 * area))
    return scores
