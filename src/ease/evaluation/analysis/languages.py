"""Languages in the embeddings of parallel sentences: two-dimensional projections, and how well they are told apart.

The accuracy of a linear classifier of an embedding's language; lower is more neutral (section 5.2 of mSimCSE).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.graded import PRINTED_MODEL, Encoders, check_printed, sample
from ease.evaluation.tasks.base import error_prefix
from ease.evaluation.tasks.set_files import Sides
from ease.lazy import pd
from ease.options import StrictModel, Words
from ease.similarity.vectors import Floats, normalize_rows

LEAST_PAIRS = 3
TEST_SHARE = 0.2
"""Share of the sentences on which a classifier of languages is tested"""


class ProjectionOptions(StrictModel):
    """Which sentences are shown, and the projection."""

    parallel: str = Field(description="a task with parallel sentences and its language pair (`tatoeba:deu-eng`)")
    sentences: int = Field(40, ge=LEAST_PAIRS, le=1000, description="sentences of each language to draw")
    method: Literal["pca", "tsne"] = Field("pca", description="principal components, or t-SNE")
    perplexity: float = Field(
        10.0, ge=1, description="perplexity of t-SNE: about the number of neighbours that stay near a point"
    )
    seed: int = Field(0, ge=0, description="seed of the sample and of t-SNE")

    @model_validator(mode="after")
    def _name_languages(self) -> ProjectionOptions:
        left, dash, right = self.parallel.partition(":")[2].rpartition("-")
        if not (left and dash and right) or left == right:
            raise EaseError(
                f"`parallel` {self.parallel!r} names no pair of two languages: write `task:language-language`."
            )
        if self.perplexity >= 2 * self.sentences:
            raise EaseError(f"`perplexity` {self.perplexity:g} is not below the {2 * self.sentences} points to show.")
        return self


def project(embeddings: ArrayLike, options: ProjectionOptions) -> tuple[Floats, float]:
    """Project normalised embeddings, (n, dimension), to points, (n, 2), with their share of variance (NaN: t-SNE).

    t-SNE starts from the principal components and computes all distances, so that the result does not depend on the
    number of cores. Zero rows, equal rows and a single dimension are refused.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    # Sentences are compared by cosine: lengths should not shape the picture.
    unit = normalize_rows(embeddings)
    if min(unit.shape) < 2 or np.ptp(unit, axis=0).max() < np.finfo(np.float32).eps:
        raise EaseError(
            f"Embeddings of shape {unit.shape} lie in a point or on a line and have no projection to two dimensions: "
            "has the model collapsed?"
        )
    if options.method == "pca":
        pca = PCA(n_components=2, svd_solver="full")
        return pca.fit_transform(unit), float(pca.explained_variance_ratio_.sum())
    tsne = TSNE(init="pca", method="exact", perplexity=options.perplexity, random_state=options.seed, n_jobs=1)
    return tsne.fit_transform(unit).astype(np.float64), math.nan


