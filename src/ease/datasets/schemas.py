"""What each table of the catalog must hold, and the check of some or all rows: columns, types, ranges, keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import ibis
import pandas as pd
from kedro.io import CatalogProtocol, DatasetError
from pandera.errors import SchemaErrors
from pandera.pandas import Check, Column, DataFrameSchema

UNIQUE = "uniqueness"
"""In the name of Pandera's check of keys within a batch; the engine checks them over all rows"""

Catalog = CatalogProtocol[Any, Any]


LANGUAGE = r"^[a-z][a-z0-9-]*$"
"""A Wikipedia's language code, such as `zh-min-nan`"""


class Reference(NamedTuple):
    """A column whose values must be in a column of another table; nulls are not checked."""

    column: str
    table: str
    other: str


def _column(kind: str, *checks: Check, nullable: bool = False) -> Column:
    return Column(kind, list(checks), nullable=nullable)


def _text(nullable: bool = False) -> Column:
    return _column("str", Check.str_length(min_value=1), nullable=nullable)


def _language() -> Column:
    return _column("str", Check.str_matches(LANGUAGE))


def _number(kind: str = "int64") -> Column:
    return _column(kind, Check.ge(0))


def _entity() -> Column:
    # Without Wikidata an entity is minus a hash.
    return _column("int64", Check.ne(0))


def _schema(columns: dict[str, Column], *checks: Check, unique: list[str] | None = None) -> DataFrameSchema:
    return DataFrameSchema(columns, checks=list(checks), unique=unique, strict=True)


def _spans_in_text(rows: pd.DataFrame) -> pd.Series:
    """Return for each sentence whether its links are within its text and not empty."""
    return pd.Series(
        [
            all(0 <= link["start"] < link["end"] <= len(text) and link["target"] for link in links)
            for text, links in zip(rows["text"], rows["links"], strict=True)
        ],
        index=rows.index,
        dtype=bool,
    )


def _negative_is_another(rows: pd.DataFrame) -> pd.Series:
    return rows["hard_negative"].isna() | (rows["hard_negative"] != rows["entity"])


def _further_are_others(rows: pd.DataFrame) -> pd.Series:
    return pd.Series(
        [
            further is None or entity not in further
            for entity, further in zip(rows["entity"], rows["further_entities"], strict=True)
        ],
        index=rows.index,
        dtype=bool,
    )


_PAIR = {
    "pair_id": _number(),
    "language": _language(),
    "page_id": _number(),
    "sentence_index": _number("int32"),
    "sentence": _text(),
    "entity": _entity(),
}

SCHEMAS: dict[str, DataFrameSchema] = {
    "sentences": _schema(
        {
            "language": _language(),
            "page_id": _number(),
            "page_title": _text(),
            "revision_id": _number(),
            "sentence_index": _number("int32"),
            "text": _text(),
            "links": Column(object),
        },
        Check(_spans_in_text, name="links lie in the text"),
        unique=["language", "page_id", "sentence_index"],
    ),
    "redirects": _schema({"language": _language(), "source_title": _text(), "target_title": _text()}),
    "pages": _schema(
        {"language": _language(), "page_id": _number(), "title": _text()}, unique=["language", "page_id"]
    ),
    "sitelinks": _schema({"qid": _entity(), "language": _language(), "title": _text()}),
    "entity_types": _schema({"qid": _entity(), "type_qid": _number()}),
    "links": _schema(
        {
            "language": _language(),
            "page_id": _number(),
            "sentence_index": _number("int32"),
            "title": _text(),
            "entity": _entity(),
        }
    ),
    "entity_vocabulary": _schema(
        {"row": _number(), "entity": _entity(), "label": _text(), "link_count": _number()}, unique=["entity"]
    ),
    "pairs": _schema(_PAIR, unique=["language", "page_id", "sentence_index", "entity"]),
    "training_pairs": _schema(
        {
            **_PAIR,
            "hard_negative": _column("float64", Check.ne(0), nullable=True),
            "further_entities": Column(object, nullable=True),
            "subject": _column("float64", Check.ne(0), nullable=True),
        },
        Check(_negative_is_another, name="the hard negative is another entity"),
        Check(_further_are_others, name="further entities are others"),
        unique=["language", "page_id", "sentence_index", "entity"],
    ),
}
"""The schema of each table, by the last part of its name in the catalog."""

REFERENCES: dict[str, list[Reference]] = {
    "pairs": [Reference("entity", "entity_vocabulary", "entity")],
    "training_pairs": [
        Reference("entity", "entity_vocabulary", "entity"),
        Reference("hard_negative", "entity_vocabulary", "entity"),
        Reference("pair_id", "pairs", "pair_id"),
    ],
}
"""Columns whose values must be in other tables; only the complete check reads those."""


class Fault(NamedTuple):
    """Rows that fail one check."""

    column: str
    check: str
    rows: int
    example: Any

    def __str__(self) -> str:
        """Return a sentence without a full stop."""
        where = f"column `{self.column}`: " if self.column else ""
        return f"{where}{self.rows} rows fail `{self.check}`, such as {self.example}"


def find_faults(name: str, rows: pd.DataFrame) -> list[Fault]:
    """Return the faults in some rows of a table; none if they fit its schema."""
    try:
        SCHEMAS[name].validate(_comparable(rows), lazy=True)
    except SchemaErrors as error:
        cases = error.failure_cases
        groups = cases.groupby(["column", "check"], dropna=False, sort=False)
        return [_fault(str(column), str(check), own) for (column, check), own in groups]
    return []


def _comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Give columns that may have nulls one type, whether these rows have some or not."""
    return rows.astype({name: "float64" for name in ("hard_negative", "subject") if name in rows})


def _fault(column: str, check: str, cases: pd.DataFrame) -> Fault:
    of_column = (cases["schema_context"] == "Column").any()
    return Fault(
        column if of_column else "", check, max(1, cases["index"].nunique()), cases["failure_case"].iloc[0]
    )


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
