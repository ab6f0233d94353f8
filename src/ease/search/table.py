"""The sentences of an index as one Parquet file, ordered by language, each with the entities that it links to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ease.entities.links import SENTENCE_KEY
from ease.io.atomic import atomic_path
from ease.io.lazy import ibis
from ease.io.parquet import read_parquet

ROW_GROUP = 16_384
"""Rows of a group of the file: a search reads the groups of its results alone."""


def write_sentences(target: Path, sentences: list[Path], links: list[Path], memory: int) -> None:
    """Write the sentences that have a letter or digit, with their links, in a fixed order; DuckDB spills to disk.

    Args:
        target: The file.
        sentences: The files of the table `sentences`.
        links: The files of the table `links`; empty if no sentence has a known entity.
        memory: Memory limit in megabytes.
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
    """Return the first row of each language and the row after its last."""
    ranges: dict[str, tuple[int, int]] = {}
    start = 0
    for batch in pq.ParquetFile(file).iter_batches(columns=["language"]):
        codes, places = np.unique(batch.column(0).to_numpy(zero_copy_only=False), return_index=True)
        order = np.argsort(places)
        ends = [*places[order][1:], len(batch)]
        for code, first, end in zip(codes[order], places[order], ends, strict=True):
            ranges[str(code)] = (ranges.get(str(code), (start + int(first), 0))[0], start + int(end))
        start += len(batch)
    return ranges


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
