"""Sitelinks and types from the JSON dump of Wikidata."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import find_wikidata
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import SITELINKS, WikidataParts, ingest_wikidata, parse_lines, read_item, sites_of
from tests.wikimedia.made_dumps import ONE, PACK

Entity = Mapping[str, Any]


def sitelinks(**titles: str) -> dict[str, Any]:
    return {f"{site}wiki": {"site": f"{site}wiki", "title": title, "badges": []} for site, title in titles.items()}


def statement(qid: int | None, rank: str = "normal", kind: str = "value") -> dict[str, Any]:
    snak: dict[str, Any] = {"snaktype": kind, "property": "P31"}
    if kind == "value":
        value = {"entity-type": "item", "numeric-id": qid, "id": f"Q{qid}"}
        snak["datavalue"] = {"value": value, "type": "wikibase-entityid"}
    return {"mainsnak": snak, "type": "statement", "rank": rank}


def make_item(qid: int, types: Sequence[dict[str, Any]] = (), **titles: str) -> Entity:
    claims = {"P31": list(types)} if types else []
    links: Any = sitelinks(**titles) or []
    return {"type": "item", "id": f"Q{qid}", "labels": {}, "claims": claims, "sitelinks": links}


def lines_of(*entities: Entity | str) -> str:
    lines = [entity if isinstance(entity, str) else json.dumps(entity) for entity in entities]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def ingest(folder: Path, content: str) -> WikidataParts:
    path = folder / "wikidata.json"
    path.write_text(content, encoding="utf-8", newline="")
    return ingest_wikidata(path, ["en"], ONE, folder / "parts")


def rows(paths: list[Path]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist()]


def test_reads_the_49_real_items(test_data: Path, tmp_path: Path) -> None:
    path = find_wikidata(test_data / "dumps")
    assert path.name == "wikidata-49-items.json"
    languages = ["en", "ja", "tr", "eo"]
    parts = ingest_wikidata(path, languages, ONE, tmp_path)
    links = rows(parts.sitelinks)
    assert (64, "tr", "Berlin") in links
    assert (64, "ja", "ベルリン") in links
    assert parts.counts["items"] == parts.counts["items_with_sitelinks"] == 49
    assert parts.counts["sitelinks"] == {language: sum(row[1] == language for row in links) for language in languages}
    assert len({qid for qid, _ in rows(parts.entity_types)}) == 40
    assert pq.read_schema(parts.sitelinks[0]).equals(SITELINKS)


def test_broken_lines_are_counted_and_logged(test_data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = test_data / "dumps/wikidata/jsondumpreader-3valid-2invalid.json"
    parts = ingest_wikidata(path, ["en"], ONE, tmp_path)
    counts = parts.counts
    assert (counts["items"], counts["other_entities"], counts["broken_lines"]) == (1, 2, 2)
    assert rows(parts.sitelinks) == [(1, "en", "Universe")]
    assert "line 3 is skipped: ValueError: 'kittens' is not an entity identifier" in caplog.text
    assert "line 5 is skipped" in caplog.text


THREE = [make_item(qid, en=f"T{qid}") for qid in range(1, 4)]
FORMS = {
    "lines": "\n".join(map(json.dumps, THREE)),
    "windows": lines_of(*THREE).replace("\n", "\r\n"),
    "brackets on the lines": lines_of(*THREE).replace("[\n", "[", 1).replace("\n]\n", "]"),
    "byte order mark": "\ufeff" + lines_of(*THREE),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_array(tmp_path: Path, form: str) -> None:
    parts = ingest(tmp_path, FORMS[form])
    assert rows(parts.sitelinks) == [(qid, "en", f"T{qid}") for qid in range(1, 4)]
    assert (parts.counts["broken_lines"], parts.counts["truncated"]) == (0, False)


@pytest.mark.parametrize("packing", ["", ".bz2"])
def test_a_truncated_file_is_kept_or_dropped(tmp_path: Path, packing: str, caplog: pytest.LogCaptureFixture) -> None:
    content = PACK[packing](lines_of(*(make_item(qid, en=f"T{qid * 7919}") for qid in range(1, 9000))).encode())
    path = tmp_path / f"wikidata.json{packing}"
    path.write_bytes(content[: len(content) * 3 // 4])
    parts = ingest_wikidata(path, ["en"], ONE, tmp_path / "parts")
    links = rows(parts.sitelinks)
    assert (parts.counts["truncated"], parts.counts["broken_lines"]) == (True, 0)
    assert links == [(qid, "en", f"T{qid * 7919}") for qid in range(1, len(links) + 1)]
    assert 0 < len(links) < 8999
    assert f"{path} is truncated" in caplog.text
    with pytest.raises(EaseError, match="is truncated: download it again, or set `truncated`"):
        ingest_wikidata(path, ["en"], IngestOptions(workers=1, truncated="drop"), tmp_path / "parts")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html>404</html>", "is a web page"),
        ("not found", "is not a Wikidata JSON dump: it begins with b'not found"),
        (lines_of({"type": "property", "id": "P1"}, "{"), r"\(1 broken lines, 1 other entities\)"),
        (lines_of(*(make_item(1, en=title) for title in (7, "", None, ["One"]))), r"\(4 broken lines, 0 other"),
    ],
)
def test_files_that_are_not_dumps_are_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        ingest(tmp_path, content)
    assert not list((tmp_path / "parts").rglob("*.parquet"))


def test_finds_the_newest_and_fastest_dump(tmp_path: Path) -> None:
    dumps = "20240101-all.json.gz 20240301-all.json.bz2 20240301-all.json.gz 20240301-lexemes.json.gz".split()
    for name in (*(f"wikidata-{dump}" for dump in dumps), "other.json"):
        (tmp_path / name).write_bytes(b"")
    assert find_wikidata(tmp_path).name == "wikidata-20240301-all.json.gz"
    assert find_wikidata(f"{tmp_path}/*0101*").name == "wikidata-20240101-all.json.gz"
    assert find_wikidata(tmp_path / "other.json").name == "other.json"


UNKNOWN = {"mainsnak": {**statement(9)["mainsnak"], "snaktype": "somevalue"}, "rank": "normal"}


def of_value(**value: Any) -> dict[str, Any]:
    return {"mainsnak": {"snaktype": "value", "datavalue": {"value": value}}, "rank": "normal"}


TYPES: dict[str, tuple[list[Any], list[int]]] = {
    "all of one rank, each once": ([statement(5), statement(6), statement(5)], [5, 6]),
    "preferred before normal": ([statement(5), statement(6, "preferred"), statement(7, "deprecated")], [6]),
    "unknown": ([statement(None, kind="somevalue"), UNKNOWN, statement(None, kind="novalue")], []),
    "unknown preferred": ([statement(5), statement(None, "preferred", "somevalue")], []),
    "old dumps": ([of_value(**{"entity-type": "item", "numeric-id": 5})], [5]),
    "new dumps": ([of_value(**{"entity-type": "item", "id": "Q5"})], [5]),
    "a lexeme": ([of_value(**{"entity-type": "lexeme", "id": "L7"})], []),
    "no number": ([of_value(**{"entity-type": "item"})], []),
    "no snak, no rank, nothing": ([{"rank": "normal"}, {"mainsnak": statement(9)["mainsnak"]}, None], []),
}


@pytest.mark.parametrize("case", TYPES)
def test_types_of_items(tmp_path: Path, case: str) -> None:
    statements, types = TYPES[case]
    normal = [] if "preferred" in case else [statement(98)]
    parts = ingest(tmp_path, lines_of(make_item(1, [*statements, *normal], en="One")))
    assert rows(parts.sitelinks) == [(1, "en", "One")]
    assert rows(parts.entity_types) == [(1, qid) for qid in (*types, *(98 for _ in normal))]


SITES = sites_of(["en", "be-x-old"])
TRAPS = (
    '"P31":[{"rank":"preferred"}]',
    '"sitelinks":{"enwiki":{"title":"Wrong"}}',
    '","P31":[',
    '\\","sitelinks":{},"',
    "P31",
    "sitelinks",
    "ends with a backslash \\",
    '}],"id":"Q9"',
    "Адзін \U0001f600 \u2028 \x00\x1f",
    "",
)
"""Texts with the names of the used parts, quotes and backslashes."""


def assert_read_as_fully(chunk: bytes) -> int:
    """Compare the items, counts and reasons with those of a parse of all of every line; return the number of items."""
    items, broken = [], []
    for number, line in enumerate(chunk.split(b"\n"), 1):
        if content := line.strip(b"[], \t\r\xef\xbb\xbf"):
            try:
                item = read_item(orjson.loads(content), SITES)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                broken.append((number, f"{type(error).__name__}: {error}"))
            else:
                items += [item] if item and item.titles else []
    parsed = parse_lines(chunk, 1, SITES)
    assert (parsed.items, parsed.broken, parsed.counts["broken_lines"]) == (items, broken, len(broken))
    return len(items)


def made_value(rng: random.Random, depth: int) -> Any:
    """Return a JSON value whose keys and texts have the names of the used parts."""
    if depth and rng.random() < 0.5:
        names = rng.choices(("P31", "sitelinks", "claims", "id", "type", "enwiki", "title", *TRAPS), k=3)
        return {name: made_value(rng, depth - 1) for name in names}
    if depth and rng.random() < 0.5:
        return [made_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return rng.choice([*TRAPS, None, True, -3, 2**60, 1.5e-7, "Q7", {}, []])


def made_entity(rng: random.Random) -> dict[str, Any]:
    """Return an entity with its keys in any order, in which any part may have another form."""
    statements = [
        {
            **statement(rng.randrange(1, 99), rng.choice(["normal", "preferred", "deprecated"])),
            "qualifiers": {"P31": [statement(1000)["mainsnak"], made_value(rng, 2)]},
            "references": [{"snaks": {"P31": [statement(1001)["mainsnak"]]}}],
        }
        for _ in range(rng.randrange(3))
    ]
    entity: dict[str, Any] = {
        "id": f"Q{rng.randrange(1, 10**9)}",
        "type": "item",
        "labels": {"en": {"language": "en", "value": rng.choice(TRAPS)}},
        "descriptions": made_value(rng, 3),
        "claims": {"P1": made_value(rng, 2), "P31": statements, "P310": made_value(rng, 2)},
        "sitelinks": sitelinks(en=rng.choice(TRAPS), fr=rng.choice(TRAPS), be_x_old="Адзін"),
    }
    for part in ("claims", "sitelinks", *entity):
        if rng.random() < 0.05:
            entity[part] = made_value(rng, 2)
    for inner, name in (("claims", "P31"), ("sitelinks", "enwiki")):
        if rng.random() < 0.1 and isinstance(entity[inner], dict):
            entity[inner][name] = made_value(rng, 2)
    names = rng.sample(list(entity), len(entity) - (rng.random() < 0.1))
    # An item that starts as in the dump is counted, not parsed, where its last sitelinks are empty.
    return {name: entity[name] for name in sorted(names, key="type".__eq__)}


def made_line(rng: random.Random) -> bytes:
    """Return a line, half of the lines with one damage: a byte more, less or changed, or the end cut off."""
    separators = rng.choice([(",", ":"), (", ", ": ")])
    line = json.dumps(made_entity(rng), ensure_ascii=rng.random() < 0.7, separators=separators).encode()
    if rng.random() < 0.2:  # a name twice
        line = line[:-1] + separators[0].encode() + line[1:]
    place, damage = rng.randrange(len(line)), rng.choice([b"", *(bytes([byte]) for byte in b'"\\\xff{],0\t')])
    changed = (line[:place] + damage + line[place + 1 :], line[:place] + damage + line[place:], line[:place])
    return rng.choice((line, line, line, *changed)) + rng.choice((b"", b",", b",\r", b" ,\t"))


@pytest.mark.parametrize("seed", range(2))
def test_made_lines_whole_and_damaged(seed: int) -> None:
    rng = random.Random(seed)
    readable = sum(assert_read_as_fully(made_line(rng)) for _ in range(500))
    assert readable > 150
