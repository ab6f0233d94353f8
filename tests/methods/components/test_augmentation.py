"""Augmented texts: positions and lengths of masked spans, words and tokens, the order of words, and short texts."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from ease.encoders.encoder import build_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.methods.components.augmentation import (
    mask_span,
    mask_token,
    span_masking,
    token_masking,
    word_masking,
    word_order,
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


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("length", [1, 5])
def test_masking_keeps_everything_outside_the_span(text: str, length: int) -> None:
    assert mask_span(SENTENCE, 4, 5, "[MASK]") == "Econ [MASK] Paul Krugman mainly works on trade models."
    for start in range(len(text) - length + 1):
        assert start in spans(text, mask_span(text, start, length, "<mask>"), length, "<mask>")


def test_every_place_is_as_likely_the_last_one_too() -> None:
    text, found = "".join(chr(ord("A") + number) for number in range(30)), Counter[int]()
    mask = span_masking(5, 1, "_", seed=3)
    for masked in mask([text] * 6000, np.arange(6000)):
        found.update(spans(text, masked, 5, "_"))
    assert sorted(found) == list(range(26))
    assert chisquare(list(found.values())).pvalue > 1e-3
    assert (mask.texts, mask.kept) == (6000, 0)


def test_a_text_is_changed_by_the_seed_and_its_row_alone() -> None:
    texts, rows = [f"{number} {SENTENCE}" for number in range(50)], np.arange(50)
    whole = span_masking(5, 30, "[MASK]", seed=7)(texts, rows)
    order = np.random.default_rng(0).permutation(50)
    shuffled = span_masking(5, 30, "[MASK]", seed=7)
    parts = [shuffled([texts[row] for row in part], part) for part in np.split(order, [13, 30])]
    assert [text for part in parts for text in part] == [whole[row] for row in order]
    other = span_masking(5, 30, "[MASK]", seed=8)(texts, rows)
    assert sum(a != b for a, b in zip(whole, other, strict=True)) > 40
    alike = span_masking(5, 30, "[MASK]", seed=7)([SENTENCE] * 50, rows)
    assert len(set(alike)) > 20, "rows of the same text have spans of their own"


@pytest.mark.parametrize(
    ("text", "length", "shortest", "kept"),
    [
        ("", 5, 1, True),
        ("sizes", 5, 1, True),  # nothing would be left
        ("seldom", 5, 1, False),  # one token, of which a letter is left
        ("x" * 29, 5, 30, True),
        ("x" * 30, 5, 30, False),
    ],
)
def test_short_texts_keep_their_characters_and_are_counted(
    text: str, length: int, shortest: int, kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    mask = span_masking(length, shortest, "[MASK]", seed=0)
    with caplog.at_level(logging.INFO, "ease.methods.components.augmentation"):
        masked = mask([text, SENTENCE], np.arange(2))
    assert ("[MASK]" in masked[0], masked[0] == text) == (not kept, kept)
    assert "[MASK]" in masked[1]
    assert f"{int(kept)} of 2 texts have fewer than {max(shortest, length + 1)} characters" in caplog.text


def test_tokens_are_masked_in_the_text_by_the_encoder_s_own_mask_token() -> None:
    encoder = build_encoder(EncoderOptions(random=RandomBertOptions(vocabulary_size=400)), TEXTS * 3)
    tokenizer = encoder.tokenizer
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    assert mask_token(encoder) == "<mask>"
    for masked in span_masking(5, 10, "<mask>", seed=0)(TEXTS, np.arange(3)):
        assert tokenizer(masked)["input_ids"].count(tokenizer.mask_token_id) == 1
    share = round(0.2 * len(tokenizer.tokenize(SENTENCE)))
    for masked in token_masking(0.2, 1, tokenizer, seed=2)([SENTENCE] * 50, np.arange(50)):
        assert tokenizer(masked)["input_ids"].count(tokenizer.mask_token_id) == share
        place = 0
        for part in masked.split("<mask>"):  # the rest of the text, in its order
            assert (place := SENTENCE.find(part.strip(), place)) >= 0
    tokenizer.mask_token = None
    with pytest.raises(EaseError, match=r"needs a mask token.*has none: set `span: 0`"):
        mask_token(encoder)


def test_whole_words_are_masked_at_every_place() -> None:
    words, places = SENTENCE.split(), Counter[int]()  # eight, of which round(2.4) are masked
    for masked in word_masking(0.3, 1, "[MASK]", seed=1)([SENTENCE] * 2000, np.arange(2000)):
        found = masked.split()
        assert [one for one, other in zip(found, words, strict=True) if one != other] == ["[MASK]"] * 2
        places.update(place for place, one in enumerate(found) if one == "[MASK]")
    assert sorted(places) == list(range(len(words)))
    assert chisquare(list(places.values())).pvalue > 1e-3


def test_words_change_their_places_and_stay_the_same_words() -> None:
    words = SENTENCE.split()
    for moved in word_order(0.5, 1, seed=1)([SENTENCE] * 200, np.arange(200)):
        found = moved.split()
        assert sorted(found) == sorted(words)
        assert sum(one != other for one, other in zip(found, words, strict=True)) == 4
    (swapped,) = word_order(0.01, 1, seed=1)(["first second"], np.arange(1))
    assert swapped == "second first", "at least two words move"


def test_a_single_word_or_token_stays(caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = sample_encoder().tokenizer
    for change in (
        word_masking(0.5, 4, "[MASK]", 0),
        word_order(0.5, 4, 0),
        token_masking(0.5, 4, tokenizer, 0),
    ):
        with caplog.at_level(logging.INFO, "ease.methods.components.augmentation"):
            assert change(["a", "a b", "a b c d"], np.arange(3))[:2] == ["a", "a b"]
        assert (change.texts, change.kept) == (3, 2)
        said = caplog.messages[-1]
        assert "2 of 3 texts have fewer than 4 characters or a single word and are not changed" in said
    assert word_order(0.5, 4, 0)(["bbbb"], np.arange(1)) == ["bbbb"]
