"""Which words a tokenizer does not know."""

from __future__ import annotations

import icu
import pytest

from ease.encoders.encoder import build_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.encoders.unknown_words import count_words, find_unknown_words

SIZES = {"layers": 1, "hidden_size": 32, "heads": 2, "intermediate_size": 32, "vocabulary_size": 300}


def test_words_are_counted_without_numbers_punctuation_and_shifted_offsets() -> None:
    counted = count_words(["𝔸 cat, 12 cats; a cat."], icu.Locale("en"))
    assert counted == {"𝔸": 1, "cat": 2, "cats": 1, "a": 1}


def test_the_share_is_of_running_words() -> None:
    encoder = build_encoder(EncoderOptions(random=RandomBertOptions(**SIZES)), ["a cat sat on the mat"] * 10)
    words = count_words(["the cat sat", "кот сидит кот"], icu.Locale("ru"))
    found = find_unknown_words(encoder, words)
    assert found.share == pytest.approx(3 / 6)
    assert found.examples == ["кот", "сидит"]
