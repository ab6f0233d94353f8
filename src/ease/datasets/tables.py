"""Versioned Parquet tables, local or remote, read and written by Ibis over one shared connection."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import ibis
import pandas as pd
from kedro.io.core import AbstractDataset, DatasetError, Version
from kedro_datasets._typing import TablePreview
from kedro_datasets.ibis import FileDataset

from ease.datasets.files import AtomicSave
from ease.datasets.previews import table_preview
from ease.datasets.validation import Checked, unpack
from ease.errors import EaseError
from ease.io.addresses import (
    address_of,
    as_remote,
    files_matching,
    is_remote,
    kind_of,
    located,
    report_store_errors,
    upload,
)
from ease.io.locks import temporary_folder
from ease.io.parquet import read_parquet

PREVIEW_ROWS = 20
"""Rows of a preview"""
_SUCCESS = "_SUCCESS"
"""The file that Spark writes last into a folder."""


class TableDataset(AtomicSave, FileDataset):
    """A versioned Parquet table, saved atomically; Kedro-Viz shows its first rows.

    Spark writes a folder of files, DuckDB one file; each reads both. With `missing_ok`, a table without any version
    loads as None. For a remote address, DuckDB's file is written locally and uploaded; Spark uses its own connectors.
    """

    def load(self) -> Any:
        """Return the table; the files of a folder are read in the order of their names."""
        path = self._path_to_load()
        if path is None:
            return None
        with report_store_errors(path):
            if self._by_spark and kind_of(path) == "directory":
                return read_parquet(self.connection, [path])  # a folder of Spark's own
            return read_parquet(self.connection, self._parquet_files(path))

    def _parquet_files(self, path: Path) -> list[Path]:
        """The Parquet files of a version, in the order of their names."""
        if kind_of(path) == "directory":
            return _matching_files(path / "*.parquet")
        return [path]

    def save(self, data: ibis.Table | pd.DataFrame | Checked) -> None:
        """Compute the table and write it atomically, unless its files fail their check."""
        data, check = unpack(data)
        table = data
        if not isinstance(data, ibis.Table):
            table = ibis.memtable(data)
        if self._by_spark and self._fs_prefix:
            # Spark's connectors write to the store, which cannot rename: the success file marks a complete version.
            final = self.folder_of(self.resolve_save_version()) / self._filepath.name
            self.connection.to_parquet(table, address_of(final), **self._save_args)
            check(self._parquet_files(final))
            self._pin()
            return
        with self._saving() as aside:
            self.connection.to_parquet(table, str(aside), **self._save_args)
            check(self._parquet_files(aside))

    @property
    def _by_spark(self) -> bool:
        return bool(self._connection_config["backend"] == "pyspark")

    def _fs_exists(self, path: str) -> bool:
        """Return whether a version is complete: files are written atomically, folders have Spark's success file."""
        place = located(path)
        if "://" not in path:
            place = located(self._fs_prefix + path)
        return kind_of(place) == "file" or kind_of(place / _SUCCESS) == "file"

    def _fs_glob(self, pattern: str) -> list[str]:
        place = located(self._fs_prefix + pattern)
        store = as_remote(place)
        with report_store_errors(place):
            store.fs.invalidate_cache()  # another run may have saved a version since the last listing
            versions = [PurePosixPath(match).parent.name for match in store.fs.glob(store.path)]
        return [f"{self._fs_prefix}{self._get_versioned_path(version)}" for version in versions]

    def preview(self, spread: str | None = None, labels: Mapping[str, Any] | None = None) -> TablePreview:
        """Return a few rows for Kedro-Viz, which passes the catalog entry's `preview_args`.

        Args:
            spread: Column whose preview shows several values; sorted tables begin with many rows of one value.
            labels: `columns`, the entity columns that get a column of labels beside them, and `filepath`, the versioned
                table of labels.
        """
        table = self.load()
        if table is None:
            return table_preview([], [])
        values: list[Any] = []
        if spread:
            distinct = table.filter(table[spread].notnull()).select(spread).distinct()
            values = distinct.order_by(spread).limit(PREVIEW_ROWS).to_pyarrow()[spread].to_pylist()
        # The search for a value's rows ends when there are enough.
        parts = [table.filter(table[spread] == value).limit(PREVIEW_ROWS // len(values)) for value in values]
        rows = ibis.union(*(parts or [table.limit(PREVIEW_ROWS)])).to_pyarrow().to_pylist()
        if values:
            rows.sort(key=lambda row: values.index(row[spread]))
        columns = list(table.columns)
        if labels and rows:
            self._add_labels(rows, columns, **labels)
        return table_preview(columns, rows)

    def _add_labels(
        self, rows: list[dict[str, Any]], all_columns: list[str], columns: Sequence[str], filepath: str
    ) -> None:
        """Add a column of labels to `rows` and `all_columns` after each of the entity `columns`.

        Without a table of labels at `filepath`, nothing is added.
        """
        options = {"connection": self._connection_config, "version": Version(None, None), "missing_ok": True}
        vocabulary = TableDataset(filepath=filepath, **options).load()
        if vocabulary is None:
            return
        entities = {row[name] for row in rows for name in columns if row[name] is not None}
        labelled = vocabulary.filter(vocabulary.entity.isin(sorted(entities))).select("entity", "label")
        labels = dict(row.values() for row in labelled.to_pyarrow().to_pylist())
        for name in columns:
            all_columns.insert(all_columns.index(name) + 1, f"{name}_label")
            for row in rows:
                row[f"{name}_label"] = labels.get(row[name])


class PartsDataset(TableDataset):
    """A versioned table of many Parquet parts: saving accepts the parts' paths or a table, loading returns one table.

    The parts are in a cache outside Kedro's versions, so that an unchanged part is made once. A version holds hard
    links to them (copies if the file system has no links), so that it costs no space and outlives the cache. A remote
    version is a JSON list of the parts' addresses, since stores have no links; the parts must continue to exist.
    """

    def save(self, data: Sequence[Path] | ibis.Table | Checked) -> None:
        """Link or list the parts, or compute the table, atomically."""
        if isinstance(data, ibis.Table | Checked):
            self._save_table(data)
            return
        if not data:
            raise EaseError(f"No part to save as {self._filepath}: at least one is needed, which may be without rows.")
        if self._fs_prefix:
            self._save_list(data)
            return
        with self._saving() as aside:
            aside.mkdir()
            for number, part in enumerate(data):
                _link_or_copy(part, aside / f"{number:06d}.parquet")

    def _save_table(self, table: ibis.Table | Checked) -> None:
        if self._by_spark or not self._fs_prefix:
            TableDataset.save.__wrapped__(self, table)  # type: ignore[attr-defined]
            return
        with temporary_folder() as folder:
            file = folder / "rows.parquet"
            data, check = unpack(table)
            self.connection.to_parquet(data, str(file), **self._save_args)
            check([file])
            self._save_list([file])

    def _save_list(self, parts: Sequence[Path]) -> None:
        """Write the parts' addresses; upload local parts beside the list first."""
        folder = self.folder_of(self.resolve_save_version())
        addresses = []
        for number, part in enumerate(parts):
            remote = part
            if not is_remote(part):
                remote = folder / f"{number:06d}.parquet"
                upload(part, remote)
            addresses.append(address_of(remote))
        with self._saving() as aside:
            aside.write_text(json.dumps({"parts": addresses}, indent=1), encoding="utf-8")

    def _parquet_files(self, path: Path) -> list[Path]:
        if is_remote(path) and kind_of(path) == "file":
            return [located(address) for address in json.loads(path.read_text(encoding="utf-8"))["parts"]]
        return super()._parquet_files(path)


def _matching_files(pattern: Path) -> list[Path]:
    """Return the local or remote files of a folder that match a pattern, in the order of their names."""
    if is_remote(pattern):
        return sorted(files_matching(pattern))
    return sorted(pattern.parent.glob(pattern.name))


def _link_or_copy(source: Path, target: Path) -> None:
    if is_remote(source):
        with report_store_errors(source):
            as_remote(source).fs.get_file(as_remote(source).path, str(target))
        return
    try:
        os.link(source, target)
    except OSError:  # another file system, or a file system without hard links
        shutil.copy2(source, target)


class TablesDataset(AbstractDataset[Any, dict[str, ibis.Table]]):
    """The newest versions of all tables in a folder, by name; nothing is saved by it.

    Each table is a versioned `NAME.parquet`, as `TableDataset` saves it. A folder that does not exist has no tables.
    """

    def __init__(self, *, folder: str, connection: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Point to a folder of tables, which are read over a connection."""
        self._folder = located(folder)
        self._connection = connection
        self.metadata = metadata
        self.may_be_missing = True

    def load(self) -> dict[str, ibis.Table]:
        """Return the tables in the order of their names."""
        tables = {}
        for file in _matching_files(self._folder / "*.parquet"):
            dataset = TableDataset(
                filepath=address_of(file), connection=self._connection, version=Version(None, None), missing_ok=True
            )
            if (table := dataset.load()) is not None:
                tables[file.stem] = table
        return tables

    def save(self, data: Any) -> None:
        """Refuse: the tables are the results of other pipelines."""
        raise DatasetError(f"{self._folder}: the tables of a folder are read together, but saved one by one.")

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}
