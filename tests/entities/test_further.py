"""Further positives of a sentence: all other entities that it links to, and its page's subject."""

from __future__ import annotations

import random
from typing import Any

import ibis
import pyarrow as pa
from ibis.backends.sql import SQLBackend

from ease.entities.pairs import add_further_entities

Rows = list[dict[str, Any]]


def make_tables(seed: int = 0) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    """Pairs, links, subjects and vocabulary; some entities are unknown, some pairs were left out by a filter."""
    rng = random.Random(seed)
    links = [
        {"language": language, "page_id": page, "sentence_index": index, "entity": rng.randint(1, 40)}
        for language in ("en", "ja")
        for page in range(5)
        for index in range(3)
        for _ in range(rng.randint(1, 6))
    ]
    unique = [dict(row) for row in {tuple(row.items()) for row in links}]
    kept = sorted(
        (row for row in unique if row["entity"] % 3 and row["entity"] % 7), key=lambda row: [*row.values()]
    )
    pairs = [{"pair_id": number, **row} for number, row in enumerate(kept)]
    subjects = [
        {"language": language, "page_id": page, "entity": 1 + page * 7}
        for language in ("en", "ja")
        for page in range(4)
    ]
    vocabulary = [{"row": number, "entity": number} for number in range(1, 41) if number % 7]
    given = (pairs, links, subjects, vocabulary)
    return tuple(pa.Table.from_pylist(rows) for rows in given)  # type: ignore[return-value]


def by_hand(tables: tuple[pa.Table, ...]) -> dict[int, tuple[set[int], int | None]]:
    """Return each pair's further entities and subject, from dictionaries."""
    pairs, links, subjects, vocabulary = (table.to_pylist() for table in tables)
    known = {row["entity"] for row in vocabulary}
    expected = {}
    for pair in pairs:
        place = (pair["language"], pair["page_id"], pair["sentence_index"])
        own = {
            row["entity"]
            for row in links
            if (row["language"], row["page_id"], row["sentence_index"]) == place and row["entity"] in known
        }
        subject = {row["entity"] for row in subjects if (row["language"], row["page_id"]) == place[:2]}
        left = (subject & known) - own
        expected[pair["pair_id"]] = (own - {pair["entity"]}, left.pop() if left else None)
    return expected


def add_further(tables: Any, seed: int = 3) -> Any:
    """Add the further entities to the pairs of four tables."""
    pairs, links, subjects, vocabulary = tables
    return add_further_entities(pairs, links, subjects, vocabulary, seed)


def test_every_other_entity_of_the_sentence_is_added(duckdb_engine: SQLBackend) -> None:
    tables = make_tables()
    found: Rows = duckdb_engine.to_pyarrow(add_further(map(ibis.memtable, tables))).to_pylist()
    expected = by_hand(tables)
    assert [row["pair_id"] for row in found] == sorted(expected)
    assert {row["pair_id"]: (set(row["further_entities"] or ()), row["subject"]) for row in found} == expected
    assert any(subject for _, subject in expected.values())
    assert all(len(set(row["further_entities"] or ())) == len(row["further_entities"] or ()) for row in found)


def test_engine_and_order_of_rows_do_not_matter(
    another_store: tuple[SQLBackend, Any], saved: Any, duckdb_engine: SQLBackend
) -> None:
    tables = make_tables()
    expected = duckdb_engine.to_pyarrow(add_further(map(ibis.memtable, tables))).to_pylist()
    engine, store = another_store
    shuffled = [table.take(random.Random(1).sample(range(len(table)), len(table))) for table in tables]
    assert saved(engine, add_further(map(store, shuffled))).to_pylist() == expected
