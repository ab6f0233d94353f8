"""Parquet files written row by row or batch by batch, in row groups of bounded size."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from ease.io.files import report_write_errors

ROWS_PER_GROUP = 50_000
CHARACTERS_PER_GROUP = 16_000_000
_BYTES_PER_GROUP = 64 << 20


class TableWriter:
    """Writes rows to a Parquet file in groups of bounded size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._characters = 0
        self._buffered: list[pa.Table] = []
        self._buffered_rows = self._buffered_bytes = 0
        self._file = path.open("wb")
        self._parquet = pq.ParquetWriter(self._file, schema, compression="zstd")

    def append(self, row: tuple[Any, ...], characters: int = 0) -> None:
        """Add a row.

        Args:
            row: One value for each column of the schema.
            characters: Length of the row's text, which bounds the size of a group.
        """
        self._rows.append(row)
        self._characters += characters
        if len(self._rows) >= ROWS_PER_GROUP or self._characters >= CHARACTERS_PER_GROUP:
            self._flush()

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Add rows in columns; small tables are buffered, since many small groups are slow to read."""
        if not table.num_rows:
            return
        self._buffered.append(pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table)
        self._buffered_rows += table.num_rows
        self._buffered_bytes += table.nbytes
        if self._buffered_rows >= ROWS_PER_GROUP or self._buffered_bytes >= _BYTES_PER_GROUP:
            self._write_buffered()

    def _write_buffered(self) -> None:
        if self._buffered:
            table = pa.concat_tables(self._buffered)
            self._buffered.clear()
            self._buffered_rows = self._buffered_bytes = 0
            with report_write_errors(self._path):
                self._parquet.write_table(table, row_group_size=table.num_rows)

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [
            pa.array(column, type=field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        self.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._write_buffered()
        self._rows.clear()
        self._characters = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                if self._rows:
                    self._flush()
                self._write_buffered()
                with report_write_errors(self._path):
                    self._parquet.close()
                    self._file.flush()
        finally:
            # Otherwise pyarrow writes the footer again when the writer is garbage-collected after an error.
            self._parquet.is_open = False
            self._file.close()
