"""Test texts among training sentences: exact ones, and near duplicates by n-grams of words and by MinHash.

Texts are normalised (NFKC, case folded, punctuation and white space dropped) and cut into tokens: words, and each
character of scripts that are written without spaces. All hashes are of 64 bits and computed with NumPy over a batch of
texts at once: the hash of a run of tokens is a difference of prefix sums modulo 2^64, as in a Rabin fingerprint. The
training sentences are scanned once; memory holds the test texts' hashes and one batch.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ease.io.models import StrictModel

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]
EXACT, NGRAM, MINHASH = "exact", "n-gram", "minhash"
BASE = np.uint64(0x9E3779B97F4A7C15)
"""Base of the fingerprints; odd, and so invertible modulo 2^64."""

UNSPACED = (
    *((0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF)),
    *((0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)),
    *((0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)
"""Ranges of code points of Thai, Lao, Tibetan, Myanmar, Khmer, Japanese kana and Chinese characters."""

FILTER_BITS = 24
"""A table of 2^24 flags rejects most hashes that no test text has."""

SHIFT = np.uint64(64 - FILTER_BITS)
UNSPACED_SHINGLE = 3
EMPTY = np.uint64(2**64 - 1)
POINTS = 0x110000
BATCH = 4096
"""Texts whose fingerprints are computed at once."""


class ContaminationOptions(StrictModel):
    """Thresholds for near duplicates."""

    words: int = Field(
        13, ge=2, description="words of a run that a test text shares with a training sentence"
    )
    characters: int = Field(
        30, ge=2, description="characters of such a run where a language writes without spaces"
    )
    similarity: float = Field(
        0.8, gt=0, le=1, description="minimum Jaccard similarity of the sets of character n-grams"
    )
    shingle: int = Field(5, ge=2, description="characters of these n-grams; 3 where there are no spaces")
    bands: int = Field(20, ge=1, description="bands of MinHash: a pair is compared if one of them is equal")
    rows: int = Field(6, ge=1, description="minimal hashes of each band")


class Match(NamedTuple):
    """A training sentence that contains or nearly equals a test text."""

    kind: str
    similarity: float
    """Jaccard similarity of the character n-grams"""
    sentence: str


class Fingerprints(NamedTuple):
    """Hashes of a batch of texts, and the row of the text that each hash belongs to."""

    hashes: Hashes
    texts: Rows


@cache
def _tables() -> tuple[NDArray[np.bool_], NDArray[np.bool_], Hashes]:
    """Return for each code point whether it belongs to a word, whether it is a word by itself, and its hash."""
    words = np.array([unicodedata.category(chr(point))[0] in "LNM" for point in range(POINTS)])
    alone = np.zeros(POINTS, dtype=bool)
    for first, last in UNSPACED:
        alone[first : last + 1] = True
    return words, alone & words, _mixed(np.arange(POINTS, dtype=np.uint64))


def _mixed(values: Hashes) -> Hashes:
    """Scramble the bits of numbers (the finaliser of SplitMix64)."""
    mixed = values + BASE
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


@cache
def _powers(digits: int) -> tuple[Hashes, Hashes]:
    """Return 2^digits powers of the base and of its inverse, from 0."""
    both = []
    for base in (int(BASE), pow(int(BASE), -1, 2**64)):
        factors = np.full(2**digits, base, dtype=np.uint64)
        factors[0] = 1
        both.append(np.cumprod(factors, dtype=np.uint64))
    return both[0], both[1]


def _runs(values: Hashes, starts: Rows, lengths: Rows | int) -> Hashes:
    """Return the fingerprints of runs of values."""
    powers, inverse = _powers(len(values).bit_length())
    sums = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values * powers[: len(values)], out=sums[1:])
    return _mixed((sums[starts + lengths] - sums[starts]) * inverse[starts])


def _windows(values: Hashes, owners: Rows, length: int, chosen: NDArray[np.bool_]) -> Fingerprints:
    """Return the fingerprints of all runs of a length in the chosen texts."""
    count = len(values) - length + 1
    if count < 1:
        return Fingerprints(np.empty(0, np.uint64), np.empty(0, np.int64))
    same = (owners[:count] == owners[length - 1 :]) & chosen[owners[:count]]
    starts = np.flatnonzero(same)
    return Fingerprints(_runs(values, starts, length), owners[starts])


def _together(*found: Fingerprints) -> Fingerprints:
    hashes, texts = ([part[side] for part in found] for side in (0, 1))
    return Fingerprints(np.concatenate(hashes), np.concatenate(texts))


class Batch:
    """Fingerprints of a batch of texts, of each kind."""

    def __init__(self, texts: Sequence[str | None], options: ContaminationOptions) -> None:
        """Normalise the texts and cut them into tokens."""
        self.options, self.count = options, len(texts)
        words, alone, hashes = _tables()
        points = _code_points(texts)
        breaks = points == ord("\n")
        owners = np.cumsum(breaks, dtype=np.int64) - breaks
        inside, single = words[points], alone[points]
        before = np.append(False, inside[:-1])
        starts = inside & (~before | single | np.append(False, single[:-1]))
        ends = inside & np.append(~inside[1:] | starts[1:], True)
        first, last = np.flatnonzero(starts), np.flatnonzero(ends) + 1
        self.owners = owners[first]
        self.tokens = _runs(hashes[points], first, last - first)
        sizes = np.bincount(self.owners, minlength=self.count)
        self.unspaced = 2 * np.bincount(self.owners[single[first]], minlength=self.count) > sizes
        # Letters, with one space after each word.
        kept = inside | before
        self.letters = hashes[np.where(inside, points, ord(" "))[kept]]
        self.of_letters = owners[kept]

    def whole(self) -> Fingerprints:
        """Return the fingerprint of each text that has a word."""
        first = np.flatnonzero(np.append(True, self.owners[1:] != self.owners[:-1])[: len(self.owners)])
        lengths = np.diff(np.append(first, len(self.owners)))
        return Fingerprints(_runs(self.tokens, first, lengths), self.owners[first])

    def ngrams(self) -> Fingerprints:
        """Return the fingerprints of all runs of tokens."""
        spaced = _windows(self.tokens, self.owners, self.options.words, ~self.unspaced)
        unspaced = _windows(self.tokens, self.owners, self.options.characters, self.unspaced)
        return _together(spaced, unspaced)

    def shingles(self) -> Fingerprints:
        """Return the fingerprints of all runs of letters."""
        spaced = _windows(self.letters, self.of_letters, self.options.shingle, ~self.unspaced)
        unspaced = _windows(self.letters, self.of_letters, UNSPACED_SHINGLE, self.unspaced)
        return _together(spaced, unspaced)

    def bands(self) -> Fingerprints:
        """Return the bands of MinHash: one permutation, whose empty bins have the value of the last filled one.

        References: Shrivastava and Li 2014, "Densifying one permutation hashing".
        """
        bins = self.options.bands * self.options.rows
        hashes, owners = self.shingles()
        rows, numbers = np.unique(owners, return_inverse=True)
        minima = np.full(len(rows) * bins, EMPTY, dtype=np.uint64)
        np.minimum.at(minima, numbers * bins + (hashes % np.uint64(bins)).astype(np.int64), hashes)
        twice = np.tile(minima.reshape(-1, bins), 2)
        filled = np.maximum.accumulate(np.where(twice != EMPTY, np.arange(2 * bins), 0), axis=1)
        values = np.take_along_axis(twice, filled[:, bins:], axis=1)
        # The bins of a band are far from each other, so that few of them have the value of the same filled bin.
        banded = values.reshape(len(rows), self.options.rows, self.options.bands)
        powers, _ = _powers(self.options.rows.bit_length())
        mixed = (banded * powers[: self.options.rows, None]).sum(axis=1, dtype=np.uint64)
        keys = _mixed(mixed + _mixed(np.arange(self.options.bands, dtype=np.uint64)))
        return Fingerprints(keys.ravel(), np.repeat(rows, self.options.bands))

    def fingerprints(self) -> dict[str, Fingerprints]:
        """Return the fingerprints of each kind."""
        return {EXACT: self.whole(), NGRAM: self.ngrams(), MINHASH: self.bands()}


def _code_points(texts: Sequence[str | None]) -> NDArray[np.uint32]:
    """Return the normalised texts, each with a line break after it, as code points."""
    joined = "\n".join((text or "").replace("\n", " ") for text in texts) + "\n"
    if not joined.isascii():
        joined = unicodedata.normalize("NFKC", joined)
    return np.frombuffer(joined.casefold().encode("utf-32-le"), dtype=np.uint32)


class _Sorted:
    """Hashes of test texts of one kind, in order, and a table that rejects most other hashes."""

    def __init__(self, found: Sequence[Fingerprints]) -> None:
        hashes, texts = _together(*found)
        order = np.argsort(hashes, kind="stable")
        self.hashes, self.texts = hashes[order], texts[order]
        self.flags = np.zeros(2**FILTER_BITS, dtype=bool)
        self.flags[self.hashes >> SHIFT] = True

    def find(self, found: Fingerprints) -> Iterator[tuple[int, int]]:
        """Yield (row of a text, row of a test text) for equal hashes."""
        likely = np.flatnonzero(self.flags[found.hashes >> SHIFT])
        hashes = found.hashes[likely]
        first, end = (np.searchsorted(self.hashes, hashes, side) for side in ("left", "right"))
        for place in np.flatnonzero(end > first):
            for text in self.texts[first[place] : end[place]]:
                yield int(found.texts[likely[place]]), int(text)


class TestIndex:
    """Index of the fingerprints of test texts; finds training sentences that contain or nearly equal a test text."""

    __test__ = False  # no class of tests

    def __init__(self, texts: Sequence[str], options: ContaminationOptions) -> None:
        """Compute the fingerprints of the test texts."""
        self.options, self.texts = options, list(texts)
        found: dict[str, list[Fingerprints]] = {EXACT: [], NGRAM: [], MINHASH: []}
        for start in range(0, len(self.texts), BATCH):
            for kind, own in Batch(self.texts[start : start + BATCH], options).fingerprints().items():
                found[kind].append(Fingerprints(own.hashes, own.texts + start))
        self.sorted = {kind: _Sorted(parts) for kind, parts in found.items() if parts}

    def candidates(self, sentences: Sequence[str | None]) -> dict[str, set[tuple[int, int]]]:
        """Return (row of a sentence, row of a test text) by kind; for MinHash, similarities are not compared yet."""
        found = Batch(sentences, self.options).fingerprints()
        return {kind: set(own.find(found[kind])) for kind, own in self.sorted.items()}

    def matches(self, sentences: Sequence[str | None]) -> Iterator[tuple[int, Match]]:
        """Yield the row of a test text and its match for each sentence that contains or nearly equals it."""
        candidates = self.candidates(sentences)
        kinds = {pair: kind for kind in (MINHASH, NGRAM, EXACT) for pair in candidates.get(kind, ())}
        own = self._sets(sentences, {row for row, _ in kinds})
        tested = self._sets(self.texts, {text for _, text in kinds})
        for (row, text), kind in kinds.items():
            similarity = jaccard(own[row], tested[text])
            if kind != MINHASH or similarity >= self.options.similarity:
                yield text, Match(kind, 1.0 if kind == EXACT else similarity, sentences[row] or "")

    def _sets(self, texts: Sequence[str | None], rows: Iterable[int]) -> dict[int, NDArray[np.uint64]]:
        """Return the distinct character n-grams of some of the texts, in order."""
        chosen = sorted(rows)
        hashes, owners = Batch([texts[row] for row in chosen], self.options).shingles()
        order = np.lexsort((hashes, owners))
        parts = np.split(hashes[order], np.searchsorted(owners[order], np.arange(1, len(chosen))))
        return dict(zip(chosen, map(_distinct, parts), strict=False))


def _distinct(ordered: Hashes) -> Hashes:
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]


def jaccard(first: Hashes, second: Hashes) -> float:
    """Return the Jaccard similarity of two sets of numbers in ascending order."""
    if not len(first) or not len(second):
        return 0.0
    places = np.minimum(np.searchsorted(second, first), len(second) - 1)
    shared = int(np.count_nonzero(second[places] == first))
    return shared / (len(first) + len(second) - shared)


def best_matches(index: TestIndex, batches: Iterable[Sequence[str | None]]) -> dict[int, tuple[Match, int]]:
    """Return the best match of each test text that has one, and how many sentences match it."""
    order = {kind: rank for rank, kind in enumerate((EXACT, NGRAM, MINHASH))}
    best: dict[int, tuple[Match, int]] = {}
    for sentences in batches:
        for text, match in index.matches(sentences):
            known, count = best.get(text, (match, 0))
            key = (order[match.kind], -match.similarity, match.sentence)
            if key < (order[known.kind], -known.similarity, known.sentence):
                known = match
            best[text] = known, count + 1
    return best
