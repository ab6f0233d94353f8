"""Parquet tables that Ibis reads and writes over one shared connection."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import ibis
import pandas as pd
from kedro_datasets._typing import TablePreview
from kedro_datasets.ibis import FileDataset

from ease.datasets.whole import SavedWhole
from ease.errors import EaseError

PREVIEW_ROWS = 20


class TableDataset(SavedWhole, FileDataset):
    """A versioned Parquet table, saved whole or not at all; Kedro-Viz shows its first rows.

    Spark writes a folder of files where DuckDB writes one file; either reads both. With `missing_ok`, a table that was
    never made is None.
    """

    def __init__(self, *, missing_ok: bool = False, **options: Any) -> None:
        """Point to a file, as Kedro's own dataset does."""
        super().__init__(**options)
        self._missing_ok = missing_ok

    def load(self) -> Any:
        """Read the table, or the files of its folder in the order of their names."""
        path = self._path_to_load()
        if path is None:
            return None
        if path.is_dir() and self._connection_config["backend"] == "duckdb":
            return self.connection.read_parquet(sorted(str(part) for part in path.glob("*.parquet")))
        return self.connection.read_parquet(str(path))

    def save(self, data: ibis.Table | pd.DataFrame) -> None:
        """Compute the table into a file aside and rename it."""
        table = data if isinstance(data, ibis.Table) else ibis.memtable(data)
        with self._saving():
            FileDataset.save.__wrapped__(self, table)

    def preview(self) -> TablePreview:
        """Return the first rows, as text where a cell is not a number."""
        table = self.load()
        if table is None:
            return cast(TablePreview, {"index": [], "columns": [], "data": []})
        rows = table.limit(PREVIEW_ROWS).to_pandas()
        rows = rows.map(lambda cell: cell if isinstance(cell, int | float) else str(cell))
        return cast(TablePreview, rows.to_dict(orient="split"))


class PartsDataset(TableDataset):
    """A versioned table made of many Parquet parts: takes the parts' paths, or a table, in, gives one table out.

    The parts lie in a cache outside Kedro's versions, where an unchanged part is made only once; a version holds hard
    links to them (copies where the file system has no links), so it costs no space and outlives the cache.
    """

    def save(self, data: Sequence[Path] | ibis.Table) -> None:
        """Link the parts into a folder aside and rename it; or compute the table there."""
        if isinstance(data, ibis.Table):
            TableDataset.save.__wrapped__(self, data)  # type: ignore[attr-defined]
            return
        if not data:
            raise EaseError(f"No part to save as {self._filepath}: at least one is needed, if without rows.")
        with self._saving() as aside:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            for number, part in enumerate(data):
                _link_or_copy(part, aside / f"{number:06d}.parquet")


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)
