"""Cross-lingual transfer of linear classifiers on frozen embeddings (section 5.4, Table 6 and appendix D of EASE).

A classifier is trained on English with each seed, batch size and learning rate. The settings of the best mean accuracy
on English development data are tested in every language. The rows are texts (MLDoc; Schwenk and Li, 2018) or pairs of
texts, whose features are `(u, v, |u − v|, u · v)` of their embeddings u and v (PAWS-X; Yang et al., 2019).

Optimiser, epochs and text cleaning follow the code published with EASE, which left the encoder's dropout on while the
classifier was trained; here it is off. Section 4.6 and Table 5 of mSimCSE fine-tune the encoder on PAWS-X, as the task
`pawsx_finetuned` does, which scores higher.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from ease.errors import EaseError
from ease.evaluation.classifiers import LabelledEmbeddings, require_known_classes, train_classifier
from ease.evaluation.items import mean_items
from ease.evaluation.scores import DEVELOPMENT_METRIC, Score
from ease.evaluation.tasks.base import Seeds, TaskOptions, Texts, error_prefix
from ease.evaluation.tasks.set_files import Labelled, TableOptions, TableTask, collect_labelled
from ease.io.progress import ProgressBar
from ease.similarity.encode import Encode
from ease.similarity.vectors import finite_rows

ACCURACY = "accuracy"
HitsBySeed = Mapping[str, list[NDArray[np.bool_]]]
COPYRIGHT = re.compile(r"\(c\) Reuters Limited \d{4}")


class LabelledOptions(TableOptions):
    """English training and development files, and each language's test file; the first column but `label` are texts."""

    labels: tuple[str, ...] = Field(min_length=2, description="the classes; other labels are refused")
    untranslated: str = Field("", description="text of rows without a translation, which are skipped")
    reuters: bool = Field(
        False, description="remove Reuters' copyright line, and decode the bytes literals of MLDoc's scripts"
    )
    seeds: Seeds = Field((42, 43, 44), description="seeds of the training runs, whose scores are averaged")
    epochs: PositiveInt = Field(5, description="passes over the training data")
    weight_decay: float = Field(0.0, ge=0, description="of AdamW")
    clip_norm: PositiveFloat = Field(1.0, description="maximum norm of the gradient")
    evaluation_steps: PositiveInt = Field(
        10, description="steps between two evaluations on the development data, which select the best step"
    )


class TransferOptions(LabelledOptions):
    """The grid of the classifier; the defaults are those of appendix D of EASE."""

    batch_sizes: tuple[PositiveInt, ...] = Field((32, 64, 128), min_length=1, description="of the grid")
    learning_rates: tuple[PositiveFloat, ...] = Field((0.1, 0.01, 0.001), min_length=1, description="of the grid")


