"""Check all rows of the tables of a catalog against their schemas, keys and references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import ibis
from kedro.io import CatalogProtocol, DatasetError

from ease.datasets.schemas import REFERENCES, SCHEMAS, Fault, find_faults

UNIQUE = "uniqueness"
"""In the name of Pandera's check of keys within a batch; the engine checks them over all rows"""

Catalog = CatalogProtocol[Any, Any]


def check_tables(catalog: Catalog, rows: int) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each table that exists with its number of rows and a sentence for each kind of fault."""
    for setting in settings_of(catalog):
        for name in SCHEMAS:
            dataset = f"{setting}.{name}"
            if not catalog.exists(dataset):
                continue
            try:
                yield dataset, *_check_table(name, setting, catalog, rows)
            except (DatasetError, duckdb.Error) as error:
                yield dataset, 0, [f"cannot be read: {' '.join(str(error).split())}"]


def _check_table(name: str, setting: str, catalog: Catalog, rows: int) -> tuple[int, list[str]]:
    """Return the number of rows of a table, and its faults."""
    table = catalog.load(f"{setting}.{name}")
    faults = [*_wrong_rows(name, table, rows), *_repeated_keys(name, table)]
    return int(table.count().execute()), [*faults, *_missing_rows(name, table, setting, catalog)]


def settings_of(catalog: Catalog) -> list[str]:
    """Return the settings that have parameters."""
    parameters = (name.removeprefix("params:") for name in catalog.keys() if name.startswith("params:"))
    return sorted(name.removesuffix(".setting") for name in parameters if name.endswith(".setting"))


def _wrong_rows(name: str, table: ibis.Table, rows: int) -> list[str]:
    """Return the faults of single rows, each kind once, with an example of the first batch that has some."""
    first: dict[tuple[str, str], Fault] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for batch in table.to_pyarrow_batches(chunk_size=rows):
        for fault in find_faults(name, batch.to_pandas()):
            first.setdefault((fault.column, fault.check), fault)
            counts[fault.column, fault.check] += fault.rows
    return [
        str(fault._replace(rows=counts[kind])) for kind, fault in first.items() if UNIQUE not in fault.check
    ]


def _repeated_keys(name: str, table: ibis.Table) -> list[str]:
    key = SCHEMAS[name].unique
    if not key:
        return []
    counted = table.group_by(key).agg(times=table.count())
    repeated = int(counted.filter(counted.times > 1).count().execute())
    return [f"{repeated} keys ({', '.join(key)}) appear more than once"] if repeated else []


def _missing_rows(name: str, table: ibis.Table, setting: str, catalog: Catalog) -> list[str]:
    faults = []
    for column, other, key in REFERENCES.get(name, []):
        if not catalog.exists(f"{setting}.{other}"):
            continue
        values = table.select(value=table[column]).filter(ibis._.value.notnull()).distinct()
        present = catalog.load(f"{setting}.{other}").select(value=key)
        if missing := int(values.anti_join(present, "value").count().execute()):
            faults.append(f"column `{column}`: {missing} values are not in `{other}`")
    return faults
