"""Encoders that average word vectors from text files such as those of GloVe, word2vec and fastText."""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
from torch import nn

from ease.errors import EaseError
from ease.io.progress import ProgressBar
from ease.io.text_tables import read_lines

logger = logging.getLogger(__name__)

MEAN_ROW = 0
MEAN_WORD = "(mean of all words)"
"""Contains spaces, so no token of a sentence equals it."""


class WordTokenizer(WhitespaceTokenizer):
    """Looks up words as written, else without surrounding punctuation, else lower-cased.

    By default the library's English stop words are skipped unless a sentence has no other words. The STS scores of
    averaged GloVe vectors that the papers cite (EASE's tables 1 and 14, and SimCSE) must exclude them: with all words,
    STS-B is 41 points (Cer et al., 2017) instead of 58. For clustering (table 15), EASE's authors average all words. A
    sentence without known words gets the mean vector of all words, because a zero vector has no cosine.
    """

    def __init__(self, words: Iterable[str], keep_stop_words: bool = False) -> None:
        super().__init__(words)
        if keep_stop_words:
            self.stop_words = set()
        self._with_stop_words = WhitespaceTokenizer(stop_words=())
        self._with_stop_words.word2idx = self.word2idx

    def __repr__(self) -> str:
        stop_words = ", stop words included"
        if self.stop_words:
            stop_words = ""
        return f"WordTokenizer({len(self.word2idx)} words{stop_words})"

    def tokenize(self, text: str, **kwargs: object) -> list[int]:
        """Return the rows of a sentence's words, at least one."""
        return super().tokenize(text) or self._with_stop_words.tokenize(text) or [MEAN_ROW]

    @staticmethod
    def load(input_path: str) -> WordTokenizer:
        """Load a saved tokenizer."""
        saved = WhitespaceTokenizer.load(input_path)
        return WordTokenizer(saved.get_vocab(), keep_stop_words=not saved.stop_words)


def load_word_vectors(path: Path, *, stop_words: bool = False) -> SentenceTransformer:
    """Return an encoder that averages the vectors of a sentence's words (appendix F: average GloVe embeddings).

    With `stop_words`, it also averages stop words. A saved one loads only with `trust_remote_code`, because of its
    tokenizer.
    """
    words, vectors = read_word_vectors(path)
    # Built with one row, because the constructor would initialise a complete random table first.
    embeddings = WordEmbeddings(WordTokenizer(words, stop_words), vectors[:1])
    embeddings.emb_layer = nn.Embedding.from_pretrained(torch.from_numpy(vectors))
    return SentenceTransformer(modules=[embeddings, Pooling(vectors.shape[1], "mean")], device="cpu")


def read_word_vectors(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Read lines of a word and its numbers, separated by spaces, with or without word2vec's header.

    Repeated words, and words that contain spaces (as in GloVe's vectors of Common Crawl), are skipped and logged.

    Args:
        path: UTF-8 text, plain or compressed by gzip or bzip2.

    Returns:
        The words and their vectors, (words, dimension); row 0 (`MEAN_WORD`) is the mean of the others.
    """
    rows = {MEAN_WORD: MEAN_ROW}
    # 4 bytes a number; a list of Python's numbers would take 8 for the reference and 24 for the number.
    values = array("f")
    skipped = 0
    count: int | None = None
    dimension = 0
    for number, text in ProgressBar(read_lines(path), desc=f"Read {path.name}", unit="word", leave=True):
        fields = text.rstrip(" ").split(" ")  # some tools end lines with a space
        if number == 1:
            dimension = len(fields) - 1
            if len(fields) == 2 and all(field.isdecimal() for field in fields):
                # word2vec's header
                count = int(fields[0])
                dimension = int(fields[1])
            if dimension < 1:
                raise EaseError(f"{path}, line 1: not a word and its numbers, separated by spaces.")
            values.extend([0.0] * dimension)
            if count is not None:
                continue
        word, vector = _parse(fields, dimension, f"{path}, line {number}")
        if word in rows or word.split() != [word]:
            skipped += 1
        else:
            rows[word] = len(rows)
            values.extend(vector)
    words = len(rows) - 1 + skipped
    if not words:
        raise EaseError(f"{path}: has no word vector.")
    if count not in (None, words):
        raise EaseError(f"{path}: has {words} words, but its first line says {count}; fetch the file again.")
    vectors = np.frombuffer(values, dtype=np.float32).reshape(len(rows), dimension)
    # A sum of a million numbers in single precision loses digits.
    vectors[MEAN_ROW] = vectors[1:].mean(axis=0, dtype=np.float64)
    logger.info(
        "%s: %d words of %d dimensions (%d skipped: repeated or with spaces)",
        path,
        len(rows) - 1,
        dimension,
        skipped,
    )
    return list(rows), vectors


def _parse(fields: list[str], dimension: int, place: str) -> tuple[str, array[float]]:
    """Split a line into its word, which may contain spaces, and its last `dimension` numbers."""
    try:
        vector = array("f", map(float, fields[-dimension:]))
    except ValueError as error:  # could not convert string to float: 'x'
        raise EaseError(f"{place}: not a word and {dimension} numbers: {error}.") from None
    word = " ".join(fields[:-dimension])
    if not word or (len(fields) > dimension + 1 and _is_number(fields[-dimension - 1])):
        raise EaseError(f"{place}: {len(fields)} columns instead of a word and {dimension} numbers.")
    if not math.isfinite(sum(vector)):
        raise EaseError(f"{place}: the vector is not finite.")
    return word, vector


def _is_number(text: str) -> bool:
    try:
        return float(text) is not None
    except ValueError:
        return False
