"""Sitelinks and types from the JSON dump of Wikidata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import find_wikidata
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import WikidataParts, ingest_wikidata
from tests.wikimedia.made_dumps import PACK

OPTIONS = IngestOptions(workers=1)
Entity = Mapping[str, Any]


def sitelinks(**titles: str) -> dict[str, Any]:
    return {
        f"{site}wiki": {"site": f"{site}wiki", "title": title, "badges": []} for site, title in titles.items()
    }


def statement(qid: int | None, rank: str = "normal", kind: str = "value") -> dict[str, Any]:
    snak: dict[str, Any] = {"snaktype": kind, "property": "P31"}
    if kind == "value":
        value = {"entity-type": "item", "numeric-id": qid, "id": f"Q{qid}"}
        snak["datavalue"] = {"value": value, "type": "wikibase-entityid"}
    return {"mainsnak": snak, "type": "statement", "rank": rank}


def make_item(qid: int, types: Sequence[dict[str, Any]] = (), **titles: str) -> Entity:
    claims = {"P31": list(types)} if types else []
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {},
        "claims": claims,
        "sitelinks": sitelinks(**titles) or [],
    }


def lines_of(*entities: Entity | str) -> str:
    lines = [entity if isinstance(entity, str) else json.dumps(entity) for entity in entities]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def ingest(
    folder: Path, content: str | bytes, languages: Sequence[str] = ("en",), name: str = "wikidata.json"
) -> WikidataParts:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return ingest_wikidata(path, languages, OPTIONS, folder / "parts")


def rows(paths: list[Path]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist()]


def test_reads_the_49_real_items(test_data: Path, tmp_path: Path) -> None:
    path = find_wikidata(test_data / "dumps")
    assert path.name == "wikidata-49-items.json"
    languages = ["en", "ja", "tr", "eo"]
    parts = ingest_wikidata(path, languages, OPTIONS, tmp_path)
    links = rows(parts.sitelinks)
    assert (64, "tr", "Berlin") in links
    assert (64, "ja", "ベルリン") in links
    assert parts.counts["items"] == parts.counts["items_with_sitelinks"] == 49
    assert parts.counts["sitelinks"] == {
        language: sum(row[1] == language for row in links) for language in languages
    }
    assert len({qid for qid, _ in rows(parts.entity_types)}) == 40
    schema = pq.read_schema(parts.sitelinks[0])
    assert [(field.name, str(field.type)) for field in schema] == [
        ("qid", "int64"),
        ("language", "string"),
        ("title", "string"),
    ]


def test_broken_lines_are_counted_logged_and_skipped(
    test_data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = test_data / "dumps/wikidata/jsondumpreader-3valid-2invalid.json"
    parts = ingest_wikidata(path, ["en"], OPTIONS, tmp_path)
    counts = parts.counts
    assert (counts["items"], counts["other_entities"], counts["broken_lines"]) == (1, 2, 2)
    assert rows(parts.sitelinks) == [(1, "en", "Universe")]
    assert "line 3 is skipped: ValueError: 'kittens' is not an entity identifier" in caplog.text
    assert "line 5 is skipped" in caplog.text


def test_items_without_labels_sitelinks_or_claims(tmp_path: Path) -> None:
    bare = {"type": "item", "id": "Q5"}
    parts = ingest(tmp_path, lines_of(bare, make_item(6), {**make_item(7, en="Seven"), "labels": []}))
    assert rows(parts.sitelinks) == [(7, "en", "Seven")]
    assert rows(parts.entity_types) == []
    assert (parts.counts["items"], parts.counts["items_with_sitelinks"]) == (3, 1)


FORMS = {
    "lines": "\n".join(json.dumps(make_item(qid, en=f"T{qid}")) for qid in range(1, 4)),
    "windows": lines_of(*(make_item(qid, en=f"T{qid}") for qid in range(1, 4))).replace("\n", "\r\n"),
    "brackets on the lines": lines_of(*(make_item(qid, en=f"T{qid}") for qid in range(1, 4)))
    .replace("[\n", "[", 1)
    .replace("\n]\n", "]"),
    "byte order mark": "\ufeff" + lines_of(*(make_item(qid, en=f"T{qid}") for qid in range(1, 4))),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_array(tmp_path: Path, form: str) -> None:
    parts = ingest(tmp_path, FORMS[form])
    assert rows(parts.sitelinks) == [(qid, "en", f"T{qid}") for qid in range(1, 4)]
    assert (parts.counts["broken_lines"], parts.counts["truncated"]) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["", ".bz2"])
def test_a_truncated_file_is_kept_or_dropped(
    tmp_path: Path, packing: str, caplog: pytest.LogCaptureFixture
) -> None:
    content = lines_of(*(make_item(qid, en=f"Title {qid * 7919}") for qid in range(1, 20_000))).encode()
    path = tmp_path / f"wikidata.json{packing}"
    packed = PACK[packing](content)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    parts = ingest_wikidata(path, ["en"], OPTIONS, tmp_path / "parts")
    links = rows(parts.sitelinks)
    assert parts.counts["truncated"]
    assert parts.counts["broken_lines"] == 0
    assert links == [(qid, "en", f"Title {qid * 7919}") for qid in range(1, len(links) + 1)]
    assert 0 < len(links) < 19_999
    assert f"{path} is truncated" in caplog.text
    with pytest.raises(EaseError, match="is truncated: download it again, or set `truncated`"):
        ingest_wikidata(path, ["en"], IngestOptions(workers=1, truncated="drop"), tmp_path / "parts")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html>404</html>", "is not a Wikidata JSON dump: it begins with b'<html>404"),
        ("", r"is empty \(0 bytes\)"),
        ("[\n]\n", "has no readable Wikidata item"),
        (lines_of({"type": "property", "id": "P1"}, "{"), r"\(1 broken lines, 1 other entities\)"),
    ],
)
def test_files_that_are_not_dumps_are_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        ingest(tmp_path, content)
    assert not list((tmp_path / "parts").rglob("*.parquet"))


def test_finds_the_newest_and_fastest_dump(tmp_path: Path) -> None:
    names = [
        "wikidata-20240101-all.json.gz",
        "wikidata-20240301-all.json.bz2",
        "wikidata-20240301-all.json.gz",
    ]
    for name in (*names, "wikidata-20240301-lexemes.json.gz", "other.json"):
        (tmp_path / name).write_bytes(b"")
    assert find_wikidata(tmp_path).name == "wikidata-20240301-all.json.gz"
    assert find_wikidata(f"{tmp_path}/*0101*").name == "wikidata-20240101-all.json.gz"
    assert find_wikidata(tmp_path / "other.json").name == "other.json"


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
