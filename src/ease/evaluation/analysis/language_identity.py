"""Accuracy of a linear classifier of an embedding's language; lower is more neutral (section 5.2 of mSimCSE)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import Field, PositiveFloat, field_validator, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.sentence_pairs import PRINTED, Encoders, ParallelSentences, check_printed
from ease.io.models import StrictModel, Words


class LanguageIdentityOptions(StrictModel):
    """Languages, sentences and classifier."""

    parallel: str = Field(description="a task with parallel sentences (`sample_parallel`, `tatoeba`)")
    pivot: str = Field("en", description="language that the task pairs all others with, by the task's code")
    groups: tuple[Words, ...] = Field(
        min_length=1,
        description="languages to classify, by the task's codes; one classifier per group of several",
    )
    sentences: int = Field(
        300, ge=2, description="maximum number of sentences of each language; a sample of more"
    )
    test_share: float = Field(0.2, gt=0, lt=1, description="share of the sentences to test on")
    strength: PositiveFloat = Field(1.0, description="C of the logistic regression")
    seed: int = Field(0, ge=0, description="seed of the sample and its split")
    printed: dict[str, tuple[float, ...]] = Field(
        {}, description="a paper's accuracies of the groups, in points, by its model"
    )

    @field_validator("groups")
    @classmethod
    def _several(cls, groups: tuple[Words, ...]) -> tuple[Words, ...]:
        for group in groups:
            if len(set(group)) < len(group):
                raise EaseError(f"`groups` contains {' '.join(group)}: name each language once.")
        return groups

    @model_validator(mode="after")
    def _complete(self) -> LanguageIdentityOptions:
        check_printed(self.printed, len(self.groups))
        return self

    @property
    def pairs(self) -> list[str]:
        """The language pairs to read, such as `ja-en`."""
        codes = sorted({code for group in self.groups for code in group} - {self.pivot})
        return [f"{code}-{self.pivot}" for code in codes]


Labelled = list[tuple[str, str]]
"""Pairs of a language and a sentence."""


def divide(
    parallel: Sequence[ParallelSentences], group: Sequence[str], options: LanguageIdentityOptions
) -> tuple[Labelled, Labelled]:
    """Split the sentences of a group into training and test data by the seed.

    All translations of a sentence of the pivot stay in one split, so that a classifier cannot use their content.

    Args:
        parallel: The sentences of each language with those of the pivot.
        group: Languages; may include the pivot.
        options: Number of sentences, share of test sentences, and seed.

    Raises:
        EaseError: If a language is missing in a split.
    """
    pivots = sorted({pivot for pairs in parallel for pivot in pairs.right})
    order = np.random.default_rng(options.seed).permutation(len(pivots))
    rank = {pivots[row]: place for place, row in enumerate(order)}
    wanted = {pairs.languages[0]: list(zip(pairs.right, pairs.left, strict=True)) for pairs in parallel}
    wanted[options.pivot] = [(pivot, pivot) for pivot in pivots]
    first_training = math.ceil(options.test_share * len(pivots))
    test_size = max(1, round(options.test_share * options.sentences))
    training_size = max(1, options.sentences - test_size)
    training: Labelled = []
    test: Labelled = []
    for language in group:
        # The same order for all languages selects translations of the same sentences.
        pairs = sorted(dict.fromkeys(wanted[language]), key=lambda pair: rank[pair[0]])
        held = [(language, text) for pivot, text in pairs if rank[pivot] < first_training]
        rest = [(language, text) for pivot, text in pairs if rank[pivot] >= first_training]
        if not held or not rest:
            raise EaseError(
                f"{options.parallel}: {len(pairs)} sentences in {language} are too few to train a classifier and "
                f"test it on a share of {options.test_share:g}; give more, or change `test_share`."
            )
        training += rest[:training_size]
        test += held[:test_size]
    return training, test


def compare_language_identity(
    encoders: Encoders, parallel: Sequence[ParallelSentences], options: LanguageIdentityOptions
) -> pd.DataFrame:
    """Train a classifier of languages on the embeddings of each encoder, and test it on other sentences.

    Args:
        encoders: Encoders to compare.
        parallel: The sentences of each language with those of the pivot, in the order of `options.pairs`.
        options: Languages, sentences and classifier.

    Returns:
        One row per model and group of at least two languages: `languages`; in points, `accuracy` and `chance` (the
        share of the test's most frequent language); the numbers of `training` and `test` sentences. The printed
        accuracies follow.

    Raises:
        EaseError: With the model, if an embedding is not finite; or if a language has too few sentences.
    """
    from ease.evaluation.classifier import LabelledEmbeddings
    from ease.evaluation.logistic_regression import fit

    rows: list[dict[str, object]] = []
    for model, encode in encoders.items():
        for group in (group for group in options.groups if len(group) > 1):
            training, test = (
                LabelledEmbeddings(encode([*texts]), languages, f"embeddings by {model}")
                for languages, texts in (
                    zip(*split, strict=True) for split in divide(parallel, group, options)
                )
            )
            predicted = fit(training, options.strength).predict(test.embeddings.astype(np.float64))
            _, counts = np.unique(test.labels, return_counts=True)
            rows.append(
                {
                    "model": model,
                    "languages": ", ".join(group),
                    "accuracy": 100 * float(np.mean(predicted == test.labels)),
                    "chance": 100 * float(counts.max() / counts.sum()),
                    "training": len(training.labels),
                    "test": len(test.labels),
                }
            )
    for model, accuracies in options.printed.items():
        for group, accuracy in zip(options.groups, accuracies, strict=True):
            rows.append({"model": model + PRINTED, "languages": ", ".join(group), "accuracy": accuracy})
    columns = {
        "model": str,
        "languages": str,
        "accuracy": float,
        "chance": float,
        "training": "Int64",
        "test": "Int64",
    }
    return pd.DataFrame(rows, columns=[*columns]).astype(columns)
