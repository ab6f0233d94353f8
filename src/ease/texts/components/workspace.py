"""Workspace of training texts: a DuckDB connection, and a folder for intermediate files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ease.io.files import report_write_errors
from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

BATCH_ROWS = 8192
"""Rows held in memory while a file is read."""


@dataclass(frozen=True)
class Workspace:
    """A connection and a folder of Parquet files, which the caller removes."""

    connection: Any
    """An Ibis connection to DuckDB, which spills to disk"""
    folder: Path
    pairs: ir.Table | None = None
    """The setting's training pairs, on their own connection; None if there are none"""
    _numbers: Iterator[int] = field(default_factory=count)

    def store(self, rows: Iterable[Sequence[Any]], schema: pa.Schema) -> ir.Table:
        """Write rows in batches to a file, and return it as a table."""
        return self.store_batches(_batches(rows, schema), schema)

    def store_batches(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> ir.Table:
        """Write batches to a file, and return it as a table."""
        path = self.folder / f"{next(self._numbers)}.parquet"
        with report_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with pq.ParquetWriter(path, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch.cast(schema))
        return self.connection.read_parquet(str(path))


def open_workspace(
    folder: Path, memory_limit: str | None = None, threads: int | None = None, pairs: ir.Table | None = None
) -> Workspace:
    """Return a workspace with its own DuckDB, which spills into the folder; the caller removes the folder.

    Args:
        folder: Folder for files.
        memory_limit: In DuckDB's notation, such as `4GB`; None for its default.
        threads: Number of threads; None for all cores.
        pairs: The setting's training pairs, on any engine.
    """
    limits = {"memory_limit": memory_limit, "threads": threads}
    given = {name: value for name, value in limits.items() if value is not None}
    connection = ibis.duckdb.connect(":memory:", temp_directory=str(folder / "spill"), **given)
    return Workspace(connection, folder, pairs)


def _batches(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH_ROWS)):
        columns = zip(*batch, strict=True)
        arrays = [pa.array(values, type=kind) for values, kind in zip(columns, schema.types, strict=True)]
        yield pa.record_batch(arrays, schema=schema)
