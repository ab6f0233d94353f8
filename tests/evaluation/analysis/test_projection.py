"""Projections into the plane equal the singular value decomposition and keep known groups separate."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from ease.errors import EaseError
from ease.evaluation.analysis.languages import ProjectionOptions, draw_parallel, project, project_parallel
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks.parallel_sentences import ParallelSentences

PCA = ProjectionOptions(parallel="sample_parallel:ja-en", sentences=6)
TSNE = ProjectionOptions(parallel="sample_parallel:ja-en", sentences=20, method="tsne", perplexity=5)


def embeddings_of(count: int, dimension: int) -> np.ndarray:
    return np.random.default_rng(7).normal(loc=0.5, size=(count, dimension))


def test_principal_components_equal_the_decomposition() -> None:
    embeddings = embeddings_of(30, 6)
    points, variance = project(embeddings, PCA)
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    expected = left[:, :2] * values[:2]
    signs = np.sign(np.sum(points * expected, axis=0))
    assert points == pytest.approx(expected * signs, abs=1e-12)
    assert variance == pytest.approx(np.sum(values[:2] ** 2) / np.sum(values**2))
    assert project(embeddings * 1000, PCA)[0] == pytest.approx(points), "lengths do not count"


def two_groups() -> np.ndarray:
    """Return forty directions, each near one of two axes."""
    random = np.random.default_rng(1)
    return np.repeat(np.eye(8)[:2], 20, axis=0) + random.normal(scale=0.05, size=(40, 8))


def test_tsne_separates_groups_and_is_seeded() -> None:
    points, variance = project(two_groups(), TSNE)
    assert points.shape == (40, 2)
    assert np.isnan(variance)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert max(distances[:20, :20].max(), distances[20:, 20:].max()) < distances[:20, 20:].min()
    assert np.array_equal(project(two_groups(), TSNE)[0], points)


def test_tsne_is_independent_of_the_number_of_threads() -> None:
    pictures = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            pictures.append(project(two_groups(), TSNE)[0])
    assert pictures[0] == pytest.approx(pictures[1], abs=1e-6)


SENTENCES = ParallelSentences(
    ("ja", "en"), [f"文{row}" for row in range(50)], [f"s{row}" for row in range(50)]
)


def test_sentences_are_drawn_with_their_translations_by_the_seed() -> None:
    drawn = draw_parallel(SENTENCES, PCA)
    rows = [int(sentence[1:]) for sentence in drawn.right]
    assert drawn.left == [f"文{row}" for row in rows]
    assert rows == sorted(set(rows))
    assert len(rows) == 6
    assert draw_parallel(SENTENCES, PCA) == drawn
    assert draw_parallel(SENTENCES, PCA.model_copy(update={"seed": 1})) != drawn
    everything = PCA.model_copy(update={"sentences": 50})
    assert draw_parallel(SENTENCES, everything) == SENTENCES
    with pytest.raises(EaseError, match="has 50 parallel sentences, fewer than `sentences` 51"):
        draw_parallel(SENTENCES, PCA.model_copy(update={"sentences": 51}))


def encode(sentences: object) -> np.ndarray:
    """Encode each number as its own direction; Japanese sentences are shifted."""
    texts = list(sentences)  # type: ignore[call-overload]
    rows = [np.random.default_rng(int(text[1:])).normal(size=4) for text in texts]
    return np.array([[5.0, *row, 9.0 * (text[0] == "文")] for row, text in zip(rows, texts, strict=True)])


def test_a_table_names_model_language_and_pair_of_each_point() -> None:
    flat: Encode = lambda sentences: encode(sentences)[:, :2]  # noqa: E731
    table = project_parallel({"apart": encode, "flat": flat}, SENTENCES, PCA)
    assert table["model"].tolist() == ["apart"] * 12 + ["flat"] * 12
    drawn = draw_parallel(SENTENCES, PCA)
    assert table["sentence"].tolist() == [*drawn.left, *drawn.right] * 2
    assert table["language"].tolist() == (["ja"] * 6 + ["en"] * 6) * 2
    assert table["pair"].tolist() == [0, 1, 2, 3, 4, 5] * 4
    apart = table[table["model"] == "apart"]
    assert len(set(np.sign(apart[apart["language"] == "ja"]["x"]))) == 1, "the first axis parts the languages"
    assert apart["x"].sum() == pytest.approx(0, abs=1e-9)
    variances = table.groupby("model")["variance"].unique()
    assert 0.5 < variances["apart"].item() < 1
    assert variances["flat"].item() == pytest.approx(1)


def test_impossible_projections_are_refused() -> None:
    collapsed: Encode = lambda sentences: np.ones((len(sentences), 4))  # noqa: E731
    with pytest.raises(EaseError, match="^collapsed, sample_parallel:ja-en: .*has the model collapsed"):
        project_parallel({"collapsed": collapsed}, SENTENCES, PCA)
    with pytest.raises(EaseError, match="shape \\(5, 1\\)"):
        project(np.ones((5, 1)), PCA)
    with pytest.raises(EaseError, match="NaN"):
        project(np.full((5, 3), np.nan), PCA)
    for wrong in ("sample_parallel", "sample_parallel:en", "tatoeba:-eng", "xnli:de-de"):
        with pytest.raises(ValidationError, match="names no pair of two languages"):
            ProjectionOptions(parallel=wrong)
    with pytest.raises(ValidationError, match="`perplexity` 12 is not below the 12 points"):
        ProjectionOptions(parallel="sample_parallel:ja-en", sentences=6, perplexity=12)
