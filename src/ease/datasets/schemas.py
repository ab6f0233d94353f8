"""What each table of the catalog must hold, and the check of some or all rows: columns, types, ranges, keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import duckdb
import ibis
from kedro.io import CatalogProtocol, DatasetError

LANGUAGE_CODE_PATTERN = r"^[a-z][a-z0-9-]*$"
"""A Wikipedia's language code, such as `zh-min-nan`"""


class ColumnSchema(NamedTuple):
    """The type of a column (the beginning of Ibis's name), and the condition that its values meet unless null."""

    kind: str
    condition: str = ""
    holds: Callable[[Any], Any] = lambda value: value.notnull()
    nullable: bool = False


class TableSchema(NamedTuple):
    """Columns of a table, the columns that identify a row, and conditions on rows."""

    columns: dict[str, ColumnSchema]
    key: tuple[str, ...] = ()
    rows: dict[str, Callable[[ibis.Table], Any]] = {}  # noqa: RUF012 - never changed


_LANGUAGE = ColumnSchema("string", "is a language code", lambda value: value.re_search(LANGUAGE_CODE_PATTERN))
_TEXT = ColumnSchema("string", "is not empty", lambda value: value.length() > 0)
_NUMBER = ColumnSchema("int64", "is at least 0", lambda value: value >= 0)
_INDEX = _NUMBER._replace(kind="int32")
_ENTITY = ColumnSchema("int64", "is not 0", lambda value: value != 0)  # without Wikidata minus a hash

_OTHER_ENTITY = _ENTITY._replace(nullable=True)

_PAGE = {"language": _LANGUAGE, "page_id": _NUMBER}
_SENTENCE = {**_PAGE, "sentence_index": _INDEX}
_PAIR = {"pair_id": _NUMBER, **_SENTENCE, "sentence": _TEXT, "entity": _ENTITY}
_PAIR_KEY = (*_SENTENCE, "entity")


def _links_lie_in_the_text(table: ibis.Table) -> Any:
    length = table.text.length()
    outside = table.links.filter(
        lambda link: (link.start < 0) | (link.start >= link.end) | (link.end > length) | (link.target == "")
    )
    return outside.length() == 0


SCHEMAS: dict[str, TableSchema] = {
    "sentences": TableSchema(
        {
            **_SENTENCE,
            "page_title": _TEXT,
            "revision_id": _NUMBER,
            "text": _TEXT,
            "links": ColumnSchema("array"),
            "holes": _INDEX,
        },
        tuple(_SENTENCE),
        {"links lie in the text": _links_lie_in_the_text},
    ),
    "redirects": TableSchema({"language": _LANGUAGE, "source_title": _TEXT, "target_title": _TEXT}),
    "pages": TableSchema({**_PAGE, "title": _TEXT}, ("language", "page_id")),
    "sitelinks": TableSchema({"qid": _ENTITY, "language": _LANGUAGE, "title": _TEXT}),
    "entity_types": TableSchema({"qid": _ENTITY, "type_qid": _NUMBER}),
    "links": TableSchema({**_SENTENCE, "title": _TEXT, "entity": _ENTITY}),
    "entity_vocabulary": TableSchema(
        {"row": _NUMBER, "entity": _ENTITY, "label": _TEXT, "link_count": _NUMBER}, ("entity",)
    ),
    "pairs": TableSchema(_PAIR, _PAIR_KEY),
    "training_pairs": TableSchema(
        {
            **_PAIR,
            "hard_negative": _OTHER_ENTITY,
            "further_entities": ColumnSchema("array", nullable=True),
            "subject": _OTHER_ENTITY,
        },
        _PAIR_KEY,
        {
            "the hard negative is another entity": lambda table: table.hard_negative != table.entity,
            "further entities are others": lambda table: ~table.further_entities.contains(table.entity),
        },
    ),
}
"""The schema of each table, by the last part of its name in the catalog."""

