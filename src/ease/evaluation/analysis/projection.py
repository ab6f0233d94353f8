"""Parallel sentences of two languages in the plane, as each of several encoders lays them out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.sentence_pairs import ParallelSentences
from ease.evaluation.metrics import Floats, normalize_rows
from ease.evaluation.tasks import Encode

COLUMNS = ["model", "pair", "language", "sentence", "x", "y", "variance"]
LEAST_PAIRS = 3


class ProjectionOptions(BaseModel):
    """Which sentences are shown, and how they are brought to two dimensions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parallel: str = Field(
        description="a task with parallel sentences and its language pair (`tatoeba:deu-eng`)"
    )
    sentences: int = Field(40, ge=LEAST_PAIRS, le=1000, description="sentences of each language to draw")
    method: Literal["pca", "tsne"] = Field("pca", description="principal components, or t-SNE")
    perplexity: float = Field(
        10.0, ge=1, description="of t-SNE: about how many neighbours each point keeps near"
    )
    seed: int = Field(0, ge=0, description="of the drawn sentences and of t-SNE")

    @model_validator(mode="after")
    def _name_languages(self) -> ProjectionOptions:
        if not all(self.parallel.partition(":")[2].rpartition("-")):
            raise EaseError(
                f"`parallel` {self.parallel!r} names no language pair: write `task:language-language`."
            )
        if self.perplexity >= 2 * self.sentences:
            raise EaseError(
                f"`perplexity` {self.perplexity:g} is not below the {2 * self.sentences} points to show."
            )
        return self


class Projection(NamedTuple):
    """Points (n, 2), and the share of the variance (0 to 1) that they keep; NaN for t-SNE, which keeps none."""

    points: Floats
    variance: float


def project(embeddings: ArrayLike, options: ProjectionOptions) -> Projection:
    """Bring normalised embeddings to two dimensions: (n, dimension) -> (n, 2).

    t-SNE starts from the principal components and computes all distances, which gives the same picture on any number
    of cores.

    Raises:
        EaseError: If a row is zero or not finite, all rows are the same, or have one dimension.
    """
    unit = normalize_rows(embeddings)
    if min(unit.shape) < 2 or np.ptp(unit, axis=0).max() < np.finfo(np.float32).eps:
        raise EaseError(
            f"Embeddings of shape {unit.shape} that lie in a point or on a line have no picture in two dimensions: has "
            "the model collapsed?"
        )
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if options.method == "tsne":
        tsne = TSNE(
            init="pca", method="exact", perplexity=options.perplexity, random_state=options.seed, n_jobs=1
        )
        return Projection(tsne.fit_transform(unit).astype(np.float64), math.nan)
    pca = PCA(n_components=2, svd_solver="full")
    points = pca.fit_transform(unit)
    return Projection(points, float(pca.explained_variance_ratio_.sum()))


def draw_parallel(sentences: ParallelSentences, options: ProjectionOptions) -> ParallelSentences:
    """Draw the sentences to show by the seed, in the order in which they lie.

    Raises:
        EaseError: If there are too few.
    """
    count = len(sentences.left)
    if count < options.sentences:
        raise EaseError(
            f"{options.parallel} has {count} parallel sentences, fewer than `sentences` {options.sentences}: lower it."
        )
    chosen = np.sort(np.random.default_rng(options.seed).choice(count, options.sentences, replace=False))
    left, right = ([side[row] for row in chosen] for side in (sentences.left, sentences.right))
    return ParallelSentences(sentences.languages, left, right)


def project_parallel(
    encoders: Mapping[str, Encode], sentences: ParallelSentences, options: ProjectionOptions
) -> pd.DataFrame:
    """Lay out parallel sentences as each encoder sees them; each has a projection of its own.

    Args:
        encoders: By the names of the models.
        sentences: To draw from.
        options: How many to draw, and how to project them.

    Returns:
        The columns `model`, `pair` (from 0; the same for a sentence and its translation), `language`, `sentence`, `x`,
        `y`, `variance` (the share that the model's points keep).

    Raises:
        EaseError: Naming the model, if its embeddings are unusable; or if there are too few sentences.
    """
    shown = draw_parallel(sentences, options)
    texts = [*shown.left, *shown.right]
    count = len(shown.left)
    tables = []
    for model, encode in encoders.items():
        try:
            points, variance = project(encode(texts), options)
        except EaseError as error:
            raise EaseError(f"{model}, {options.parallel}: {error}") from error
        about = {"model": model, "pair": [*range(count)] * 2, "language": np.repeat(shown.languages, count)}
        where = {"sentence": texts, "x": points[:, 0], "y": points[:, 1], "variance": variance}
        tables.append(pd.DataFrame({**about, **where}))
    return pd.concat(tables, ignore_index=True)[COLUMNS]
