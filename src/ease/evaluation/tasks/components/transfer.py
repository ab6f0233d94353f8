"""Classifiers that learn in English and are tested in other languages, on frozen embeddings (appendix D of EASE).

A linear classifier is trained with each seed and each pair of a batch size and a learning rate; those of the best mean
accuracy on English development data are tested.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from ease.errors import EaseError
from ease.evaluation.classifier import ClassifierSettings, LabelledEmbeddings, Selection, select_classifiers
from ease.evaluation.tasks import Files, Score, average
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.repetitions import Seeds, repeated_score

logger = logging.getLogger(__name__)

METRIC, DEVELOPMENT_METRIC = "accuracy", "development_accuracy"


class TransferOptions(SubsetOptions):
    """The languages to test, and the grid of the classifier."""

    seeds: Seeds = Field((42, 43, 44), description="seeds of the classifier, whose scores are averaged")
    batch_sizes: tuple[PositiveInt, ...] = Field((32, 64, 128), min_length=1, description="of the grid")
    learning_rates: tuple[PositiveFloat, ...] = Field(
        (0.1, 0.01, 0.001), min_length=1, description="of the grid"
    )
    epochs: PositiveInt = Field(5, description="passes over the training data")
    weight_decay: float = Field(0.0, ge=0, description="of AdamW")
    clip_norm: PositiveFloat = Field(1.0, description="longest gradient; longer ones are shortened to it")
    evaluation_steps: PositiveInt = Field(10, description="steps between two looks at the development data")

    @property
    def grid(self) -> list[ClassifierSettings]:
        """All pairs of a batch size and a learning rate."""
        return [
            ClassifierSettings(
                *(batch_size, rate, self.epochs, self.weight_decay, self.clip_norm, self.evaluation_steps)
            )
            for batch_size, rate in product(self.batch_sizes, self.learning_rates)
        ]


class LabelledFile(NamedTuple):
    """What a file holds, still to be encoded, and what a reader of its scores must know."""

    embed: Callable[[], np.ndarray]
    labels: list[str]
    name: str
    note: str

    def encoded(self) -> LabelledEmbeddings:
        """Encode the file."""
        return LabelledEmbeddings(self.embed(), self.labels, self.name)


def score_transfer(
    read: Callable[[Path], LabelledFile], files: Files, options: TransferOptions, task: str, wanted: int
) -> list[Score]:
    """Accuracy on the English development data and in each language, and the languages' average.

    Args:
        read: Reads a file; all are read before the first is encoded.
        files: The training, development and test file of each language; the first two are the same for all.
        options: Seeds and grid.
        task: Its name.
        wanted: How many languages the whole task has.

    Raises:
        EaseError: Naming the task, if a file is wrong, the embeddings are not finite, or a class is tested that the
            training data lack.
    """
    training, development, _ = next(iter(files.values()))
    try:
        english = read(training), read(development)
        tests = {language: read(test) for language, (_, _, test) in files.items()}
        _require_known(english[0], tests)
        learnt, chosen_by = (file.encoded() for file in english)
        embedded = {language: test.encoded() for language, test in tests.items()}  # before the long training
        selection = select_classifiers(learnt, chosen_by, options.grid, options.seeds)
    except EaseError as error:
        raise EaseError(f"{task}: {error}") from error
    scores = []
    for language, data in embedded.items():
        accuracies = [classifier.accuracy(data) for classifier in selection.classifiers]
        scores.append(repeated_score(task, language, METRIC, accuracies, tests[language].note))
    mean = average(scores, wanted)
    chosen = _english_score(selection, task)
    logger.info(
        "%s: accuracy %.1f over %d languages; English %.1f, %s",
        *(task, mean.value, len(scores), chosen.value, chosen.note),
    )
    return [chosen, *scores, mean]


def _require_known(training: LabelledFile, tests: Mapping[str, LabelledFile]) -> None:
    known = np.unique(training.labels)
    for language, test in tests.items():
        unknown = np.setdiff1d(test.labels, known)
        if unknown.size and known.size > 1:  # of one class alone the classifier complains
            raise EaseError(
                f"No training row is of class {', '.join(unknown)}, which the test data in {language} hold."
            )


def _english_score(selection: Selection, task: str) -> Score:
    """The accuracy that chose the settings, with what they are."""
    chosen = selection.settings
    note = f"batch size {chosen.batch_size}, learning rate {chosen.learning_rate:g}"
    return repeated_score(task, "en", DEVELOPMENT_METRIC, selection.accuracies, note)
