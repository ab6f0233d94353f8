"""Cross-lingual transfer of linear classifiers on frozen embeddings (appendix D of EASE).

A classifier is trained on English with each seed, batch size and learning rate. The settings of the best mean accuracy
on English development data are tested in every language.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from ease.evaluation.classifier import (
    ClassifierSettings,
    LabelledEmbeddings,
    require_known_classes,
    select_classifiers,
)
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import Files, Score, average, error_prefix
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
    clip_norm: PositiveFloat = Field(1.0, description="maximum norm of the gradient")
    evaluation_steps: PositiveInt = Field(
        10, description="steps between two evaluations on the development data"
    )

    @property
    def grid(self) -> list[ClassifierSettings]:
        """All combinations of a batch size and a learning rate."""
        return [
            ClassifierSettings(
                *(batch_size, rate, self.epochs, self.weight_decay, self.clip_norm, self.evaluation_steps)
            )
            for batch_size, rate in product(self.batch_sizes, self.learning_rates)
        ]


class LabelledFile(NamedTuple):
    """A labelled file to be encoded, the note shown beside its score, and the texts of each row."""

    embed: Callable[[], np.ndarray]
    labels: list[str]
    name: str
    note: str
    texts: list[tuple[str, ...]]

    def encoded(self) -> LabelledEmbeddings:
        """Encode the file."""
        return LabelledEmbeddings(self.embed(), self.labels, self.name)


def score_transfer(
    read: Callable[[Path], LabelledFile], files: Files, options: TransferOptions, task: str, wanted: int
) -> list[Score]:
    """Accuracy on the English development data and in each language, and the average over languages.

    Args:
        read: Reads a file; all files are read before the first is encoded.
        files: Training, development and test file of each language; the first two are the same for all.
        options: Seeds and grid.
        task: Name of the task.
        wanted: Number of languages of the complete task.

    Raises:
        EaseError: With the task, if a file is wrong, the embeddings are not finite, or a test class is missing in the
            training data.
    """
    training, development, _ = next(iter(files.values()))
    with error_prefix(task):
        english = read(training), read(development)
        tests = {language: read(test) for language, (_, _, test) in files.items()}
        if len(set(english[0].labels)) > 1:  # training reports a single class itself
            for language, test in tests.items():
                require_known_classes(english[0].labels, test.labels, f"the test data in {language}")
        learnt, chosen_by = (file.encoded() for file in english)
        embedded = {language: test.encoded() for language, test in tests.items()}  # before the long training
        selection = select_classifiers(learnt, chosen_by, options.grid, options.seeds)
    scores = []
    for language, data in embedded.items():
        hits = [classifier.hits(data) for classifier in selection.classifiers]
        items = mean_items(np.mean(hits, axis=0), tests[language].texts)
        accuracies = [float(np.mean(own)) for own in hits]
        scores.append(repeated_score(task, language, METRIC, accuracies, tests[language].note, items))
    mean, settings = average(scores, wanted), selection.settings
    note = f"batch size {settings.batch_size}, learning rate {settings.learning_rate:g}"
    chosen = repeated_score(task, "en", DEVELOPMENT_METRIC, selection.accuracies, note)
    logger.info(
        "%s: accuracy %.1f over %d languages; English %.1f, %s",
        *(task, mean.value, len(scores), chosen.value, chosen.note),
    )
    return [chosen, *scores, mean]
