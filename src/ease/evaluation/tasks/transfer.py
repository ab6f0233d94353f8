"""Cross-lingual transfer of linear classifiers on frozen embeddings (appendix D of EASE).

A classifier is trained on English with each seed, batch size and learning rate. The settings of the best mean accuracy
on English development data are tested in every language.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from ease.evaluation.encodes import Encode
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import (
    Score,
    Seeds,
    SubsetOptions,
    Task,
    TaskOptions,
    Texts,
    available_subsets,
    averages,
    error_prefix,
    repeated_score,
)

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


class Labelled(Protocol):
    """A labelled file, and the note shown beside its score."""

    labels: list[str]

    @property
    def note(self) -> str:
        """The note."""


class Transfer(Task):
    """Accuracy on the English development data and in each language, and the average over languages."""

    METRICS = (METRIC, DEVELOPMENT_METRIC)
    Options: ClassVar[type[TaskOptions]] = TransferOptions
    known: ClassVar[tuple[str, ...]]
    """The languages of the complete task."""

    @abstractmethod
    def read_file(self, path: Path) -> Any:
        """Read a labelled file."""

    @abstractmethod
    def item_texts_of(self, data: Any) -> Texts:
        """Return the texts of each row of a file."""

    @abstractmethod
    def embed(self, encode: Encode, data: Any, name: str) -> Any:
        """Return the embeddings of a file with their labels."""

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> tuple[Any, Any, Any]:
        """Read training, development and test file of a language."""
        from ease.evaluation.classifiers import require_known_classes

        training, development, test = (self.read_file(path) for path in paths)
        require_known_classes(training.labels, development.labels, "the development data")
        require_known_classes(training.labels, test.labels, f"the test data in {subset}")
        return training, development, test

    def texts(self, options: Any, data: Any) -> Mapping[str, Texts]:
        """Return the texts of the test data."""
        return {METRIC: self.item_texts_of(data[2])}

    def evaluate(self, encode: Encode, options: Any) -> list[Score]:
        """Train on English and test in every language; all files are read before the first is encoded."""
        from ease.evaluation.classifiers import ClassifierSettings, select_classifiers

        found = available_subsets(self.files(options))
        with error_prefix(self.name):
            files = {language: self.read(options, language, paths) for language, paths in found.items()}
            training, development, _ = next(iter(files.values()))
            learnt = self.embed(encode, training, "embeddings of the training data")
            chosen_by = self.embed(encode, development, "embeddings of the development data")
            tests = {  # before the long training
                language: self.embed(encode, test, f"embeddings of the test data in {language}")
                for language, (_, _, test) in files.items()
            }
            fixed = options.epochs, options.weight_decay, options.clip_norm, options.evaluation_steps
            grid = [
                ClassifierSettings(*both, *fixed)
                for both in product(options.batch_sizes, options.learning_rates)
            ]
            selection = select_classifiers(learnt, chosen_by, grid, options.seeds)
        settings = selection.settings
        note = f"batch size {settings.batch_size}, learning rate {settings.learning_rate:g}"
        logger.info("%s: %s", self.name, note)
        scores = []
        for language, data in tests.items():
            hits = [classifier.hits(data) for classifier in selection.classifiers]
            accuracies = [float(np.mean(own)) for own in hits]
            items = mean_items(np.mean(hits, axis=0))
            scores.append(
                repeated_score(self.name, language, METRIC, accuracies, files[language][2].note, items)
            )
        best = repeated_score(self.name, "en", DEVELOPMENT_METRIC, selection.accuracies, note)
        return [best, *scores, *averages(scores, len(self.known))]
