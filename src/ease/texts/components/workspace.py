"""Where sources are computed: a connection, and a folder for what was read of the files."""

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
    """A connection to compute on, and a folder, that the caller removes, for files read into Parquet."""

    connection: Any
    """Of Ibis; DuckDB spills what does not fit into its memory"""
    folder: Path
    pairs: ir.Table | None = None
    """The setting's training pairs, on a connection of their own, where there are any"""
    _numbers: Iterator[int] = field(default_factory=count)

    def store(self, rows: Iterable[Sequence[Any]], schema: pa.Schema) -> ir.Table:
        """Write rows as they come, in batches, and open them as a table."""
        return self.store_batches(_batches(rows, schema), schema)

    def store_batches(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> ir.Table:
        """Write batches as they come and open them as a table."""
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
    """Open a workspace with a DuckDB of its own, which spills into the folder.

    Args:
        folder: For files; removed by the caller.
        memory_limit: As DuckDB writes it, such as `4GB`; None for its own default.
        threads: None for all cores.
        pairs: The setting's training pairs, of any engine.
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
