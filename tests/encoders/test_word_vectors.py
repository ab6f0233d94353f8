"""Word vectors are read from several text formats and averaged over words; errors name invalid lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.encoding import fingerprint
from ease.encoders.word_vectors import MEAN_WORD, read_word_vectors
from ease.errors import EaseError
from ease.io.text_tables import LONGEST_LINE

GLOVE = "berlin 1 0 0\ncapital 0 2 0\n, 0 0 1\nthe 3 3 3\n2004 4 0 4\n"
VECTORS = {"berlin": [1, 0, 0], "capital": [0, 2, 0], ",": [0, 0, 1], "the": [3, 3, 3], "2004": [4, 0, 4]}


def write(path: Path, text: str | bytes) -> Path:
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def glove(tmp_path: Path) -> SentenceTransformer:
    return load_encoder(str(write(tmp_path / "glove.3d.txt", GLOVE)), "mean")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", GLOVE.rstrip()),
        ("a.vec.gz", "5 3\n" + GLOVE.replace("\n", " \n")),
        ("a.txt", "\ufeff" + GLOVE.replace("\n", "\r\n")),
    ],
)
def test_every_form_holds_the_same_vectors(tmp_path: Path, name: str, text: str) -> None:
    words, vectors = read_word_vectors(write(tmp_path / name, text))
    assert words == [MEAN_WORD, *VECTORS]
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors[1:], list(VECTORS.values()))
    assert np.allclose(vectors[0], np.mean(list(VECTORS.values()), axis=0))


def test_a_sentence_is_the_mean_of_its_words(glove: SentenceTransformer) -> None:
    sentences = ["Berlin, the capital", "berlin , CAPITAL!", "(2004)", "Berlin Berlin nowhere capital"]
    expected = [
        [1 / 2, 1, 0],  # "Berlin," loses its comma, "the" is a stop word
        [1 / 2, 1, 0],  # a comma of its own is a stop word, too
        [4, 0, 4],
        [2 / 3, 2 / 3, 0],
    ]
    assert np.allclose(glove.encode(sentences), expected)


def test_stop_words_are_averaged_on_request(glove: SentenceTransformer, tmp_path: Path) -> None:
    every = load_encoder(str(tmp_path / "glove.3d.txt"), stop_words=True)
    assert np.allclose(every.encode(["Berlin, the capital"]), [[4 / 3, 5 / 3, 1]])
    assert fingerprint(every) != fingerprint(glove)
    save_encoder(every, tmp_path / "every")
    again = SentenceTransformer(str(tmp_path / "every"), device="cpu", trust_remote_code=True)
    sentences = ["Berlin, the capital", "nowhere"]
    assert np.array_equal(again.encode(sentences), every.encode(sentences))
    with pytest.raises(EaseError, match="`stop_words` is for word vectors"):
        load_encoder("bert-base-uncased", stop_words=True)


def test_words_with_spaces_and_repeated_words_are_skipped(tmp_path: Path) -> None:
    text = "a 1 2\nat name@domain.com 3 4\n. . . 5 6\na 7 8\n\u00a0 9 9\ncaf\u0085 3 2\nb 0 1\n"
    words, vectors = read_word_vectors(write(tmp_path / "a.txt", text))
    assert words[1:] == ["a", "b"]
    assert vectors[1:].tolist() == [[1, 2], [0, 1]]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "a 1 2\nb 1 x2\n", "line 2: not a word and 2 numbers: .* 'x2'"),
        ("a.txt", "a 1 2\nb 1 2 3\n", "line 2: 4 columns instead of a word and 2 numbers"),
        ("a.txt", "a 1 2\nb 1 1e60\n", "line 2: the vector is not finite"),
        ("a.vec", "3 2\na 1 2\nb 1 2\n", "has 2 words, but its first line says 3; fetch the file again"),
        ("a.txt", "", "has no word vector"),
        ("a.txt", b"a 1 2\ncaf\xe9 1 2\n", "line 2: not UTF-8"),
        ("a.txt", b"x" * (LONGEST_LINE + 1), "line 1: longer than 1048576 bytes"),
    ],
)
def test_the_error_names_the_line_of_an_invalid_file(tmp_path: Path, name: str, text: str | bytes, said: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(EaseError, match=said) as caught:
        load_encoder(str(path))
    assert str(caught.value).startswith(str(path))
