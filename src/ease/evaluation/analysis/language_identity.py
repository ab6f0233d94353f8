"""Can a linear classifier tell an embedding's language? The less, the more neutral it is (section 5.2 of mSimCSE)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveFloat, field_validator

from ease.errors import EaseError
from ease.evaluation.analysis.sentence_pairs import ParallelSentences
from ease.evaluation.tasks import Encode

if TYPE_CHECKING:
    from ease.evaluation.classifier import LabelledEmbeddings

COLUMNS = ["model", "languages", "accuracy", "chance", "training", "test"]


def _words(value: Any) -> Any:
    """Split a string: the command line gives a list as words."""
    return value.split() if isinstance(value, str) else value


Group = Annotated[tuple[str, ...], BeforeValidator(_words)]


class LanguageIdentityOptions(BaseModel):
    """Which languages are told apart, on which sentences, and by which classifier."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parallel: str = Field(description="a task with parallel sentences (`sample_parallel`, `tatoeba`)")
    pivot: str = Field(
        "en", description="the language that the task pairs all others with, by its code there"
    )
    groups: tuple[Group, ...] = Field(
        min_length=1, description="languages to tell apart, by the task's codes; a classifier for each group"
    )
    sentences: int = Field(300, ge=2, description="sentences of each language; of more, so many are drawn")
    test_share: float = Field(0.2, gt=0, lt=1, description="share of the sentences to test on")
    strength: PositiveFloat = Field(1.0, description="C of the logistic regression")
    seed: int = Field(0, ge=0, description="of the drawn sentences and of their division")

    @field_validator("groups")
    @classmethod
    def _several(cls, groups: tuple[Group, ...]) -> tuple[Group, ...]:
        for group in groups:
            if len(set(group)) < max(2, len(group)):
                raise EaseError(
                    f"`groups` holds {' '.join(group) or 'a group without languages'}: name two languages at least, "
                    "each once."
                )
        return groups

    @property
    def pairs(self) -> list[str]:
        """The language pairs to read, such as `ja-en`."""
        codes = sorted({code for group in self.groups for code in group} - {self.pivot})
        return [f"{code}-{self.pivot}" for code in codes]


class Division(NamedTuple):
    """Sentences with their languages, to fit a classifier to and to test it on."""

    training: list[tuple[str, str]]
    test: list[tuple[str, str]]


def divide(
    parallel: Sequence[ParallelSentences], group: Sequence[str], options: LanguageIdentityOptions
) -> Division:
    """Divide the sentences of a group by the seed, all translations of a sentence of the pivot on the same side.

    Thus no content is known from the training, and what is left to tell a test sentence by is its language.

    Args:
        parallel: The sentences of each language with those of the pivot.
        group: Languages, the pivot among them or not.
        options: How many sentences, which share of them to test on, and the seed.

    Returns:
        Pairs of a language and a sentence, each distinct pair once.

    Raises:
        EaseError: If a language has no sentence on one of the sides.
    """
    pivots = sorted({pivot for pairs in parallel for pivot in pairs.right})
    order = np.random.default_rng(options.seed).permutation(len(pivots))
    rank = {pivots[row]: place for place, row in enumerate(order)}
    wanted = {pairs.languages[0]: list(zip(pairs.right, pairs.left, strict=True)) for pairs in parallel}
    wanted[options.pivot] = [(pivot, pivot) for pivot in pivots]
    first_training = math.ceil(options.test_share * len(pivots))
    test_size = max(1, round(options.test_share * options.sentences))
    division = Division([], [])
    for language in group:
        # In one order for all languages, so that all keep the translations of the same sentences where they can.
        pairs = sorted(dict.fromkeys(wanted[language]), key=lambda pair: rank[pair[0]])
        test = [text for pivot, text in pairs if rank[pivot] < first_training][:test_size]
        training = [text for pivot, text in pairs if rank[pivot] >= first_training]
        training = training[: max(1, options.sentences - test_size)]
        if not test or not training:
            raise EaseError(
                f"{options.parallel}: {len(pairs)} sentences in {language} are too few to fit a classifier to some and "
                f"test it on a share of {options.test_share:g}; give more, or change `test_share`."
            )
        division.training.extend((language, text) for text in training)
        division.test.extend((language, text) for text in test)
    return division


def compare_language_identity(
    encoders: Mapping[str, Encode], parallel: Sequence[ParallelSentences], options: LanguageIdentityOptions
) -> pd.DataFrame:
    """Fit a classifier of languages to the embeddings of each encoder, and test it on other sentences.

    Args:
        encoders: By the names of the models.
        parallel: The sentences of each language with those of the pivot, as `options.pairs` names them.
        options: Languages, sentences and classifier.

    Returns:
        A row for each model and group: `languages`, `accuracy` and `chance` (the share of the most frequent language of
        the test) in points, and the numbers of sentences fitted to (`training`) and tested on (`test`).

    Raises:
        EaseError: Naming the model, if an embedding is not finite; or if a language has too few sentences.
    """
    from ease.evaluation.logistic_regression import fit

    rows = []
    for model, encode in encoders.items():
        for group in options.groups:
            division = divide(parallel, group, options)
            training, test = (_embedded(encode, side, model) for side in division)
            predicted = fit(training, options.strength).predict(test.embeddings.astype(np.float64))
            _, counts = np.unique(test.labels, return_counts=True)
            measured = (
                100 * float(np.mean(predicted == test.labels)),
                100 * float(counts.max() / counts.sum()),
            )
            sizes = len(training.labels), len(test.labels)
            rows.append((model, ", ".join(group), *measured, *sizes))
    return pd.DataFrame(rows, columns=COLUMNS)


def _embedded(encode: Encode, sentences: Sequence[tuple[str, str]], model: str) -> LabelledEmbeddings:
    from ease.evaluation.classifier import LabelledEmbeddings

    languages, texts = zip(*sentences, strict=True)
    return LabelledEmbeddings(encode(list(texts)), languages, f"embeddings by {model}")
