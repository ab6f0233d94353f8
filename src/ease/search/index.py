"""An index on disk: the nearest sentences of an embedding, exactly or by faiss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.evaluation.search import nearest_neighbours
from ease.io.suggestions import suggest
from ease.search.approximate import APPROXIMATE, load_faiss, search_approximate
from ease.search.building import SENTENCES, block_file, read_description
from ease.search.table import Rows

CANDIDATES = 8
"""Sentences that are compared exactly after a search by faiss, as a multiple of those wanted."""


class Near(NamedTuple):
    """Rows of an index, nearest first, and their cosines."""

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


class Index:
    """The embedded sentences of a folder; those that are not embedded yet are not found.

    A search reads the vectors from the disk, one block at a time, so that memory holds a block and the results.
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder.

        Raises:
            EaseError: If the folder has no index.
        """
        self.folder = folder
        self.description = read_description(folder)
        self.sentences = Rows(folder / SENTENCES)
        self._count = len(self.description.blocks())
        self._blocks: dict[tuple[int, int], NDArray[np.float32]] = {}

    @property
    def languages(self) -> list[str]:
        """The languages of the sentences."""
        return sorted(self.description.languages)

    def embedded(self) -> int:
        """Return the number of sentences that have an embedding by now."""
        return sum(end - start for start, end in self._embedded_blocks())

    @property
    def complete(self) -> bool:
        """Whether all sentences have an embedding."""
        return self.embedded() == self.description.rows

    def nearest(self, query: NDArray[np.floating], k: int, languages: Sequence[str] | None = None) -> Near:
        """Return the k nearest sentences by cosine; fewer if there are fewer.

        Args:
            query: (dimension,), any length but zero.
            k: Number of sentences.
            languages: Languages to search; None: all.

        Raises:
            EaseError: If k is below 1, or a language has no sentence.
        """
        if k < 1:
            raise EaseError(f"{k} sentences: ask for at least 1.")
        ranges = self._ranges(languages)
        unit = (query / np.linalg.norm(query)).astype(np.float32)
        if self._approximate is not None:
            found = search_approximate(self._approximate, unit, k * CANDIDATES, ranges)
            cosines = self.vectors(found) @ unit if len(found) else np.empty(0, np.float32)
            return best([found], [cosines], k)
        parts = [
            self._nearest_in(block, part, unit, k)
            for block in list(self._embedded_blocks())
            for part in ranges
        ]
        return best([near.rows for near in parts], [near.cosines for near in parts], k)

    def _nearest_in(
        self, block: tuple[int, int], part: tuple[int, int], unit: NDArray[np.float32], k: int
    ) -> Near:
        """Return the nearest rows of a block that are in a range of rows."""
        first, last = max(part[0], block[0]), min(part[1], block[1])
        if first >= last:
            return Near(np.empty(0, np.int64), np.empty(0, np.float32))
        vectors = self._embedded_blocks()[block][first - block[0] : last - block[0]]
        found = nearest_neighbours(unit[None], vectors, k, unit_rows=True)
        return Near(found.rows[0] + first, found.cosines[0])

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the unit vectors of rows that are embedded, (rows, dimension)."""
        blocks, size = self._embedded_blocks(), self.description.block
        return np.stack([blocks[self._block_of(int(row))][int(row) % size] for row in rows])

    def embedded_rows(self, language: str, count: int, seed: int) -> NDArray[np.int64]:
        """Draw embedded rows of a language: at most `count`, ascending."""
        start, end = self.description.languages[language]
        rows = [np.arange(max(start, first), min(end, last)) for first, last in self._embedded_blocks()]
        own = np.sort(np.concatenate([np.empty(0, np.int64), *rows]))
        drawn = np.random.default_rng(seed).choice(len(own), min(count, len(own)), replace=False)
        return np.asarray(own[np.sort(drawn)], dtype=np.int64)

    def _ranges(self, languages: Sequence[str] | None) -> list[tuple[int, int]]:
        known = self.description.languages
        for language in languages or ():
            if language not in known:
                raise EaseError(f"No sentence in the language {language!r}: {suggest(language, known)}")
        if not languages:
            return [(0, self.description.rows)]
        return [known[language] for language in dict.fromkeys(languages)]

    def _block_of(self, row: int) -> tuple[int, int]:
        start = row - row % self.description.block
        return start, min(start + self.description.block, self.description.rows)

    def _embedded_blocks(self) -> dict[tuple[int, int], NDArray[np.float32]]:
        """Return the vectors of the finished blocks, mapped from the disk."""
        for block in self.description.blocks() if len(self._blocks) < self._count else ():
            if block not in self._blocks and (path := block_file(self.folder, *block)).exists():
                self._blocks[block] = np.load(path, mmap_mode="r")
        return self._blocks

    @cached_property
    def _faiss(self) -> Any:
        faiss = load_faiss()
        return faiss.read_index(str(self.folder / APPROXIMATE), faiss.IO_FLAG_MMAP)

    @property
    def _approximate(self) -> Any:
        """faiss's index, mapped from the disk; None if the index is searched exactly."""
        return self._faiss if (self.folder / APPROXIMATE).exists() else None


def best(rows: list[NDArray[np.int64]], cosines: list[NDArray[np.float32]], k: int) -> Near:
    """Return the k highest cosines; equal ones in the order of the rows."""
    if not rows:
        return Near(np.empty(0, np.int64), np.empty(0, np.float32))
    all_rows, all_cosines = np.concatenate(rows), np.concatenate(cosines)
    order = np.lexsort((all_rows, -all_cosines))[:k]
    return Near(all_rows[order], all_cosines[order])
