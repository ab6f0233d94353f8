"""Word vectors are read from several text formats and averaged over words; errors name invalid lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings

from ease.encoders.encoder import embedding_dimension, load_encoder, save_encoder
from ease.encoders.encoding import encode_with, fingerprint
from ease.encoders.word_vectors import MEAN_WORD, read_word_vectors
from ease.errors import EaseError
from ease.evaluation.tasks import get_task
from ease.io.text_tables import LONGEST_LINE

stsb = get_task("stsb")

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
        ("a.txt", GLOVE),
        ("a.txt.gz", GLOVE),
        ("a.vec", "5 3\n" + GLOVE),
        ("a.vec.gz", "5 3\n" + GLOVE.replace("\n", " \n")),
        ("a.txt", "\ufeff" + GLOVE.replace("\n", "\r\n")),
        ("a.txt", GLOVE.rstrip()),
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
    assert embedding_dimension(glove) == 3
    assert [type(module) for module in glove] == [WordEmbeddings, Pooling]


def test_stop_words_are_averaged_on_request(glove: SentenceTransformer, tmp_path: Path) -> None:
    every = load_encoder(str(tmp_path / "glove.3d.txt"), stop_words=True)
    assert np.allclose(every.encode(["Berlin, the capital"]), [[4 / 3, 5 / 3, 1]])
    assert fingerprint(every) != fingerprint(glove), (
        "embeddings of one would be read from the cache of the other"
    )
    save_encoder(every, tmp_path / "saved")
    again = SentenceTransformer(str(tmp_path / "saved"), trust_remote_code=True)
    assert np.allclose(again.encode(["Berlin, the capital"]), [[4 / 3, 5 / 3, 1]])
    with pytest.raises(EaseError, match="`stop_words` is for word vectors"):
        load_encoder("bert-base-uncased", stop_words=True)


def test_sentences_of_stop_words_or_unknown_words_have_a_vector(glove: SentenceTransformer) -> None:
    mean = np.mean(list(VECTORS.values()), axis=0)
    assert np.allclose(glove.encode(["The ,", "nowhere ... at all", ""]), [[1.5, 1.5, 2], mean, mean])


def test_the_average_agrees_with_the_librarys_reader(test_data: Path, tmp_path: Path) -> None:
    lines = (test_data / "eval" / "stsb" / "sts-dev.csv").read_text(encoding="utf-8").splitlines()
    sentences = [line.split("\t")[5] for line in lines]
    words = sorted({word for sentence in sentences for word in sentence.lower().split()})
    numbers = np.random.default_rng(0).normal(size=(len(words), 20)).round(4)
    rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, numbers, strict=True)]
    path = write(tmp_path / "made.txt", "\n".join(rows))
    library = WordEmbeddings.from_text_file(str(path))
    plain = SentenceTransformer(modules=[library, Pooling(20, "mean")], device="cpu")
    ours, theirs = load_encoder(str(path)).encode(sentences), plain.encode(sentences)
    filled = np.abs(theirs).sum(axis=1) > 0
    assert filled.sum() > 1450
    assert np.allclose(ours[filled], theirs[filled], atol=1e-6)
    assert np.abs(ours).sum(axis=1).min() > 0
    (score,) = stsb.evaluate(
        encode_with(load_encoder(str(path))), stsb.options(path=test_data / "eval" / "stsb", subsets=("dev",))
    )
    assert 40 < score.value < 80


def test_words_with_spaces_and_repeated_words_are_skipped_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    text = "a 1 2\nat name@domain.com 3 4\n. . . 5 6\na 7 8\n\u00a0 9 9\ncaf\u0085 3 2\nb 0 1\n"
    words, vectors = read_word_vectors(write(tmp_path / "a.txt", text))
    assert words[1:] == ["a", "b"]
    assert vectors[1:].tolist() == [[1, 2], [0, 1]]
    assert "a.txt: 2 words of 2 dimensions (5 skipped: repeated or with spaces)" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "a 1 2\nb 1\n", "line 2: 2 columns instead of a word and 2 numbers"),
        ("a.txt", "a 1 2\nb 1 2 3\n", "line 2: 4 columns instead of a word and 2 numbers"),
        ("a.txt", "a 1 2\n\nb 1 2\n", "line 2: 1 columns instead of"),
        ("a.txt", "a 1 2\nb 1 x2\n", "line 2: 'x2' is not a number; 2 of them follow the word"),
        ("a.txt", "a 1 2\nb 1 nan\n", "line 2: the vector is not finite"),
        ("a.txt", "a 1 2\nb 1 1e60\n", "line 2: the vector is not finite"),
        ("a.vec", "3 2\na 1 2\nb 1 2\n", "has 2 words, but its first line says 3; fetch the file again"),
        ("a.vec", "2 3\na 1 2\nb 1 2\n", "line 2: 3 columns instead of a word and 3 numbers"),
        ("a.txt", "", "has no word vector"),
        ("a.txt", "Title\n", "line 1: not a word and its numbers"),
        ("a.txt", "A text without numbers\n", "line 1: 'text' is not a number"),
        ("a.txt", b"a 1 2\ncaf\xe9 1 2\n", "line 2: not UTF-8"),
        ("a.txt", b"x" * (LONGEST_LINE + 1), "line 1: longer than 1048576 bytes"),
    ],
)
def test_the_error_names_the_line_of_an_invalid_file(
    tmp_path: Path, name: str, text: str | bytes, said: str
) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(EaseError, match=said) as caught:
        load_encoder(str(path))
    assert str(caught.value).startswith(str(path))


def test_errors_name_missing_truncated_and_misnamed_files(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match=r"glove\.txt cannot be read .No such file.*check the path"):
        load_encoder(str(tmp_path / "glove.txt"))
    whole = gzip.compress(GLOVE.encode() * 2000)
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EaseError, match=r"cut\.gz is cut or damaged"):
        load_encoder(str(tmp_path / "cut.gz"))
    (tmp_path / "plain.gz").write_text(GLOVE)
    assert read_word_vectors(tmp_path / "plain.gz")[0][0] == MEAN_WORD, "read by its content"
    (tmp_path / "glove.zip").write_bytes(b"PK\x03\x04\xff\xff 1\n")
    with pytest.raises(EaseError, match=r"glove\.zip, line 1: not UTF-8 .*if it is text, convert"):
        load_encoder(str(tmp_path / "glove.zip"))


def test_word_vectors_accept_only_mean_pooling(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", GLOVE)
    with pytest.raises(EaseError, match="have no pooling 'cls': set `pooling: mean`"):
        load_encoder(str(path), "cls")


def test_saved_word_vectors_load_with_their_tokenizer(glove: SentenceTransformer, tmp_path: Path) -> None:
    save_encoder(glove, tmp_path / "saved")
    loaded = SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)
    sentences = ["Berlin, the capital", "the", "nowhere"]
    assert np.array_equal(loaded.encode(sentences), glove.encode(sentences))
