"""Projections equal the singular value decomposition; languages are identified as by scikit-learn, without overlap."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression

from ease.errors import EaseError
from ease.evaluation.analysis import languages
from ease.evaluation.analysis.languages import ProjectionOptions, divide, project, project_parallel
from ease.evaluation.tasks.set_files import Sides
from ease.similarity.encode import Encode

PCA = ProjectionOptions(parallel="sample_parallel:ja-en", sentences=6)
TSNE = ProjectionOptions(parallel="sample_parallel:ja-en", sentences=20, method="tsne", perplexity=5)


def test_principal_components_equal_the_decomposition() -> None:
    embeddings = np.random.default_rng(7).normal(loc=0.5, size=(30, 6))
    points, variance = project(embeddings, PCA)
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    left, values, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    expected = left[:, :2] * values[:2]
    signs = np.sign(np.sum(points * expected, axis=0))
    assert points == pytest.approx(expected * signs, abs=1e-12)
    assert variance == pytest.approx(np.sum(values[:2] ** 2) / np.sum(values**2))
    assert project(embeddings * 1000, PCA)[0] == pytest.approx(points), "lengths do not count"


def test_tsne_separates_groups_and_is_seeded() -> None:
    # Forty directions, each near one of two axes
    groups = np.repeat(np.eye(8)[:2], 20, axis=0) + np.random.default_rng(1).normal(scale=0.05, size=(40, 8))
    points, variance = project(groups, TSNE)
    assert points.shape == (40, 2)
    assert np.isnan(variance)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert max(distances[:20, :20].max(), distances[20:, 20:].max()) < distances[:20, 20:].min()
    assert np.array_equal(project(groups, TSNE)[0], points)


SENTENCES = Sides([f"文{row}" for row in range(50)], [f"s{row}" for row in range(50)])


def encode_numbers(sentences: object) -> np.ndarray:
    """Encode each number as its own direction; Japanese sentences are shifted."""
    texts = list(sentences)  # type: ignore[call-overload]
    rows = [np.random.default_rng(int(text[1:])).normal(size=4) for text in texts]
    return np.array([[5.0, *row, 9.0 * (text[0] == "文")] for row, text in zip(rows, texts, strict=True)])


def test_a_table_names_model_language_and_pair_of_each_point() -> None:
    encoders = {"apart": encode_numbers, "flat": lambda sentences: encode_numbers(sentences)[:, :2]}
    table = project_parallel(encoders, SENTENCES, PCA)
    assert table["model"].tolist() == ["apart"] * 12 + ["flat"] * 12
    rows = [int(sentence[1:]) for sentence in table["sentence"][6:12]]
    assert rows == sorted(set(rows)), "drawn in their order"
    assert table["sentence"].tolist() == [*(f"文{row}" for row in rows), *(f"s{row}" for row in rows)] * 2
    other = project_parallel({"apart": encode_numbers}, SENTENCES, PCA.model_copy(update={"seed": 1}))
    assert other["sentence"].tolist() != table["sentence"].tolist()[:12]
    assert table["language"].tolist() == (["ja"] * 6 + ["en"] * 6) * 2
    assert table["pair"].tolist() == [0, 1, 2, 3, 4, 5] * 4
    apart = table[table["model"] == "apart"]
    assert len(set(np.sign(apart[apart["language"] == "ja"]["x"]))) == 1, "the first axis parts the languages"
    assert apart["x"].sum() == pytest.approx(0, abs=1e-9)
    variances = table.groupby("model")["variance"].unique()
    assert 0.5 < variances["apart"].item() < 1
    assert variances["flat"].item() == pytest.approx(1)


def test_impossible_projections_are_refused() -> None:
    with pytest.raises(EaseError, match="^collapsed, sample_parallel:ja-en: .*has the model collapsed"):
        project_parallel({"collapsed": lambda sentences: np.ones((len(sentences), 4))}, SENTENCES, PCA)
    with pytest.raises(EaseError, match="has 50 parallel sentences, fewer than `sentences` 51"):
        project_parallel({"m": encode_numbers}, SENTENCES, PCA.model_copy(update={"sentences": 51}))
    with pytest.raises(ValidationError, match="names no pair of two languages"):
        ProjectionOptions(parallel="xnli:de-de")
    with pytest.raises(ValidationError, match="`perplexity` 12 is not below the 12 points"):
        ProjectionOptions(parallel="sample_parallel:ja-en", sentences=6, perplexity=12)


LANGUAGES = ("de", "ja", "sv")
PARALLEL = {code: Sides([f"{code} {n}" for n in range(100)], [f"en {n}" for n in range(100)]) for code in LANGUAGES}
OPTIONS = languages.LanguageIdentityOptions(parallel="sample_parallel", groups=(("en", *LANGUAGES),))


def encoder(apart: float, noise: float = 0) -> Encode:
    """Encode content, and the language as a noisy one-hot vector scaled by `apart`."""

    def encode(sentences: object) -> np.ndarray:
        texts = list(sentences)  # type: ignore[call-overload]
        places = np.array([[text.startswith(code) for code in ("en", *LANGUAGES)] for text in texts])
        blurred = [np.random.default_rng([*text.encode()]).normal(scale=noise, size=4) for text in texts]
        content = [np.random.default_rng(int(text.split()[1])).normal(size=8) for text in texts]
        return np.hstack([np.array(content), apart * places + blurred])

    return encode


def test_languages_are_identified_only_if_the_encoder_marks_them() -> None:
    table = languages.compare_language_identity({"marked": encoder(5), "neutral": encoder(0)}, PARALLEL, OPTIONS)
    # All translations have one vector in the neutral encoder, so one language of four is right.
    assert table.to_numpy().tolist() == [
        ["marked", "en, de, ja, sv", 100, 25, 320, 80],
        ["neutral", "en, de, ja, sv", 25, 25, 320, 80],
    ]


def test_accuracy_equals_scikit_learns_on_the_same_split() -> None:
    encode = encoder(1, noise=0.5)
    training, test = divide(PARALLEL, OPTIONS.groups[0], OPTIONS)
    model = LogisticRegression(max_iter=1000)
    model.fit(encode([text for _, text in training]), [code for code, _ in training])
    expected = model.score(encode([text for _, text in test]), [code for code, _ in test])
    printed = OPTIONS.model_copy(update={"printed": {"XLM-R": (99.2,)}})
    table = languages.compare_language_identity({"m": encode}, PARALLEL, printed)
    assert table["accuracy"][0] == pytest.approx(100 * expected, abs=1.3), "one of 80 may lie on the border"
    assert 30 < table["accuracy"][0] < 100
    assert table.iloc[1].tolist()[:3] == ["XLM-R (printed)", "en, de, ja, sv", 99.2]
    assert table["test"].isna().tolist() == [False, True]
    with pytest.raises(ValidationError, match="2 figures of XLM-R for 1 rows"):
        languages.LanguageIdentityOptions(**{**OPTIONS.model_dump(), "printed": {"XLM-R": (99.2, 99.8)}})


def test_translations_stay_in_one_split_in_all_languages() -> None:
    fewer = OPTIONS.model_copy(update={"sentences": 50})
    for options, sizes in ((OPTIONS, (80, 20)), (fewer, (40, 10))):
        found: list[set[str]] = []
        for side, size in zip(divide(PARALLEL, ("en", *LANGUAGES), options), sizes, strict=True):
            assert Counter(code for code, _ in side) == dict.fromkeys(("en", *LANGUAGES), size)
            found.append({text.split()[1] for _, text in side})
            assert len(found[-1]) == size, "the same sentences in each language"
        assert not found[0] & found[1]
    assert divide(PARALLEL, LANGUAGES, OPTIONS) == divide(PARALLEL, LANGUAGES, OPTIONS)
    other = OPTIONS.model_copy(update={"seed": 1})
    assert divide(PARALLEL, LANGUAGES, OPTIONS) != divide(PARALLEL, LANGUAGES, other)
    # Languages that share some of the sentences, one of them repeated
    parts = {"de": range(60), "ja": range(40, 100), "sv": [*range(30), *range(30)]}
    mixed = {code: Sides([f"{code} {n}" for n in own], [f"en {n}" for n in own]) for code, own in parts.items()}
    training, test = divide(mixed, ("en", *LANGUAGES), OPTIONS)
    assert not {text.split()[1] for _, text in training} & {text.split()[1] for _, text in test}
    assert Counter(code for code, _ in training + test) == {"en": 100, "de": 60, "ja": 60, "sv": 30}


def test_invalid_choices_are_refused() -> None:
    words = {"parallel": "tatoeba", "pivot": "eng", "groups": ["eng deu", "deu fra"]}
    assert languages.LanguageIdentityOptions.model_validate(words).pairs == {"deu": "deu-eng", "fra": "fra-eng"}
    with pytest.raises(ValidationError, match="`groups` contains en en: name each language once"):
        languages.LanguageIdentityOptions(parallel="x", groups=(("en", "en"),))
    lonely = {**PARALLEL, "de": Sides(["de 1"], ["en 1"])}
    with pytest.raises(EaseError, match="sample_parallel: 1 sentences in de are too few"):
        divide(lonely, ("de", "ja"), OPTIONS)
    with pytest.raises(EaseError, match="rows of the embeddings by m contain NaN"):
        languages.compare_language_identity({"m": lambda texts: np.full((len(texts), 2), np.nan)}, PARALLEL, OPTIONS)
