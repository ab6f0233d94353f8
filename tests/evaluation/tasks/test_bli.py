"""Bilingual lexicon induction: published dictionaries, small hand-made dictionaries."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ease.errors import EaseError
from ease.evaluation.tasks.base import missing_files
from ease.evaluation.tasks.bli import read_vocabulary
from ease.similarity.encode import EncodeByLanguage
from tests.evaluation.made_tasks import make_task


def bli(folder: Path, **changes: Any) -> Any:
    return make_task("bli", folder, **changes)


Pairs = list[tuple[str, str]]


def encode_codes(words: Sequence[str]) -> np.ndarray:
    """Encode each word as its own direction; t3 is s3 rotated."""
    return np.eye(8, dtype=np.float32)[[(int(word[1:]) + 3 * (word[0] == "t")) % 8 for word in words]]


def write(folder: Path, pair: str, training: Pairs, test: Pairs, size: str = "5k") -> None:
    (folder / pair).mkdir(exist_ok=True)
    for name, pairs in ((f"train.freq.{size}", training), ("test.freq.2k", test)):
        text = "".join(f"{word}\t{translation}\n" for word, translation in pairs)
        (folder / pair / f"yacle.{name}.{pair}.tsv").write_text(text, encoding="utf-8")


def numbered(*numbers: int) -> Pairs:
    return [(f"s{number}", f"t{number}") for number in numbers]


def test_published_dictionaries_are_read(test_data: Path) -> None:
    task = bli(test_data / "eval" / "bli", subsets=("fr-en",))
    data = task.read("fr-en", task.files()["fr-en"])
    assert (len(data.training), len(data.test), len(data.queries)) == (5000, 2000, 1936)
    assert all(data.sides[side].rows.keys() >= {pair[side] for pair in data.test} for side in (0, 1))


def test_a_rotated_space_is_aligned(tmp_path: Path) -> None:
    write(tmp_path, "en-de", numbered(*range(8)), numbered(2, 5))
    scores = bli(tmp_path, neighbours=1).evaluate(encode_codes)
    assert [(score.subset, score.metric, score.value, score.note) for score in scores[:4]] == [
        ("en-de", "accuracy_at_1", 100, ""),
        ("en-de", "mean_reciprocal_rank", 100, ""),
        ("average", "accuracy_at_1", 100, "1 of 29 subsets"),
        ("average_published", "accuracy_at_1", 100, "1 of 28 subsets"),
    ]
    write(tmp_path, "en-de", numbered(*range(8)), numbered(1), "500")
    assert bli(tmp_path, training="500").evaluate(encode_codes)[0].value == 100


def test_each_language_may_have_its_own_encoder(tmp_path: Path) -> None:
    # The encoder of one language swaps the first two directions of the other's, which no single encoder does.
    training = [(f"w{number}", f"w{number}") for number in range(8)]
    write(tmp_path, "en-de", training, training[:2])
    asked: list[Sequence[str]] = []

    def swapped(words: Sequence[str]) -> np.ndarray:
        asked.append(words)
        return encode_codes(words)[:, [1, 0, *range(2, 8)]]

    def plain(words: Sequence[str]) -> np.ndarray:
        return encode_codes([f"t{word[1:]}" for word in words])

    task = bli(tmp_path, neighbours=1, subsets=("en-de",))
    assert task.evaluate(EncodeByLanguage({"en": swapped, "de": plain}))[0].value == 100
    write(tmp_path, "en-de", [("a0", "b1"), ("a1", "b0")], [("a0", "b1")])
    asked.clear()
    task.evaluate(EncodeByLanguage({"en": swapped, "de": plain}))
    assert asked == [["a0", "a1"]], "English words alone"
    encode = EncodeByLanguage({"en": plain, "fr": plain})
    with pytest.raises(EaseError, match="No encoder for the language 'de' among en, fr: add one"):
        task.evaluate(encode)
    with pytest.raises(EaseError, match="one encoder for each of en, fr.*name a task such as bli"):
        encode(["a word of any language"])


def test_every_translation_is_correct_and_a_word_counts_once(tmp_path: Path) -> None:
    # The map aligns s2 with t2 and s3 with t3; t7 and t4 have other directions.
    write(tmp_path, "en-de", numbered(*range(8)), [("s2", "t7"), ("s2", "t2"), ("s3", "t4")])
    accuracy, reciprocal = bli(tmp_path, neighbours=1).evaluate(encode_codes)[:2]
    assert accuracy.value == 50
    # t3 is first for s3; the seven others are tied, so t4 ranks last of all eight.
    assert reciprocal.value == pytest.approx(100 * (1 + 1 / 8) / 2)


def test_the_vocabulary_file_defines_the_candidates(tmp_path: Path) -> None:
    write(tmp_path, "en-de", numbered(*range(10)), numbered(1, 2))
    (tmp_path / "words.en.txt").write_text("s1\n\ns2\ns3\n", encoding="utf-8")
    # t10 has the embedding of t2. t9 has that of t1, but comes after the first three words, so only training uses t9.
    (tmp_path / "words.de.txt").write_text("t5\n\nt6\nt10\nt9\n", encoding="utf-8")
    vocabulary = {"neighbours": 1, "vocabulary": "words.{language}.txt"}
    task = bli(tmp_path, **vocabulary, vocabulary_size=3)
    accuracy, reciprocal = task.evaluate(encode_codes)[:2]
    assert (accuracy.value, reciprocal.value) == (50, 75)
    everything = bli(tmp_path, **vocabulary, vocabulary_size=9)
    assert everything.evaluate(encode_codes)[0].value == 0
    (tmp_path / "words.de.txt").unlink()
    assert missing_files(task.files())["en-de"] == [tmp_path / "words.de.txt"]


def test_word_vectors_give_the_most_frequent_words(tmp_path: Path) -> None:
    path = tmp_path / "cc.de.300.vec.gz"
    path.write_bytes(gzip.compress(b"4 2\n, 0.1 0.2\nHaus 0.3 -0.1\nund 0.5 0.5\nder 1 0\n"))
    assert read_vocabulary(path, 3) == [",", "Haus", "und"]
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(EaseError, match=r"empty\.txt: contains no word"):
        read_vocabulary(tmp_path / "empty.txt", 3)
    with pytest.raises(EaseError, match=r"vocabulary 'words\.txt': write \{language\}"):
        bli(tmp_path, vocabulary="words.txt")
