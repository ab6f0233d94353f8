"""An index on disk: the nearest sentences of an embedding, exactly or by faiss."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from ease.entities.links import SENTENCE_KEY
from ease.errors import EaseError
from ease.evaluation.metrics import normalize_rows
from ease.evaluation.search import nearest_neighbours
from ease.io.atomic import atomic_path, write_text_atomically
from ease.io.lazy import ibis
from ease.io.locks import folder_lock
from ease.io.models import StrictModel
from ease.io.names import suggest
from ease.io.parquet import read_parquet
from ease.search import EXACT_LIMIT, MEMORY

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""n texts to their embeddings, (n, dimension)."""
VERSION = 1
"""Raised when an index of an earlier version cannot be read."""
DESCRIPTION, SENTENCES, APPROXIMATE = "index.json", "sentences.parquet", "vectors.faiss"
SMALLEST_BLOCK, LARGEST_BLOCK, BLOCKS = 1_024, 16_384, 64
"""Rows of a block, and the number of blocks that small indexes have."""
ROW_GROUP = 16_384
"""Rows of a group of the file: a search reads the groups of its results alone."""
CANDIDATES = 8
"""Sentences that are compared exactly after a search by faiss, as a multiple of those wanted."""
TRAINING_ROWS_PER_LIST, PROBED = 64, 64
"""Rows of each list that faiss is trained with, and lists that a search reads."""


class Description(StrictModel):
    """What an index was built from, written when its sentences are."""

    version: int
    encoder: str
    """Fingerprint of the encoder"""
    sentences: str
    """Digest of the tables"""
    rows: int
    languages: dict[str, tuple[int, int]]
    """First row of each language and the row after its last"""
    block: int
    """Rows of a block"""

    def blocks(self) -> list[tuple[int, int]]:
        """Return the first row of each block and the row after its last."""
        return [(start, min(start + self.block, self.rows)) for start in range(0, self.rows, self.block)]


def read_description(folder: Path) -> Description:
    """Read what an index was built from."""
    try:
        found = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if found.get("version") != VERSION:
            raise EaseError(
                f"{folder} has an index of another version of EASE: remove it, and build it again."
            )
        return Description.model_validate(found)
    except (OSError, AttributeError, json.JSONDecodeError, ValidationError) as error:
        raise EaseError(f"{folder} has no index: build it by `python -m ease.search build`.") from error