def project_parallel(encoders: Encoders, sentences: Sides, options: ProjectionOptions) -> pd.DataFrame:
    """Project parallel sentences by each encoder, with a separate projection for each.

    One row per point; `pair` is the same for a sentence and its translation, `variance` that of the model's points.
    """
    pairs = list(zip(*sentences, strict=True))
    count = options.sentences
    if len(pairs) < count:
        raise EaseError(
            f"{options.parallel} has {len(pairs)} parallel sentences, fewer than `sentences` {count}: lower it."
        )
    left, right = zip(*sample(pairs, count, np.random.default_rng(options.seed)), strict=True)
    texts = [*left, *right]
    subset = options.parallel.partition(":")[2]
    left_language, _, right_language = subset.rpartition("-")
    tables = []
    for model, encode in encoders.items():
        with error_prefix(f"{model}, {options.parallel}"):
            points, variance = project(encode(texts), options)
        columns = {
            "model": model,
            "pair": [*range(count)] * 2,
            "language": np.repeat([left_language, right_language], count),
            "sentence": texts,
            "x": points[:, 0],
            "y": points[:, 1],
            "variance": variance,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


class LanguageIdentityOptions(StrictModel):
    """Languages, sentences and classifier."""

    parallel: str = Field(description="a task with parallel sentences (`sample_parallel`, `tatoeba`)")
    pivot: str = Field("en", description="language that the task pairs all others with, by the task's code")
    groups: tuple[Words, ...] = Field(
        min_length=1, description="languages to classify, by the task's codes; one classifier per group of several"
    )
    sentences: int = Field(300, ge=2, description="maximum number of sentences of each language; a sample of more")
    seed: int = Field(0, ge=0, description="seed of the sample and its split")
    printed: dict[str, tuple[float, ...]] = Field(
        {}, description="a paper's accuracies of the groups, in points, by its model"
    )

    @model_validator(mode="after")
    def _complete(self) -> LanguageIdentityOptions:
        for group in self.groups:
            if len(set(group)) < len(group):
                raise EaseError(f"`groups` contains {' '.join(group)}: name each language once.")
        check_printed(self.printed, len(self.groups))
        return self

    @property
    def pairs(self) -> dict[str, str]:
        """The language pairs to read, such as `ja-en`, by the language that is not the pivot."""
        codes = sorted({code for group in self.groups for code in group} - {self.pivot})
        return {code: f"{code}-{self.pivot}" for code in codes}


LanguageSentences = list[tuple[str, str]]
"""Pairs of a language and a sentence"""


def divide(
    parallel: Mapping[str, Sides], group: Sequence[str], options: LanguageIdentityOptions
) -> tuple[LanguageSentences, LanguageSentences]:
    """Split the sentences of a group of languages into training and test data by the seed.

    All translations of a sentence of the pivot stay in one split, so that a classifier cannot use their content.
    `parallel` has the sentences of each language but the pivot, with those of the pivot. Each split must have some.
    """
    pivots = sorted({pivot for sides in parallel.values() for pivot in sides.right})
    order = np.random.default_rng(options.seed).permutation(len(pivots))
    rank = {pivots[row]: place for place, row in enumerate(order)}
    # The pivot is a language like the others: its sentences are their own translations.
    sides_by_language = {**parallel, options.pivot: Sides(pivots, pivots)}
    first_training = math.ceil(TEST_SHARE * len(pivots))
    test_size = max(1, round(TEST_SHARE * options.sentences))
    training: LanguageSentences = []
    test: LanguageSentences = []
    for language in group:
        # The same order for all languages selects translations of the same sentences.
        sides = sides_by_language[language]
        pairs = dict.fromkeys(zip(sides.right, sides.left, strict=True))
        ranked = sorted(((rank[pivot], text) for pivot, text in pairs), key=itemgetter(0))
        test_part = [(language, text) for place, text in ranked if place < first_training]
        training_part = [(language, text) for place, text in ranked if place >= first_training]
        if not test_part or not training_part:
            raise EaseError(
                f"{options.parallel}: {len(pairs)} sentences in {language} are too few to train a classifier and "
                "to test it; give more."
            )
        training += training_part[: max(1, options.sentences - test_size)]
        test += test_part[:test_size]
    return training, test


def compare_language_identity(
    encoders: Encoders, parallel: Mapping[str, Sides], options: LanguageIdentityOptions
) -> pd.DataFrame:
    """Train a classifier of languages on the embeddings of each encoder, and test it on other sentences.

    One row per model and group of at least two languages: in points, `accuracy` and `chance` (the share of the test's
    most frequent language); the numbers of `training` and `test` sentences. The printed accuracies follow.
    """
    from sklearn.linear_model import LogisticRegression

    from ease.evaluation.classifiers import LabelledEmbeddings, fit_selected

    rows: list[dict[str, object]] = []
    for model, encode in encoders.items():
        for group in (group for group in options.groups if len(group) > 1):
            splits = []
            for sentences in divide(parallel, group, options):
                languages, texts = zip(*sentences, strict=True)
                splits.append(LabelledEmbeddings(encode([*texts]), languages, f"embeddings by {model}"))
            training, test = splits
            # There is a single C, so nothing is chosen on the data of the last argument.
            classifier, _ = fit_selected(LogisticRegression(max_iter=1000), {"C": [1.0]}, training, training)
            predicted = classifier.predict(test.embeddings.astype(np.float64))
            _, counts = np.unique(test.labels, return_counts=True)
            row = {
                "model": model,
                "languages": ", ".join(group),
                "accuracy": 100 * float(np.mean(predicted == test.labels)),
                "chance": 100 * float(counts.max() / counts.sum()),
                "training": len(training.labels),
                "test": len(test.labels),
            }
            rows.append(row)
    for model, accuracies in options.printed.items():
        for group, accuracy in zip(options.groups, accuracies, strict=True):
            rows.append({"model": model + PRINTED_MODEL, "languages": ", ".join(group), "accuracy": accuracy})
    columns = {"model": "str", "languages": "str", "accuracy": "float", "chance": "float"}
    columns |= dict.fromkeys(("training", "test"), "Int64")
    return pd.DataFrame(rows, columns=[*columns]).astype(columns)
