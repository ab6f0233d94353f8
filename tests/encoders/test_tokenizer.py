"""A trained tokenizer covers every script and is reproducible in every process."""

from __future__ import annotations

import json
import subprocess
import sys

import icu
import pytest

from ease.encoders.tokenizer import count_words, find_unknown_words, train_tokenizer
from tests.encoders.tiny import tiny_encoder

TEXT = ["Berlin is the capital of Germany.", "ベルリンはドイツの首都です。", "베를린은 독일의 수도이다."] * 5
TEXT += ["برلين هي عاصمة ألمانيا", "Берлин — столица Германии", "Berlín je hlavní město Německa"] * 5


def test_all_scripts_are_tokenized_without_unknown_tokens() -> None:
    tokenizer = train_tokenizer(TEXT, 400, 32)
    assert len(tokenizer) <= 400
    for sentence in set(TEXT):
        tokens = tokenizer.tokenize(sentence)
        assert "[UNK]" not in tokens, sentence
        assert tokenizer.decode(tokenizer(sentence)["input_ids"], skip_special_tokens=True) == sentence
    assert tokenizer.model_max_length == 32


def test_other_processes_learn_the_same_vocabulary() -> None:
    script = (
        "import json, sys\n"
        "from ease.encoders.tokenizer import train_tokenizer\n"
        "print(json.dumps(train_tokenizer(json.load(sys.stdin), 300, 32).get_vocab()))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(TEXT), capture_output=True, text=True, check=True
    )
    assert json.loads(ended.stdout) == train_tokenizer(TEXT, 300, 32).get_vocab()


def test_words_are_counted_without_numbers_and_punctuation_and_unknown_ones_by_running_words() -> None:
    counted = count_words(["𝔸 cat, 12 cats; a cat."], icu.Locale("en"))
    assert counted == {"𝔸": 1, "cat": 2, "cats": 1, "a": 1}
    encoder = tiny_encoder(["a cat sat on the mat"] * 10)
    words = count_words(["the cat sat", "кот сидит кот"], icu.Locale("ru"))
    found = find_unknown_words(encoder, words)
    assert found.share == pytest.approx(3 / 6)
    assert found.examples == ["кот", "сидит"]