class Rows:
    """Rows of a Parquet file by their number; memory holds one row group at a time."""

    def __init__(self, file: Path) -> None:
        """Read the footer."""
        self._file = pq.ParquetFile(file)
        sizes = [self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups)]
        self._starts = np.cumsum([0, *sizes])

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
        return [found[int(row)] for row in wanted]

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
        """Open the folder."""
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
        """
        if k < 1:
            raise EaseError(f"{k} sentences: ask for at least 1.")
        known = self.description.languages
        for language in languages or ():
            if language not in known:
                raise EaseError(f"No sentence in the language {language!r}: {suggest(language, known)}")
        ranges = [known[name] for name in dict.fromkeys(languages or ())] or [(0, self.description.rows)]
        unit = (query / np.linalg.norm(query)).astype(np.float32)
        blocks = self._embedded_blocks()
        rows, cosines = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        if (self.folder / APPROXIMATE).exists():
            found = search_approximate(self._faiss, unit, k * CANDIDATES, ranges)
            vectors = {start: block for (start, _), block in blocks.items()}
            size = self.description.block
            if near := [vectors[row - row % size][row % size] for row in found.tolist()]:
                rows.append(found)
                cosines.append(np.stack(near) @ unit)
        else:
            for (start, end), block in list(blocks.items()):
                for first, last in ((max(first, start), min(last, end)) for first, last in ranges):
                    if first < last:
                        inside = block[first - start : last - start]
                        exact = nearest_neighbours(unit[None], inside, k, unit_rows=True)
                        rows.append(exact.rows[0] + first)
                        cosines.append(exact.cosines[0])
        all_rows, all_cosines = np.concatenate(rows), np.concatenate(cosines)
        order = np.lexsort((all_rows, -all_cosines))[:k]  # equal ones in the order of the rows
        return Near(all_rows[order], all_cosines[order])

    def _embedded_blocks(self) -> dict[tuple[int, int], NDArray[np.float32]]:
        """Return the vectors of the finished blocks, mapped from the disk."""
        for block in self.description.blocks() if len(self._blocks) < self._count else ():
            if block not in self._blocks and (path := block_file(self.folder, *block)).exists():
                self._blocks[block] = np.load(path, mmap_mode="r")
        return self._blocks

    @cached_property
    def _faiss(self) -> Any:
        return load_faiss().read_index(str(self.folder / APPROXIMATE), load_faiss().IO_FLAG_MMAP)


def build_index(
    folder: Path,
    encode: Encode,
    encoder: str,
    tables: tuple[list[Path], list[Path], str],
    *,
    memory: int = MEMORY,
    exact_limit: int = EXACT_LIMIT,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Build or complete an index; a later call continues where a killed one stopped.

    Args:
        folder: The index; created if missing.
        encode: The encoder.
        encoder: Its fingerprint.
        tables: Files of the sentences, files of their links, and the digest of both.
        memory: Megabytes for sorting and the compressed index; the encoder and a block of embeddings come on top.
        exact_limit: Sentences beyond which faiss is used.
        report: Called with the sentences embedded so far and their number.
    """
    with folder_lock(folder):
        description = _describe(folder, encoder, tables, memory)
        blocks, sentences, done = description.blocks(), Rows(folder / SENTENCES), 0
        # An order that mixes the languages, so that a part of the index is useful
        for number in np.random.default_rng(0).permutation(len(blocks)):
            start, end = blocks[number]
            path = block_file(folder, start, end)
            if not path.exists():
                vectors = normalize_rows(encode(sentences.column("text", start, end).to_pylist()))
                with atomic_path(path) as partial, partial.open("wb") as file:
                    np.save(file, vectors.astype(np.float32))
            done += end - start
            report(done, description.rows)
        if description.rows > exact_limit and not (folder / APPROXIMATE).exists():
            build_approximate(folder, [block_file(folder, *block) for block in blocks], memory)


