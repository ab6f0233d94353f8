"""Augmented texts: positions and lengths of masked spans, words and tokens, the order of words, and short texts."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.methods.components.augmentation import (
    SpanMasking,
    TokenMasking,
    WordMasking,
    WordOrder,
    mask_span,
    mask_token,
)
from tests.methods.made import encoder as sample_encoder

SENTENCE = "Economist Paul Krugman mainly works on trade models."
TEXTS = [SENTENCE, "東京は日本の首都であり、世界で最も人口の多い都市の一つである。", "a  b\tc" * 8]


def spans(text: str, masked: str, length: int, token: str) -> list[int]:
    """Return the possible starts of a masked span, given that the rest of the text is unchanged."""
    before, after = masked.split(token)
    return [
        start
        for start in range(len(text) - length + 1)
        if before in (text[:start], text[:start] + " ")
        and after in (text[start + length :], " " + text[start + length :])
    ]


def test_the_span_of_the_paper_s_figure_2() -> None:
    assert mask_span(SENTENCE, 4, 5, "[MASK]") == "Econ [MASK] Paul Krugman mainly works on trade models."


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("length", [1, 2, 5, 20])
def test_masking_keeps_everything_outside_the_span(text: str, length: int) -> None:
    for start in range(len(text) - length + 1):
        masked = mask_span(text, start, length, "<mask>")
        assert masked.count("<mask>") == 1
        assert start in spans(text, masked, length, "<mask>")


@pytest.mark.parametrize("length", [2, 5])
def test_every_place_is_as_likely_the_last_one_too(length: int) -> None:
    text = "".join(chr(ord("A") + number) for number in range(30))
    mask = SpanMasking(length, 1, "_", seed=3)
    masked = mask([text] * 6000, np.arange(6000))
    found: Counter[int] = Counter()
    for one in masked:
        found.update(spans(text, one, length, "_"))
    assert sorted(found) == list(range(30 - length + 1))
    assert chisquare(list(found.values())).pvalue > 1e-3
    assert (mask.texts, mask.kept) == (6000, 0)


def test_a_row_has_its_span_whatever_else_is_masked() -> None:
    texts, rows = [f"{number} {SENTENCE}" for number in range(50)], np.arange(50)
    whole = SpanMasking(5, 30, "[MASK]", seed=7)(texts, rows)
    order = np.random.default_rng(0).permutation(50)
    shuffled = SpanMasking(5, 30, "[MASK]", seed=7)
    parts = [shuffled([texts[row] for row in part], part) for part in np.split(order, [13, 30])]
    assert [text for part in parts for text in part] == [whole[row] for row in order]
    other = SpanMasking(5, 30, "[MASK]", seed=8)(texts, rows)
    assert sum(a != b for a, b in zip(whole, other, strict=True)) > 40
    alike = SpanMasking(5, 30, "[MASK]", seed=7)([SENTENCE] * 50, rows)
    assert len(set(alike)) > 20, "rows of the same text have spans of their own"


@pytest.mark.parametrize(
    ("text", "length", "shortest", "kept"),
    [
        ("", 5, 30, True),
        ("", 5, 1, True),
        ("a", 1, 1, True),  # nothing would be left
        ("word", 5, 1, True),
        ("sizes", 5, 1, True),
        ("seldom", 5, 1, False),  # one token, of which a letter is left
        ("x" * 29, 5, 30, True),
        ("x" * 30, 5, 30, False),
        ("x" * 30, 40, 30, True),
    ],
)
def test_short_texts_keep_their_characters_and_are_counted(
    text: str, length: int, shortest: int, kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    mask = SpanMasking(length, shortest, "[MASK]", seed=0)
    with caplog.at_level(logging.INFO, "ease.methods.components.augmentation"):
        masked = mask([text, SENTENCE], np.arange(2))
    assert (masked[0] == text) == kept
    assert ("[MASK]" in masked[0]) != kept
    assert "[MASK]" in masked[1]
    assert (mask.kept, mask.texts) == (int(kept), 2)
    assert f"{int(kept)} of 2 texts have fewer than {max(shortest, length + 1)} characters" in caplog.text


def own_encoder() -> SentenceTransformer:
    """An encoder that a test may change."""
    return build_encoder(EncoderOptions(random=RandomBertOptions(vocabulary_size=400)), TEXTS * 3)


@pytest.mark.parametrize("token", ["[MASK]", "<mask>"])
def test_the_tokenizer_reads_the_encoder_s_own_mask_token(token: str) -> None:
    encoder = own_encoder()
    tokenizer = encoder.tokenizer
    tokenizer.add_special_tokens({"mask_token": token})
    assert mask_token(encoder) == token
    for masked in SpanMasking(5, 10, mask_token(encoder), seed=0)(TEXTS, np.arange(3)):
        assert tokenizer(masked)["input_ids"].count(tokenizer.mask_token_id) == 1


def test_an_encoder_without_a_mask_token_is_refused() -> None:
    assert mask_token(sample_encoder()) == "[MASK]"
    without = own_encoder()
    without.tokenizer.mask_token = None
    with pytest.raises(EaseError, match=r"needs a mask token.*has none: set `span: 0`"):
        mask_token(without)


def test_whole_words_are_masked_at_every_place() -> None:
    mask = WordMasking(0.3, 1, "[MASK]", seed=1)
    words = SENTENCE.split()  # eight, of which round(2.4) are masked
    places: Counter[int] = Counter()
    for masked in mask([SENTENCE] * 2000, np.arange(2000)):
        found = masked.split()
        assert [one for one, other in zip(found, words, strict=True) if one != other] == ["[MASK]"] * 2
        places.update(place for place, one in enumerate(found) if one == "[MASK]")
    assert sorted(places) == list(range(len(words)))
    assert chisquare(list(places.values())).pvalue > 1e-3


def test_words_change_their_places_and_stay_the_same_words() -> None:
    order = WordOrder(0.5, 1, seed=1)
    words = SENTENCE.split()
    for moved in order([SENTENCE] * 200, np.arange(200)):
        found = moved.split()
        assert sorted(found) == sorted(words)
        assert sum(one != other for one, other in zip(found, words, strict=True)) == 4
    (swapped,) = WordOrder(0.01, 1, seed=1)(["first second"], np.arange(1))
    assert swapped == "second first", "at least two words move"


def test_tokens_are_masked_in_the_text() -> None:
    encoder = own_encoder()
    tokenizer = encoder.tokenizer
    pieces = tokenizer.tokenize(SENTENCE)
    mask = TokenMasking(0.2, 1, tokenizer, seed=2)
    for masked in mask([SENTENCE] * 50, np.arange(50)):
        assert tokenizer(masked)["input_ids"].count(tokenizer.mask_token_id) == round(0.2 * len(pieces))
        outside = [part.strip() for part in masked.split("[MASK]")]
        place = 0
        for part in outside:  # the rest of the text, in its order
            assert (place := SENTENCE.find(part, place)) >= 0


def test_a_single_word_or_token_stays(caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = sample_encoder().tokenizer
    for change in (
        WordMasking(0.5, 4, "[MASK]", 0),
        WordOrder(0.5, 4, 0),
        TokenMasking(0.5, 4, tokenizer, 0),
    ):
        with caplog.at_level(logging.INFO, "ease.methods.components.augmentation"):
            assert change(["a", "a b", "a b c d"], np.arange(3))[:2] == ["a", "a b"]
        assert (change.texts, change.kept) == (3, 2)
        said = caplog.messages[-1]
        assert "2 of 3 texts have fewer than 4 characters or a single word and are not changed" in said
        if not isinstance(change, TokenMasking):
            assert change(["bbbb"], np.arange(1)) == ["bbbb"]


def test_augmented_texts_depend_on_the_seed_and_the_row_only() -> None:
    texts, rows = [f"{number} {SENTENCE}" for number in range(30)], np.arange(30)
    whole = WordOrder(0.5, 1, 7)(texts, rows)
    assert WordOrder(0.5, 1, 7)(texts[::-1], rows[::-1]) == whole[::-1]
    assert WordOrder(0.5, 1, 8)(texts, rows) != whole