class Transfer(TableTask):
    """Accuracy on the English development data and in each language, and the average over languages."""

    METRICS = (ACCURACY, DEVELOPMENT_METRIC)
    Options: ClassVar[type[TaskOptions]] = TransferOptions
    options: Any

    @property
    def task_type(self) -> str:
        """Texts are classified, pairs of texts as pairs."""
        return "Classification" if "text" in self.options.columns else "PairClassification"

    def read(self, subset: str, paths: tuple[Path, ...]) -> tuple[Labelled, Labelled, Labelled]:
        """Read training, development and test file of a language."""
        training, development, test = (self.read_file(subset, path) for path in paths)
        require_known_classes(training.labels, development.labels, "the development data")
        require_known_classes(training.labels, test.labels, f"the test data in {subset}")
        return training, development, test

    def read_file(self, subset: str, path: Path) -> Labelled:
        """Read a labelled file; rows with a blank or untranslated text are skipped and counted."""
        options = self.options
        clean = clean_document if options.reuters else lambda text, place: text
        rows = (
            (place, row["label"], tuple(clean(row[role], place) for role in row if role != "label"))
            for place, row in self.rows(subset, [path])
        )
        return collect_labelled(path, rows, options.labels, options.untranslated)

    def texts(self, data: tuple[Labelled, Labelled, Labelled]) -> Mapping[str, Texts]:
        """Return the texts of the test data."""
        _, _, test = data
        return {ACCURACY: test.texts}

    def score_subsets(self, encode: Encode) -> list[Score]:
        """Read and encode all languages before the long training, then test in every language."""
        available = self.available()
        with error_prefix(self.name):
            data = {language: self.read(language, paths) for language, paths in available.items()}
            # All languages have the same English training and development files.
            training, development, _ = next(iter(data.values()))
            tests = {DEVELOPMENT_METRIC: development}
            tests |= {language: test for language, (_, _, test) in data.items()}
            hits, note = self.train(encode, training, tests)
        shares = {name: [float(np.mean(run)) for run in runs] for name, runs in hits.items()}
        scores = [self.mean_result("en", DEVELOPMENT_METRIC, shares[DEVELOPMENT_METRIC], note)]
        for language in data:
            items = mean_items(np.mean(hits[language], axis=0))
            scores.append(self.mean_result(language, ACCURACY, shares[language], tests[language].note, items))
        return scores

    def train(self, encode: Encode, training: Labelled, tests: Mapping[str, Labelled]) -> tuple[HitsBySeed, str]:
        """Train on English with each seed and the settings that are best on `tests[DEVELOPMENT_METRIC]`.

        Returns by test whether the class of each row is predicted, (rows,), with each seed; a note on development data.
        """
        options = self.options
        training_rows = embed(encode, training, "embeddings of the training data")
        places = {language: f"test data in {language}" for language in tests}
        places[DEVELOPMENT_METRIC] = "development data"
        data = {name: embed(encode, test, f"embeddings of the {places[name]}") for name, test in tests.items()}
        development = data[DEVELOPMENT_METRIC]
        fixed = options.model_dump(include={"epochs", "weight_decay", "clip_norm", "evaluation_steps"})
        grid = list(product(options.batch_sizes, options.learning_rates))
        candidates = []
        for size, rate in ProgressBar(grid, desc="Classifiers", unit="classifier", delay=2):
            classifiers = [
                train_classifier(training_rows, development, seed, size, rate, **fixed) for seed in options.seeds
            ]
            accuracy = fmean(float(np.mean(classifier.hits(development))) for classifier in classifiers)
            candidates.append((accuracy, classifiers, f"batch size {size}, learning rate {rate:g}"))
        # Of equal accuracies, the first in the grid.
        _, classifiers, note = max(candidates, key=itemgetter(0))
        hits = {name: [classifier.hits(rows) for classifier in classifiers] for name, rows in data.items()}
        return hits, note


def embed(encode: Encode, data: Labelled, name: str) -> LabelledEmbeddings:
    """Encode texts, or compute the features of pairs of texts; `name` names them in error messages."""
    sides = [list(side) for side in zip(*data.texts, strict=True)]
    embeddings = finite_rows(encode([text for side in sides for text in side]), name)
    if len(sides) == 2:
        embeddings = pair_features(*np.split(embeddings, 2))
    return LabelledEmbeddings(embeddings, data.labels, name)


def pair_features(left: np.ndarray, right: np.ndarray) -> NDArray[np.float32]:
    """Return the features of pairs: `(u, v, |u − v|, u · v)`, 2 x (n, dimension) -> (n, 4 dimension)."""
    first = np.asarray(left, dtype=np.float32)
    second = np.asarray(right, dtype=np.float32)
    return np.concatenate([first, second, np.abs(first - second), first * second], axis=1)


def clean_document(text: str, place: str = "") -> str:
    r"""Remove the copyright line and repeated white space, as EASE's code does.

    Under Python 3, MLDoc's scripts write bytes literals such as b'caf\xc3\xa9' instead of UTF-8; these are decoded.
    """
    if re.fullmatch(r"b'.*'|b\".*\"", text):
        try:
            text = ast.literal_eval(text).decode("utf-8")
        except (SyntaxError, ValueError, AttributeError, MemoryError, RecursionError) as error:
            raise EaseError(f"{place}: the text looks like a Python bytes literal, but is broken ({error}).") from error
    return " ".join(COPYRIGHT.sub("", text).split())
