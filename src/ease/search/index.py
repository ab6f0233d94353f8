"""An index on disk: the nearest sentences of an embedding, exactly or by faiss."""

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

SENTENCES, APPROXIMATE = "sentences.parquet", "vectors.faiss"
MEMORY = 1_024
"""Megabytes for sorting, and for the compressed vectors"""
EXACT_LIMIT = 1_000_000
"""Sentences up to which a search compares all of them"""
SMALLEST_BLOCK, LARGEST_BLOCK, BLOCKS = 1_024, 16_384, 64
"""Rows of a block, and the number of blocks that small indexes have."""
ROW_GROUP = 16_384
"""Rows of a group of the file: a search reads the groups of its results alone."""
CANDIDATES = 8
"""Sentences that are compared exactly after a search by faiss, as a multiple of those wanted."""
TRAINING_ROWS_PER_LIST, PROBED = 64, 64
"""Rows of each list that faiss is trained with, and lists that a search reads."""


class Rows:
    """Rows of a Parquet file by their number; memory holds one row group at a time."""

    def __init__(self, file: Path) -> None:
        self._file = pq.ParquetFile(file)
        groups = map(self._file.metadata.row_group, range(self._file.num_row_groups))
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def rows(self, wanted: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return rows with all columns, in the order of the numbers."""
        found: dict[int, dict[str, Any]] = {}
        groups = np.searchsorted(self._starts, wanted, side="right") - 1
        for group in np.unique(groups):
            inside = np.unique(wanted[groups == group])
            taken = self._file.read_row_group(int(group)).take(inside - self._starts[group])
            found |= dict(zip(inside.tolist(), taken.to_pylist(), strict=True))
        return [found[row] for row in wanted.tolist()]

    def column(self, name: str, start: int, end: int) -> Any:
        """Return a column of a range of rows as an array of Arrow."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, end, side="left"))
        groups = self._file.read_row_groups([*range(first, last)], [name])
        return groups[name].slice(start - int(self._starts[first]), end - start).combine_chunks()


class Near(NamedTuple):
    """Rows of an index, nearest first, and their cosines."""

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


class Index:
    """The embedded sentences of a folder; those that are not embedded yet are not found.

    A search reads the vectors from the disk, one block at a time, so that memory holds a block and the results.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.sentences = folder, Rows(folder / SENTENCES)
        rows = len(self.sentences)
        self.block_size = min(LARGEST_BLOCK, max(SMALLEST_BLOCK, rows // BLOCKS))
        self.blocks = [*range(0, rows, self.block_size)]
        """First row of each block"""
        self._embedded: dict[int, NDArray[np.float32]] = {}

    @cached_property
    def languages(self) -> dict[str, tuple[int, int]]:
        """First row of each language and the row after its last; the rows are ordered by language."""
        engine = ibis.duckdb.connect()
        table = read_parquet(engine, [self.folder / SENTENCES])
        counted = table.group_by("language").agg(rows=table.count()).order_by("language").to_pandas()
        engine.disconnect()
        return dict(zip(counted["language"], pairwise(accumulate(counted["rows"], initial=0)), strict=True))

    def embedded(self) -> int:
        """Return the number of sentences that have an embedding by now."""
        return sum(map(len, self.vectors().values()))

    def vectors(self) -> dict[int, NDArray[np.float32]]:
        """Return the unit vectors of the finished blocks by their first rows, mapped from the disk."""
        for start in self.blocks if len(self._embedded) < len(self.blocks) else ():
            if start not in self._embedded and (path := self.block_file(start)).exists():
                self._embedded[start] = np.load(path, mmap_mode="r")
        return self._embedded

    def block_file(self, start: int) -> Path:
        """Return the file of a block's unit vectors, (rows, dimension) float32."""
        end = min(start + self.block_size, len(self.sentences))
        return self.folder / f"vectors-{start:010d}-{end:010d}.npy"

    def nearest(self, query: NDArray[np.floating], k: int, languages: Sequence[str] = ()) -> Near:
        """Return the k nearest sentences by cosine; fewer if there are fewer.

        Args:
            query: (dimension,), any length but zero.
            k: Number of sentences.
            languages: Languages to search; none: all.
        """
        for language in languages:
            if language not in self.languages:
                raise EaseError(f"No sentence in the language {language!r}: {suggest(language, self.languages)}")
        ranges = [self.languages[name] for name in dict.fromkeys(languages)] or [(0, len(self.sentences))]
        unit = (query / np.linalg.norm(query)).astype(np.float32)
        rows, cosines = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        vectors = self.vectors()
        if (self.folder / APPROXIMATE).exists():
            for row in self._candidates(unit, k * CANDIDATES, ranges):
                place = row % self.block_size
                rows.append(np.array([row]))
                cosines.append(vectors[row - place][place : place + 1] @ unit)
        else:
            for (start, block), (first, last) in product(list(vectors.items()), ranges):
                inside = block[max(first - start, 0) : max(last - start, 0)]
                if len(inside):
                    exact = nearest_neighbours(unit[None], inside, k, unit_rows=True)
                    rows.append(exact.rows[0] + max(first, start))
                    cosines.append(exact.cosines[0])
        all_rows, all_cosines = np.concatenate(rows), np.concatenate(cosines)
        order = np.lexsort((all_rows, -all_cosines))[:k]  # equal ones in the order of the rows
        return Near(all_rows[order], all_cosines[order])

    def _candidates(self, query: NDArray[np.float32], count: int, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Return the rows of about the nearest vectors: at most `count` of each range of rows."""
        faiss, found = load_faiss(), list[int]()
        for start, end in ranges:
            chosen = faiss.IDSelectorRange(start, end)
            options = faiss.SearchParametersIVF(sel=chosen, nprobe=min(PROBED, self._faiss.nlist))
            rows = self._faiss.search(query[None], count, params=options)[1][0]
            found += rows[rows >= 0].tolist()
        return found

    @cached_property
    def _faiss(self) -> Any:
        return load_faiss().read_index(str(self.folder / APPROXIMATE), load_faiss().IO_FLAG_MMAP)


def build_index(
    folder: Path,
    encode: Encode,
    sentences: list[Path],
    links: list[Path],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Build or complete an index; a later call continues where a killed one stopped.

    Args:
        folder: The index of this encoder and these tables alone; created if missing.
        encode: The encoder.
        sentences: Files of the sentences.
        links: Files of their links; none if no sentence has a known entity.
        report: Called with the sentences embedded so far and their number.
    """
    with folder_lock(folder):
        if not (folder / SENTENCES).exists():
            write_sentences(folder / SENTENCES, sentences, links)
        index, done = Index(folder), 0
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
            done += end - start
            report(done, len(index.sentences))
        if done > EXACT_LIMIT and not (folder / APPROXIMATE).exists():
            _build_approximate(folder / APPROXIMATE, [index.vectors()[start] for start in index.blocks])


def _build_approximate(target: Path, vectors: Sequence[NDArray[np.float32]]) -> None:
    """Compress all blocks of unit vectors, in the order of the rows, into one file."""
    faiss = load_faiss()
    rows, dimension = sum(map(len, vectors)), vectors[0].shape[1]
    most = max(1, rows // TRAINING_ROWS_PER_LIST)
    lists = 2 ** math.floor(math.log2(min(4 * math.sqrt(rows), most)))
    index = faiss.index_factory(dimension, f"IVF{lists},{vector_code(rows, dimension)}", faiss.METRIC_INNER_PRODUCT)
    step = max(1, rows // min(rows, lists * TRAINING_ROWS_PER_LIST))
    index.train(np.concatenate([block[::step] for block in vectors]))
    for block in vectors:
        index.add(np.ascontiguousarray(block))
    with atomic_path(target) as partial:
        faiss.write_index(index, str(partial))


def vector_code(rows: int, dimension: int) -> str:
    """Return faiss's name of the most exact code that fits into `MEMORY`: a byte a dimension, or 4 to 64 a vector."""
    available = MEMORY * 10**6 / rows - 8  # 8 bytes hold the row's number
    sizes = [size for size in range(4, dimension) if dimension % size == 0 and size <= available]
    return "SQ8" if available >= dimension else f"PQ{max(sizes, default=4)}"


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
    engine = ibis.duckdb.connect(memory_limit=f"{MEMORY}MB", temp_directory=str(target.parent / "spill"))
    key = list(SENTENCE_KEY)
    table = read_parquet(engine, sentences).select(*key, "page_title", "text")
    table = table.filter(table.text.re_search(r"[\pL\pN]"))
    if links:
        linked = read_parquet(engine, links).select(*key, "entity", "title").distinct()
        # An aggregate that sorts needs many times the memory, and cannot spill.
        pairs = ibis.struct({"entity": linked.entity, "title": linked.title}).collect()
        both = linked.group_by(key).agg(pairs=pairs.sort())
        linking = both.select(
            *key,
            entities=both.pairs.map(lambda pair: pair["entity"]),
            titles=both.pairs.map(lambda pair: pair["title"]),
        )
        table = table.left_join(linking, key).select(*table.columns, "entities", "titles")
    else:
        empty = ibis.null().cast
        table = table.mutate(entities=empty("array<int64>"), titles=empty("array<string>"))
    with atomic_path(target) as partial:
        table.order_by(key).to_parquet(partial, row_group_size=ROW_GROUP)
    engine.disconnect()
