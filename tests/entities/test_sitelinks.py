"""Sitelinks and types are joined equally on both engines."""

from __future__ import annotations

import random
from typing import Any

import ibis
import pyarrow as pa
from ibis.backends.sql import SQLBackend

from ease.entities.links import join_sitelinks, types_of_linked

PAGES = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("title", pa.string())])
ITEMS = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("qid", pa.int64())])
TYPES = pa.schema([("qid", pa.int64()), ("type_qid", pa.int64())])


def table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> ibis.Table:
    return ibis.memtable(
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    )


def rows(engine: SQLBackend, found: ibis.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in engine.to_pyarrow(found).to_pylist()]


def test_joins_equal_those_of_dictionaries(engine: SQLBackend) -> None:
    rng = random.Random(5)
    pages = [
        (language, page, f"{language} '東京' {page}") for language in ("en", "ja") for page in range(1, 200)
    ]
    items = [
        (language, page, rng.randrange(1, 150))
        for language in ("en", "ja", "de")
        for page in rng.sample(range(1, 300), 150)
    ]
    statements = [(rng.randrange(1, 200), rng.randrange(1, 9)) for _ in range(600)]
    repeated = [*pages, *rng.sample(pages, 50)]  # dump files can overlap
    titles = {(language, page): title for language, page, title in pages}
    expected = sorted(
        (qid, language, titles[language, page]) for language, page, qid in items if (language, page) in titles
    )
    linked = {qid for qid, _, _ in expected}
    assert 100 < len(expected) < len(items)
    sitelinks = join_sitelinks(table(repeated, PAGES), table(items, ITEMS))
    assert rows(engine, sitelinks) == expected
    types = types_of_linked(table(statements, TYPES), sitelinks)
    assert rows(engine, types) == sorted({pair for pair in statements if pair[0] in linked})