REFERENCES: dict[str, list[tuple[str, str, str]]] = {
    "pairs": [("entity", "entity_vocabulary", "entity")],
    "training_pairs": [
        ("entity", "entity_vocabulary", "entity"),
        ("hard_negative", "entity_vocabulary", "entity"),
        ("pair_id", "pairs", "pair_id"),
    ],
}
"""Columns whose values must be in a column of another table, as far as they are not null; for the complete check."""


def find_table_faults(name: str, table: ibis.Table) -> list[str]:
    """Return a sentence without a full stop for each check that rows of a table fail; none if they fit its schema."""
    schema = SCHEMAS[name]
    # Ibis marks columns that are never null by `!`.
    kinds = {column: str(kind).lstrip("!") for column, kind in table.schema().items()}
    faults = [f"column `{column}` is missing" for column in schema.columns if column not in kinds]
    faults += [f"column `{column}` is unknown" for column in kinds if column not in schema.columns]
    faults += [
        f"column `{column}` has the type {kinds[column]} instead of {expected.kind}"
        for column, expected in schema.columns.items()
        if column in kinds and not kinds[column].startswith(expected.kind)
    ]
    if faults:
        return faults  # the checks below need all columns
    checks: list[tuple[str, str, Any]] = []  # column, condition, whether a row meets it
    for column, expected in schema.columns.items():
        if not expected.nullable:
            checks.append((column, "is not null", table[column].notnull()))
        if expected.condition:
            checks.append((column, expected.condition, expected.holds(table[column])))
    checks += [("", condition, holds(table)) for condition, holds in schema.rows.items()]
    # One pass counts the failures of all checks; a null value fails none.
    failures = {f"check{number}": ~holds.fill_null(True) for number, (*_, holds) in enumerate(checks)}
    totals = table.aggregate(**{check: rows.cast("int64").sum() for check, rows in failures.items()})
    (counts,) = totals.to_pyarrow().to_pylist()
    for (column, condition, _), (check, rows) in zip(checks, failures.items(), strict=True):
        if not counts[check]:
            continue
        (example,) = table.filter(rows).select(column or schema.key).limit(1).to_pyarrow().to_pylist()
        fault = f"{counts[check]} rows fail `{condition}`, such as"
        if column:
            faults.append(f"column `{column}`: {fault} {example[column]!r}")
        else:
            faults.append(f"{fault} {example!r}")
    return faults


def check_tables(catalog: CatalogProtocol[Any, Any]) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each table that exists with its number of rows and a sentence for each kind of fault."""
    parameters = (name.removeprefix("params:") for name in catalog.keys() if name.startswith("params:"))
    settings = sorted(name.removesuffix(".setting") for name in parameters if name.endswith(".setting"))
    for setting, name in product(settings, SCHEMAS):
        dataset = f"{setting}.{name}"
        if not catalog.exists(dataset):
            continue
        try:
            table = catalog.load(dataset)
            faults = find_table_faults(name, table)
            if key := SCHEMAS[name].key:
                repeated = table.group_by(key).agg(times=table.count()).filter(ibis._.times > 1)
                if number := int(repeated.count().execute()):
                    faults.append(f"{number} keys ({', '.join(key)}) appear more than once")
            faults += _missing_rows(name, table, setting, catalog)
            yield dataset, int(table.count().execute()), faults
        except (DatasetError, duckdb.Error) as error:
            yield dataset, 0, [f"cannot be read: {' '.join(str(error).split())}"]


def _missing_rows(name: str, table: ibis.Table, setting: str, catalog: CatalogProtocol[Any, Any]) -> list[str]:
    faults = []
    for column, other, key in REFERENCES.get(name, []):
        if catalog.exists(f"{setting}.{other}"):
            values = table.select(value=table[column]).filter(ibis._.value.notnull()).distinct()
            present = catalog.load(f"{setting}.{other}").select(value=key)
            if missing := int(values.anti_join(present, "value").count().execute()):
                faults.append(f"column `{column}`: {missing} values are not in `{other}`")
    return faults