def _describe(
    folder: Path, encoder: str, tables: tuple[list[Path], list[Path], str], memory: int
) -> Description:
    """Read what an index was built from, or write its sentences and what it is built from."""
    sentences, links, digest = tables
    if (folder / DESCRIPTION).is_file():
        found = read_description(folder)
        given = {"another model": (found.encoder, encoder), "other sentences": (found.sentences, digest)}
        if other := [name for name, (old, new) in given.items() if old != new]:
            raise EaseError(
                f"The index {folder} was built with {' and '.join(other)}: remove that folder, or name another by "
                "--index."
            )
        return found
    write_sentences(folder / SENTENCES, sentences, links, memory)
    rows = len(Rows(folder / SENTENCES))
    if not rows:
        raise EaseError("The table of sentences is empty: there is nothing to search.")
    description = Description(
        version=VERSION,
        encoder=encoder,
        sentences=digest,
        rows=rows,
        languages=language_ranges(folder / SENTENCES),
        block=min(LARGEST_BLOCK, max(SMALLEST_BLOCK, rows // BLOCKS)),
    )
    write_text_atomically(folder / DESCRIPTION, description.model_dump_json(indent=1))
    return description


def block_file(folder: Path, start: int, end: int) -> Path:
    """Return the file of a block's unit vectors, (rows, dimension) float32."""
    return folder / f"vectors-{start:010d}-{end:010d}.npy"


def build_approximate(folder: Path, blocks: Sequence[Path], memory: int) -> None:
    """Compress all blocks of unit vectors, in the order of the rows, into one file of at most `memory` megabytes.

    Vectors have one byte a dimension, or fewer if that exceeds the memory.
    """
    faiss = load_faiss()
    vectors = [np.load(block, mmap_mode="r") for block in blocks]
    rows, dimension = sum(map(len, vectors)), vectors[0].shape[1]
    most = max(1, rows // TRAINING_ROWS_PER_LIST)
    lists = 2 ** math.floor(math.log2(min(4 * math.sqrt(rows), most)))
    name = f"IVF{lists},{vector_code(rows, dimension, memory)}"
    index = faiss.index_factory(dimension, name, faiss.METRIC_INNER_PRODUCT)
    step = max(1, rows // min(rows, lists * TRAINING_ROWS_PER_LIST))
    index.train(np.concatenate([block[::step] for block in vectors]))
    for block in vectors:
        index.add(np.ascontiguousarray(block))
    with atomic_path(folder / APPROXIMATE) as partial:
        faiss.write_index(index, str(partial))


def vector_code(rows: int, dimension: int, memory: int) -> str:
    """Return faiss's name of the most exact code that fits: 8 bits a dimension, or product quantisation."""
    available = memory * 10**6 / rows - 8  # 8 bytes hold the row's number
    if available >= dimension:
        return "SQ8"
    sizes = [size for size in range(8, dimension) if dimension % size == 0 and size <= available]
    if not sizes:
        raise EaseError(
            f"{rows:,} sentences need {rows * 16 // 10**6 + 1} MB of memory or more, not {memory}: raise `memory`."
        )
    return f"PQ{sizes[-1]}"


def search_approximate(
    index: Any, query: NDArray[np.float32], count: int, ranges: Sequence[tuple[int, int]]
) -> NDArray[np.int64]:
    """Return the rows of about the nearest vectors within ranges of rows: at most `count`, in no order."""
    faiss = load_faiss()
    kept = [faiss.IDSelectorRange(start, end) for start, end in ranges]
    chosen = kept[0]
    for part in kept[1:]:
        chosen = faiss.IDSelectorOr(chosen, part)
        kept.append(chosen)  # faiss holds pointers to the parts of a selector
    options = faiss.SearchParametersIVF(sel=chosen, nprobe=min(PROBED, index.nlist))
    rows = index.search(query[None], count, params=options)[1][0]
    found: NDArray[np.int64] = rows[rows >= 0]
    return found


def load_faiss() -> Any:
    """Import faiss."""
    try:
        import faiss
    except ImportError as error:
        raise EaseError(
            "An index of so many sentences needs faiss: install the extra `demo`, or `pip install faiss-cpu`."
        ) from error
    return faiss


def write_sentences(target: Path, sentences: list[Path], links: list[Path], memory: int) -> None:
    """Write the sentences that have a letter or digit, with their links, in a fixed order; DuckDB spills to disk.

    `links` is empty if no sentence has a known entity; `memory` is in megabytes.
    """
    engine = ibis.duckdb.connect(memory_limit=f"{memory}MB", temp_directory=str(target.parent / "spill"))
    key = list(SENTENCE_KEY)
    table = read_parquet(engine, sentences).select(*key, "page_title", "text")
    table = table.filter(table.text.re_search(r"[\pL\pN]"))
    if links:
        linked = read_parquet(engine, links).select(*key, "entity", "title").distinct()
        # An aggregate that sorts needs many times the memory, and cannot spill.
        pairs = ibis.struct({"entity": linked.entity, "title": linked.title}).collect()
        both = linked.group_by(key).agg(pairs=pairs.sort())
        entities = both.select(
            *key,
            entities=both.pairs.map(lambda pair: pair["entity"]),
            titles=both.pairs.map(lambda pair: pair["title"]),
        )
        table = table.left_join(entities, key).select(*table.columns, "entities", "titles")
    else:
        empty = ibis.null().cast
        table = table.mutate(entities=empty("array<int64>"), titles=empty("array<string>"))
    with atomic_path(target) as partial:
        table.order_by(key).to_parquet(partial, row_group_size=ROW_GROUP)
    engine.disconnect()


def language_ranges(file: Path) -> dict[str, tuple[int, int]]:
    """Return the first row of each language and the row after its last; the rows are ordered by language."""
    ranges: dict[str, tuple[int, int]] = {}
    end = 0
    for batch in pq.ParquetFile(file).iter_batches(columns=["language"]):
        for counted in batch.column(0).value_counts().to_pylist():
            start, _ = ranges.get(counted["values"], (end, end))
            end += counted["counts"]
            ranges[counted["values"]] = start, end
    return ranges
