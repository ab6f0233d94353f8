"""Two-dimensional projections of parallel sentences in two languages by several encoders."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.analysis.sentence_pairs import Encoders, ParallelSentences, sample
from ease.evaluation.metrics import Floats, normalize_rows
from ease.evaluation.tasks import error_prefix
from ease.io.models import StrictModel

LEAST_PAIRS = 3


class ProjectionOptions(StrictModel):
    """Which sentences are shown, and the projection."""

    parallel: str = Field(
        description="a task with parallel sentences and its language pair (`tatoeba:deu-eng`)"
    )
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
            raise EaseError(
                f"`perplexity` {self.perplexity:g} is not below the {2 * self.sentences} points to show."
            )
        return self


def project(embeddings: ArrayLike, options: ProjectionOptions) -> tuple[Floats, float]:
    """Project normalised embeddings to two dimensions.

    t-SNE starts from the principal components and computes all distances, so that the result does not depend on the
    number of cores.

    Args:
        embeddings: (n, dimension).
        options: Method, perplexity and seed.

    Returns:
        The points, (n, 2), and their share of the variance (0 to 1); NaN for t-SNE.

    Raises:
        EaseError: If a row is zero or not finite, all rows are the same, or have one dimension.
    """
    if options.method == "pca":
        return principal_components(embeddings)
    from sklearn.manifold import TSNE

    tsne = TSNE(
        init="pca", method="exact", perplexity=options.perplexity, random_state=options.seed, n_jobs=1
    )
    return tsne.fit_transform(_unit_rows(embeddings)).astype(np.float64), math.nan


def principal_components(embeddings: ArrayLike) -> tuple[Floats, float]:
    """Project normalised embeddings to their first two principal components; returns and raises as `project` does."""
    from sklearn.decomposition import PCA

    pca = PCA(n_components=2, svd_solver="full")
    points = pca.fit_transform(_unit_rows(embeddings))
    return points, float(pca.explained_variance_ratio_.sum())


def _unit_rows(embeddings: ArrayLike) -> Floats:
    unit = normalize_rows(embeddings)
    if min(unit.shape) < 2 or np.ptp(unit, axis=0).max() < np.finfo(np.float32).eps:
        raise EaseError(
            f"Embeddings of shape {unit.shape} lie in a point or on a line and have no projection to two dimensions: "
            "has the model collapsed?"
        )
    return unit


def draw_parallel(sentences: ParallelSentences, options: ProjectionOptions) -> ParallelSentences:
    """Draw the sentences to show by the seed, in their order."""
    count = len(sentences.left)
    if count < options.sentences:
        raise EaseError(
            f"{options.parallel} has {count} parallel sentences, fewer than `sentences` {options.sentences}: lower it."
        )
    pairs = list(zip(sentences.left, sentences.right, strict=True))
    drawn = sample(pairs, options.sentences, np.random.default_rng(options.seed))
    left, right = (list(side) for side in zip(*drawn, strict=True))
    return ParallelSentences(sentences.languages, left, right)


def project_parallel(
    encoders: Encoders, sentences: ParallelSentences, options: ProjectionOptions
) -> pd.DataFrame:
    """Project parallel sentences by each encoder, with a separate projection for each.

    Returns:
        The columns `model`, `pair` (from 0; the same for a sentence and its translation), `language`, `sentence`, `x`,
        `y`, `variance` (of the model's points).

    Raises:
        EaseError: With the model, if its embeddings are unusable; or if there are too few sentences.
    """
    shown = draw_parallel(sentences, options)
    texts, count = [*shown.left, *shown.right], len(shown.left)
    tables = []
    for model, encode in encoders.items():
        with error_prefix(f"{model}, {options.parallel}"):
            points, variance = project(encode(texts), options)
        about = {"model": model, "pair": [*range(count)] * 2, "language": np.repeat(shown.languages, count)}
        where = {"sentence": texts, "x": points[:, 0], "y": points[:, 1], "variance": variance}
        tables.append(pd.DataFrame({**about, **where}))
    return pd.concat(tables, ignore_index=True)
