"""Language identification from embeddings: known values, scikit-learn, and splits without overlap."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

from ease.errors import EaseError
from ease.evaluation.analysis.languages import (
    LanguageIdentityOptions,
    compare_language_identity,
    divide,
)
from ease.evaluation.analysis.pairs import parallel_sentences
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task
from ease.evaluation.tasks.parallel_sentences import ParallelSentences

tatoeba = get_task("tatoeba")

LANGUAGES = ("de", "ja", "sv")
PARALLEL = [
    ParallelSentences((code, "en"), [f"{code} {n}" for n in range(100)], [f"en {n}" for n in range(100)])
    for code in LANGUAGES
]
OPTIONS = LanguageIdentityOptions(parallel="sample_parallel", groups=(("en", *LANGUAGES),), strength=10)


def content(text: str) -> np.ndarray:
    """Return the content of a sentence without its language."""
    return np.random.default_rng(int(text.split()[1])).normal(size=8)


def encoder(apart: float, noise: float = 0) -> Encode:
    """Encode content, and the language as a noisy one-hot vector scaled by `apart`."""

    def encode(sentences: object) -> np.ndarray:
        texts = list(sentences)  # type: ignore[call-overload]
        places = np.array([[text.startswith(code) for code in ("en", *LANGUAGES)] for text in texts])
        blurred = [np.random.default_rng([*text.encode()]).normal(scale=noise, size=4) for text in texts]
        return np.hstack([np.array([content(text) for text in texts]), apart * places + blurred])

    return encode


def test_languages_are_identified_only_if_the_encoder_marks_them() -> None:
    table = compare_language_identity({"marked": encoder(5), "neutral": encoder(0)}, PARALLEL, OPTIONS)
    assert table["model"].tolist() == ["marked", "neutral"]
    assert table["languages"].tolist() == ["en, de, ja, sv"] * 2
    marked, neutral = table["accuracy"]
    assert (marked, neutral) == (100, 25), (
        "all translations of a sentence have one vector, so one language is right"
    )
    assert table["chance"].tolist() == [25, 25]
    assert (table["training"].tolist(), table["test"].tolist()) == ([320] * 2, [80] * 2)


def test_printed_accuracies_follow_those_of_the_encoders() -> None:
    printed = OPTIONS.model_copy(update={"printed": {"XLM-R": (99.2,)}})
    table = compare_language_identity({"m": encoder(5)}, PARALLEL, printed)
    assert table[["model", "languages", "accuracy"]].values.tolist() == [
        ["m", "en, de, ja, sv", 100],
        ["XLM-R (printed)", "en, de, ja, sv", 99.2],
    ]
    assert table["test"].isna().tolist() == [False, True]
    with pytest.raises(ValidationError, match="2 figures of XLM-R for 1 rows"):
        LanguageIdentityOptions(**{**OPTIONS.model_dump(), "printed": {"XLM-R": (99.2, 99.8)}})


def test_accuracy_equals_scikit_learns_on_the_same_split() -> None:
    encode = encoder(1, noise=0.5)
    (group,) = OPTIONS.groups
    training, test = divide(PARALLEL, group, OPTIONS)
    model = LogisticRegression(C=10, max_iter=1000)
    model.fit(encode([text for _, text in training]), [code for code, _ in training])
    expected = model.score(encode([text for _, text in test]), [code for code, _ in test])
    table = compare_language_identity({"m": encode}, PARALLEL, OPTIONS)
    assert table["accuracy"][0] == pytest.approx(100 * expected, abs=1.3), "one of 80 may lie on the border"
    assert 30 < table["accuracy"][0] < 100


def numbers(side: list[tuple[str, str]], language: str) -> list[int]:
    return [int(text.split()[1]) for code, text in side if code == language]


def test_translations_stay_in_one_split_in_all_languages() -> None:
    fewer = OPTIONS.model_copy(update={"sentences": 50})
    for options, sizes in ((OPTIONS, (80, 20)), (fewer, (40, 10))):
        training, test = divide(PARALLEL, ("en", *LANGUAGES), options)
        for side, size in zip((training, test), sizes, strict=True):
            assert Counter(code for code, _ in side) == dict.fromkeys(("en", *LANGUAGES), size)
            assert len({tuple(numbers(side, code)) for code in ("en", *LANGUAGES)}) == 1
        assert not {*numbers(training, "ja")} & {*numbers(test, "ja")}
    assert divide(PARALLEL, LANGUAGES, OPTIONS) == divide(PARALLEL, LANGUAGES, OPTIONS)
    other = OPTIONS.model_copy(update={"seed": 1})
    assert divide(PARALLEL, LANGUAGES, OPTIONS) != divide(PARALLEL, LANGUAGES, other)


def test_no_translation_occurs_in_both_splits_across_languages() -> None:
    parts = {"de": range(60), "ja": range(40, 100), "sv": [*range(30), *range(30)]}
    parallel = [
        ParallelSentences((code, "en"), [f"{code} {n}" for n in chosen], [f"en {n}" for n in chosen])
        for code, chosen in parts.items()
    ]
    training, test = divide(parallel, ("en", *LANGUAGES), OPTIONS)
    fitted, tested = ({int(text.split()[1]) for _, text in side} for side in (training, test))
    assert not fitted & tested
    sizes = Counter(code for code, _ in training + test)
    assert sizes == {"en": 100, "de": 60, "ja": 60, "sv": 30}, "a repeated sentence counts once"


def test_each_group_has_its_own_classifier_with_or_without_the_pivot() -> None:
    groups = OPTIONS.model_copy(update={"groups": (("de", "ja"), ("en", "sv"))})
    table = compare_language_identity({"m": encoder(5)}, PARALLEL, groups)
    assert table["languages"].tolist() == ["de, ja", "en, sv"]
    assert table["accuracy"].tolist() == [100, 100]
    assert groups.pairs == ["de-en", "ja-en", "sv-en"]


def test_a_single_language_needs_no_classifier() -> None:
    alone = OPTIONS.model_copy(update={"groups": (("de",),)})
    assert compare_language_identity({"m": encoder(5)}, PARALLEL, alone).empty


def test_invalid_choices_are_refused() -> None:
    words = LanguageIdentityOptions.model_validate(
        {"parallel": "tatoeba", "pivot": "eng", "groups": ["eng deu", "deu fra"]}
    )
    assert words.groups == (("eng", "deu"), ("deu", "fra"))
    assert words.pairs == ["deu-eng", "fra-eng"]
    with pytest.raises(ValidationError, match="`groups` contains en en: name each language once"):
        LanguageIdentityOptions(parallel="x", groups=(("en", "en"),))
    lonely = [ParallelSentences(("de", "en"), ["de 1"], ["en 1"]), *PARALLEL[1:]]
    with pytest.raises(EaseError, match="sample_parallel: 1 sentences in de are too few"):
        divide(lonely, ("de", "ja"), OPTIONS)
    broken: Encode = lambda sentences: np.full((len(sentences), 2), np.nan)  # noqa: E731
    with pytest.raises(EaseError, match="rows of the embeddings by m contain NaN"):
        compare_language_identity({"m": broken}, PARALLEL, OPTIONS)


def test_languages_of_tatoeba_are_identified_by_their_letters(test_data: Path) -> None:
    options = LanguageIdentityOptions(
        parallel="tatoeba", pivot="eng", groups=(("eng", "deu", "hin"), ("eng", "tur", "ara", "bul"))
    )
    folder = tatoeba.options(path=test_data / "eval" / "tatoeba")
    parallel = [parallel_sentences("tatoeba", folder, pair) for pair in options.pairs]
    letters = HashingVectorizer(analyzer="char", n_features=256, alternate_sign=False)
    encode: Encode = lambda texts: letters.transform(texts).toarray()  # noqa: E731
    table = compare_language_identity({"letters": encode}, parallel, options)
    assert table["accuracy"].min() > 85
    assert table["test"].tolist() == [180, 240]
    assert table["training"].tolist() == [720, 960]
