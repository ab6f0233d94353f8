"""An index on disk: the sentences nearest to an embedding, exactly or by faiss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ease.entities.links import SENTENCE_KEY
from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.io.locks import folder_lock
from ease.io.parquet import read_parquet
from ease.lazy import ibis
from ease.names import suggest
from ease.similarity.encode import Encode
from ease.similarity.neighbours import nearest_neighbours
from ease.similarity.vectors import normalize_rows

INDEX_SENTENCES = "sentences.parquet"
APPROXIMATE = "vectors.faiss"
MEMORY_MEGABYTES = 1_024
"""Memory for sorting, and for the compressed vectors"""
EXACT_LIMIT = 1_000_000
"""Sentences up to which a search compares all of them"""
SMALLEST_BLOCK = 1_024
LARGEST_BLOCK = 16_384
"""Rows of a block"""
SMALL_INDEX_BLOCKS = 64
"""Blocks of an index whose blocks are neither the smallest nor the largest"""
ROW_GROUP = 16_384
"""Rows of a group of the file: a search reads only the groups of its results."""
CANDIDATES_PER_RESULT = 8
"""Sentences that are compared exactly after a search by faiss, as a multiple of the results"""
TRAINING_ROWS_PER_LIST = 64
"""Rows of each list that faiss is trained with"""
LISTS_SEARCHED = 64
"""Lists of faiss that a search reads"""


class ParquetRows:
    """Rows of a Parquet file by number; memory holds one row group at a time."""

    def __init__(self, file: Path) -> None:
        self._file = pq.ParquetFile(file)
        groups = map(self._file.metadata.row_group, range(self._file.num_row_groups))
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def rows(self, numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return the rows with all columns, in the order of their numbers' array."""
        rows: dict[int, dict[str, Any]] = {}
        groups = np.searchsorted(self._starts, numbers, side="right") - 1
        for group in np.unique(groups):
            inside = np.unique(numbers[groups == group])
            table = self._file.read_row_group(int(group)).take(inside - self._starts[group])
            rows |= dict(zip(inside.tolist(), table.to_pylist(), strict=True))
        return [rows[number] for number in numbers.tolist()]

    def column(self, name: str, start: int, end: int) -> Any:
        """Return a column of a range of rows as an Arrow array."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, end, side="left"))
        groups = self._file.read_row_groups([*range(first, last)], [name])
        return groups[name].slice(start - int(self._starts[first]), end - start).combine_chunks()


class NearestRows(NamedTuple):
    """Rows of an index, nearest first, and their cosines."""

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


class Index:
    """The embedded sentences of a folder; those that are not embedded yet are not found.

    A search reads the vectors from the disk, one block at a time, so that memory holds a block and the results.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sentences = ParquetRows(folder / INDEX_SENTENCES)
        rows = len(self.sentences)
        self.block_size = min(LARGEST_BLOCK, max(SMALLEST_BLOCK, rows // SMALL_INDEX_BLOCKS))
        self.blocks = [*range(0, rows, self.block_size)]
        """First row of each block"""
        self._embedded: dict[int, NDArray[np.float32]] = {}

    @cached_property
    def languages(self) -> dict[str, tuple[int, int]]:
        """First row of each language and the row after its last; the rows are ordered by language."""
        engine = ibis.duckdb.connect()
        table = read_parquet(engine, [self.folder / INDEX_SENTENCES])
        counts = table.group_by("language").agg(rows=table.count()).order_by("language").to_pandas()
        engine.disconnect()
        return dict(zip(counts["language"], pairwise(accumulate(counts["rows"], initial=0)), strict=True))

    def embedded(self) -> int:
        """Return the number of sentences embedded so far."""
        return sum(map(len, self.vectors().values()))

    def vectors(self) -> dict[int, NDArray[np.float32]]:
        """Return the unit vectors of the finished blocks by their first rows, mapped from the disk."""
        # A complete index is not searched for further files.
        if len(self._embedded) < len(self.blocks):
            for start in self.blocks:
                path = self.block_file(start)
                if start not in self._embedded and path.exists():
                    self._embedded[start] = np.load(path, mmap_mode="r")
        return self._embedded

    def block_file(self, start: int) -> Path:
        """Return the file of a block's unit vectors, (rows, dimension) float32."""
        end = min(start + self.block_size, len(self.sentences))
        return self.folder / f"vectors-{start:010d}-{end:010d}.npy"

    def nearest(self, query: NDArray[np.floating], k: int, languages: Sequence[str] = ()) -> NearestRows:
        """Return the k nearest sentences by cosine; fewer if there are fewer.

        Args:
            query: (dimension,), of any length but zero.
            k: Number of sentences.
            languages: Languages to search; empty: all.

        Raises:
            EaseError: If the index has no sentence in a language.
        """
        for language in languages:
            if language not in self.languages:
                raise EaseError(f"No sentence in the language {language!r}: {suggest(language, self.languages)}")
        ranges = [self.languages[name] for name in dict.fromkeys(languages)] or [(0, len(self.sentences))]
        unit = (query / np.linalg.norm(query)).astype(np.float32)
        if (self.folder / APPROXIMATE).exists():
            rows, cosines = self._score_candidates(unit, k * CANDIDATES_PER_RESULT, ranges)
        else:
            rows, cosines = self._score_blocks(unit, k, ranges)
        # Equal cosines in the order of the rows, so that results do not depend on the order of the blocks.
        order = np.lexsort((rows, -cosines))[:k]
        return NearestRows(rows[order], cosines[order])

    def _score_blocks(self, unit: NDArray[np.float32], k: int, ranges: Sequence[tuple[int, int]]) -> NearestRows:
        """Return the k nearest rows of each block and range, unordered."""
        # Empty arrays to begin with: an index may have no block in the ranges yet.
        rows = [np.empty(0, np.int64)]
        cosines = [np.empty(0, np.float32)]
        # A list, since another thread may add blocks meanwhile.
        for (start, block), (first, last) in product(list(self.vectors().items()), ranges):
            inside = block[max(first - start, 0) : max(last - start, 0)]
            if len(inside):
                neighbours = nearest_neighbours(unit[None], inside, k, unit_rows=True)
                rows.append(neighbours.rows[0] + max(first, start))
                cosines.append(neighbours.cosines[0])
        return NearestRows(np.concatenate(rows), np.concatenate(cosines))

    def _score_candidates(
        self, unit: NDArray[np.float32], count: int, ranges: Sequence[tuple[int, int]]
    ) -> NearestRows:
        """Return the candidates of faiss with their exact cosines, unordered."""
        rows = [np.empty(0, np.int64)]
        cosines = [np.empty(0, np.float32)]
        vectors = self.vectors()
        for row in self._candidates(unit, count, ranges):
            place = row % self.block_size
            rows.append(np.array([row]))
            cosines.append(vectors[row - place][place : place + 1] @ unit)
        return NearestRows(np.concatenate(rows), np.concatenate(cosines))

    def _candidates(self, query: NDArray[np.float32], count: int, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Return the rows of approximately the nearest vectors: at most `count` in each range of rows."""
        faiss = load_faiss()
        candidates: list[int] = []
        for start, end in ranges:
            selector = faiss.IDSelectorRange(start, end)
            options = faiss.SearchParametersIVF(sel=selector, nprobe=min(LISTS_SEARCHED, self._faiss.nlist))
            rows = self._faiss.search(query[None], count, params=options)[1][0]
            # faiss fills up with -1 if there are fewer.
            candidates += rows[rows >= 0].tolist()
        return candidates

    @cached_property
    def _faiss(self) -> Any:
        faiss = load_faiss()
        return faiss.read_index(str(self.folder / APPROXIMATE), faiss.IO_FLAG_MMAP)


def build_index(
    folder: Path,
    encode: Encode,
    sentences: list[Path],
    links: list[Path],
    report: Callable[[int, int], None] = lambda embedded, total: None,
) -> None:
    """Build or complete an index; a later call continues where a killed one stopped.

    Args:
        folder: Folder of the index of this encoder and these tables, and of no others; created if missing.
        encode: The encoder.
        sentences: Files of the sentences.
        links: Files of their links; empty if no sentence has a known entity.
        report: Called with the number of sentences embedded so far, and the number of all sentences.

    Raises:
        EaseError: If no sentence has a letter or digit.
    """
    with folder_lock(folder):
        if not (folder / INDEX_SENTENCES).exists():
            write_sentences(folder / INDEX_SENTENCES, sentences, links)
        index = Index(folder)
        embedded = 0
        if not index.blocks:
            raise EaseError("The table of sentences is empty: there is nothing to search.")
        # An order that mixes the languages, so that a part of the index is useful
        for start in np.random.default_rng(0).permutation(index.blocks).tolist():
            end = min(start + index.block_size, len(index.sentences))
            path = index.block_file(start)
            if not path.exists():
                vectors = normalize_rows(encode(index.sentences.column("text", start, end).to_pylist()))
                with atomic_path(path) as partial, partial.open("wb") as file:
                    np.save(file, vectors.astype(np.float32))
            embedded += end - start
            report(embedded, len(index.sentences))
        if embedded > EXACT_LIMIT and not (folder / APPROXIMATE).exists():
            _build_approximate(folder / APPROXIMATE, [index.vectors()[start] for start in index.blocks])


def _build_approximate(target: Path, vectors: Sequence[NDArray[np.float32]]) -> None:
    """Compress all blocks of unit vectors, in the order of the rows, into one file."""
    faiss = load_faiss()
    rows = sum(map(len, vectors))
    dimension = vectors[0].shape[1]
    # About 4√n lists, as faiss's guidelines advise, if there are enough rows to train them.
    max_lists = max(1, rows // TRAINING_ROWS_PER_LIST)
    lists = 2 ** math.floor(math.log2(min(4 * math.sqrt(rows), max_lists)))
    index = faiss.index_factory(dimension, f"IVF{lists},{vector_code(rows, dimension)}", faiss.METRIC_INNER_PRODUCT)
    step = max(1, rows // min(rows, lists * TRAINING_ROWS_PER_LIST))
    index.train(np.concatenate([block[::step] for block in vectors]))
    for block in vectors:
        index.add(np.ascontiguousarray(block))
    with atomic_path(target) as partial:
        faiss.write_index(index, str(partial))


def vector_code(rows: int, dimension: int) -> str:
    """Return faiss's name of the most exact code that fits into `MEMORY_MEGABYTES`.

    It is one byte per dimension if that fits, else a product quantizer with as many bytes per vector as fit.
    """
    # 8 bytes hold the row's number.
    available = MEMORY_MEGABYTES * 10**6 / rows - 8
    if available >= dimension:
        return "SQ8"
    # A product quantizer splits the dimensions into parts of equal size.
    sizes = [size for size in range(4, dimension) if dimension % size == 0 and size <= available]
    return f"PQ{max(sizes, default=4)}"


def load_faiss() -> Any:
    """Import faiss."""
    try:
        import faiss
    except ImportError as error:
        raise EaseError(
            "An index of so many sentences needs faiss: install the extra `demo`, or `pip install faiss-cpu`."
        ) from error
    return faiss


def write_sentences(target: Path, sentences: list[Path], links: list[Path]) -> None:
    """Write the sentences that have a letter or digit, with their links, in a fixed order; DuckDB spills to disk."""
    engine = ibis.duckdb.connect(memory_limit=f"{MEMORY_MEGABYTES}MB", temp_directory=str(target.parent / "spill"))
    key = list(SENTENCE_KEY)
    table = read_parquet(engine, sentences).select(*key, "page_title", "text")
    table = table.filter(table.text.re_search(r"[\pL\pN]"))
    if links:
        linked = read_parquet(engine, links).select(*key, "entity", "title").distinct()
        # Sorted after the aggregate: an aggregate that sorts needs many times the memory, and cannot spill.
        pairs = ibis.struct({"entity": linked.entity, "title": linked.title}).collect()
        of_sentence = linked.group_by(key).agg(pairs=pairs.sort())
        linking = of_sentence.select(
            *key,
            entities=of_sentence.pairs.map(lambda pair: pair["entity"]),
            titles=of_sentence.pairs.map(lambda pair: pair["title"]),
        )
        table = table.left_join(linking, key).select(*table.columns, "entities", "titles")
    else:
        table = table.mutate(entities=ibis.null("array<int64>"), titles=ibis.null("array<string>"))
    with atomic_path(target) as partial:
        table.order_by(key).to_parquet(partial, row_group_size=ROW_GROUP)
    engine.disconnect()
