"""Check tables against their schemas: a sample when they are saved, all rows by `make validate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ibis

from ease.errors import EaseError
from ease.io.parquet import sample_rows

TableCheck = Callable[[Sequence[Path]], None]


class Checked(NamedTuple):
    """A table to save, and the check of the files that are written before they get their final name."""

    data: Any
    check: TableCheck


class SampledSchema:
    """Kedro validator that checks a sample of the rows that a table is saved with.

    An Ibis table is computed once, when it is written. So the check reads the written file, and a table with a fault is
    not kept.
    """

    def __init__(self, table: str, rows: int = 1000) -> None:
        """Check `rows` rows at each of a few places of a table, named as in `SCHEMAS`."""
        self._table = table
        self._rows = rows

    def validate(self, data: Any) -> Any:
        """Return a table with the check to run on its files; check the files of parts at once."""
        if isinstance(data, ibis.Table):
            return Checked(data, self.check)
        self.check(data)
        return data

    def check(self, files: Sequence[Path]) -> None:
        """Check rows from the beginning, middle and end of the first, middle and last file."""
        from ease.datasets.schemas import find_table_faults  # imports DuckDB

        if faults := find_table_faults(self._table, ibis.memtable(sample_rows(files, self._rows))):
            raise EaseError(
                f"`{self._table}` is wrong and is not saved: {'; '.join(faults)}. If the input is "
                "right, this is a fault of EASE: report it with the command."
            )


def unpack(data: Any) -> tuple[Any, TableCheck]:
    """Return what to save, and the check of its files, which does nothing if none was given."""
    if isinstance(data, Checked):
        return data
    return data, lambda _: None
