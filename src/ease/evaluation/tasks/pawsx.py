"""PAWS-X: paraphrase identification of sentences with nearly the same words (Yang et al., 2019).

A classifier on `(u, v, |u − v|, u · v)` of a pair's embeddings u and v is trained in English and tested in seven
languages; the average includes English, as in section 4.6 and Table 5 of mSimCSE. That paper fine-tuned the encoder, as
the task `pawsx_finetuned` does; here the encoder is frozen, which scores lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt

from ease.errors import EaseError
from ease.evaluation.classifiers import LabelledEmbeddings
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import finite_rows
from ease.evaluation.tasks import Files, SubsetOptions, TaskOptions, Texts
from ease.evaluation.tasks.transfer import Transfer, TransferOptions
from ease.io.text_tables import read_records

LANGUAGES = ("de", "en", "es", "fr", "ja", "ko", "zh")
COLUMNS = ("sentence1", "sentence2", "label")
LABELS = ("0", "1")
UNTRANSLATED = "NS"
"""Placeholder of untranslated sentences in the published files."""


class PawsXOptions(TransferOptions):
    """The folder of the languages' folders, the languages to test, and the grid."""

    batch_sizes: tuple[PositiveInt, ...] = Field((128,), min_length=1, description="of the grid")
    learning_rates: tuple[PositiveFloat, ...] = Field(
        (0.1, 0.01, 0.001), min_length=1, description="of the grid"
    )
    evaluation_steps: PositiveInt = Field(
        100, description="steps between two evaluations on the development data"
    )


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs, whether they are paraphrases (0 or 1), and the number of skipped pairs."""

    left: list[str]
    right: list[str]
    labels: list[str]
    untranslated: int

    @property
    def note(self) -> str:
        """Note shown beside the score."""
        return f"untranslated pairs skipped: {self.untranslated}" if self.untranslated else ""


class PawsX(Transfer):
    """Linear classifiers of pairs of sentences."""

    KIND = "PairClassification"
    Options: ClassVar[type[TaskOptions]] = PawsXOptions
    known = LANGUAGES

    def files(self, options: SubsetOptions) -> Files:
        """Return the English training and development files, and each language's test file."""
        english = (options.path / "en" / "train.tsv", options.path / "en" / "dev_2k.tsv")
        return {
            language: (*english, options.path / language / "test_2k.tsv")
            for language in options.chosen(LANGUAGES)
        }

    def read_file(self, path: Path) -> Pairs:
        """Read a tab-separated file; pairs with a sentence that is blank or `NS` (untranslated) are skipped."""
        kept: list[tuple[str, str, str]] = []
        untranslated = 0
        for place, row in read_records(path, COLUMNS, "\t"):
            left, right, label = (row[column] for column in COLUMNS)
            if label not in LABELS:
                raise EaseError(f"{place}: the label {label!r} is neither 0 nor 1; fetch the file again.")
            if {left, right} & {"", UNTRANSLATED}:
                untranslated += 1
            else:
                kept.append((left, right, label))
        if not kept:
            raise EaseError(f"{path}: contains no pair with both sentences; fetch the file again.")
        left_side, right_side, labels = (list(column) for column in zip(*kept, strict=True))
        return Pairs(left_side, right_side, labels, untranslated)

    def item_texts_of(self, data: Pairs) -> Texts:
        """Return both sentences of each pair."""
        return list(zip(data.left, data.right, strict=True))

    def embed(self, encode: Encode, data: Pairs, name: str) -> Any:
        """Encode the sentences and compute the features of their pairs."""
        embeddings = finite_rows(encode([*data.left, *data.right]), name)
        return LabelledEmbeddings(pair_features(*np.split(embeddings, 2)), data.labels, name)


TASK: Any = PawsX


def pair_features(left: np.ndarray, right: np.ndarray) -> NDArray[np.float32]:
    """Features of pairs: `(u, v, |u − v|, u · v)`, 2 x (n, dimension) -> (n, 4 dimension)."""
    first, second = np.asarray(left, dtype=np.float32), np.asarray(right, dtype=np.float32)
    return np.concatenate([first, second, np.abs(first - second), first * second], axis=1)
