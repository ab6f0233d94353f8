"""Types of Wikidata's items from their statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.wikimedia.wikidata.test_json_dump import ingest, lines_of, make_item, rows, statement

RANKED = {
    "all of one rank, each once": ([statement(5), statement(6), statement(5)], [5, 6]),
    "preferred before normal": ([statement(5), statement(6, "preferred"), statement(7, "deprecated")], [6]),
    "deprecated skipped": ([statement(5, "deprecated")], []),
    "unknown skipped": (
        [statement(None, kind="somevalue"), statement(5), statement(None, kind="novalue")],
        [5],
    ),
    "unknown preferred": ([statement(5), statement(None, "preferred", "somevalue")], []),
}


@pytest.mark.parametrize("case", RANKED)
def test_types_by_rank(tmp_path: Path, case: str) -> None:
    statements, types = RANKED[case]
    parts = ingest(tmp_path, lines_of(make_item(1, statements, en="One")))
    assert rows(parts.entity_types) == [(1, type_qid) for type_qid in types]


def odd_value(**value: Any) -> dict[str, Any]:
    return {
        "mainsnak": {"snaktype": "value", "datavalue": {"value": value, "type": "wikibase-entityid"}},
        "rank": "normal",
    }


ODD: dict[str, Any] = {
    "a lexeme": odd_value(**{"entity-type": "lexeme", "id": "L7"}),
    "a property": odd_value(**{"entity-type": "property", "numeric-id": 31, "id": "P31"}),
    "no number": odd_value(**{"entity-type": "item"}),
    "no value": {"mainsnak": {"snaktype": "value"}, "rank": "normal"},
    "a value that is said to be unknown": {
        "mainsnak": {**statement(9)["mainsnak"], "snaktype": "somevalue"},
        "rank": "normal",
    },
    "text for a snak": {"mainsnak": "x", "rank": "normal"},
    "no snak": {"rank": "normal"},
    "no rank": {"mainsnak": statement(9)["mainsnak"]},
    "nothing": None,
}


@pytest.mark.parametrize("case", ODD)
def test_only_a_malformed_statement_is_skipped(tmp_path: Path, case: str) -> None:
    statements = [statement(5), ODD[case], statement(6)]
    parts = ingest(tmp_path, lines_of(make_item(1, statements, en="One")))
    assert rows(parts.sitelinks) == [(1, "en", "One")]
    assert rows(parts.entity_types) == [(1, 5), (1, 6)]


@pytest.mark.parametrize("missing", ["id", "numeric-id"])
def test_values_of_old_and_new_dumps(tmp_path: Path, missing: str) -> None:
    value = statement(5)
    del value["mainsnak"]["datavalue"]["value"][missing]
    assert rows(ingest(tmp_path, lines_of(make_item(1, [value], en="One"))).entity_types) == [(1, 5)]


@pytest.mark.parametrize("title", [7, "", None, ["One"]])
def test_only_a_line_with_an_invalid_title_is_skipped(tmp_path: Path, title: Any) -> None:
    parts = ingest(tmp_path, lines_of(make_item(1, en=title), make_item(2, en="Two")))
    assert rows(parts.sitelinks) == [(2, "en", "Two")]
    assert parts.counts["broken_lines"] == 1
