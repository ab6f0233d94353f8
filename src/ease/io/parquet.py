"""Local and remote Parquet files as tables of DuckDB or Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem

from ease.io.addresses import address_of, as_remote, is_remote, report_store_errors
from ease.io.files import report_write_errors
from ease.lazy import ibis

_BATCH_ROWS = 100_000
"""Rows held in memory while a table is written"""


def read_parquet(engine: Any, files: Sequence[Path]) -> ibis.Table:
    """Return the rows of Parquet files, or of folders of them, in their order.

    Args:
        engine: An Ibis connection to DuckDB or PySpark; DuckDB reads remote files by fsspec, Spark by its own
            connectors.
        files: At least one; folders only with Spark.
    """
    if engine.name == "duckdb":
        places = []
        for file in files:
            if is_remote(file):
                store = _ExactReads(as_remote(file).fs)
                if store.protocol not in engine.con.list_filesystems():
                    engine.register_filesystem(store)
                places.append(f"{store.protocol}://{as_remote(file).path}")
            else:
                places.append(str(file))
        return engine.read_parquet(places)
    from pyspark.sql import SparkSession

    # Ibis reads a single path with Spark; a view has the rows of several.
    name = ibis.util.gen_name("read_parquet")
    SparkSession.builder.getOrCreate().read.parquet(*map(address_of, files)).createOrReplaceTempView(name)
    return engine.table(name)


def write_parquet(table: ibis.Table, path: Path) -> None:
    """Write a table as one file; Spark's own writer would make a folder of files with random names."""
    with report_write_errors(path), pq.ParquetWriter(path, table.schema().to_pyarrow()) as writer:
        for batch in table.to_pyarrow_batches(chunk_size=_BATCH_ROWS):
            writer.write_batch(batch)


class _ExactReads(AbstractFileSystem):
    """A file system under its own protocol name, without read-ahead.

    DuckDB requests ranges of a Parquet file of some MB each. With the protocol `s3`, Ibis would make DuckDB download an
    extension.
    """

    cachable = False

    def __init__(self, store: AbstractFileSystem) -> None:
        super().__init__()
        self.protocol = f"fsspec{store._fs_token[:12]}"
        self._store = store
        # DuckDB asks about ten times per file and query; the files of tables and parts never change.
        self.info = cache(self.info)  # type: ignore[method-assign]
        self.modified = cache(self.modified)  # type: ignore[method-assign]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.rpartition("://")[2]

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return self._store.open(self._strip_protocol(path), mode, cache_type="none")

    def info(self, path: str, **options: Any) -> Any:
        return self._store.info(self._strip_protocol(path))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        return self._store.ls(self._strip_protocol(path), detail)

    def modified(self, path: str) -> datetime:
        return cast(datetime, self._store.modified(self._strip_protocol(path)))


def sample_rows(files: Sequence[Path], rows: int) -> pa.Table:
    """Return rows of the first, middle and last Parquet file, from their first, middle and last row groups.

    Args:
        files: At least one file with the same columns, local or remote.
        rows: Maximum number of rows from each row group.
    """
    batches: list[pa.RecordBatch] = []
    # `dict.fromkeys`: of few files or groups, the first, middle and last one may be the same.
    for file in dict.fromkeys((files[0], files[len(files) // 2], files[-1])):
        with report_store_errors(file):
            place: Any = file
            store = None
            if is_remote(file):
                place = as_remote(file).path
                store = as_remote(file).fs
            with pq.ParquetFile(place, filesystem=store) as opened:
                groups = opened.num_row_groups
                # A file without rows has no group.
                if groups:
                    for group in dict.fromkeys((0, groups // 2, groups - 1)):
                        batches.extend(islice(opened.iter_batches(rows, row_groups=[group]), 1))
                schema = opened.schema_arrow
    return pa.Table.from_batches(batches, schema=schema)
