"""Reading only the used parts of an item gives the rows, counts and reasons of a full parse."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from ease.wikimedia.wikidata import Item, parse_lines, read_item, sites_of
from tests.wikimedia.wikidata.test_json_dump import sitelinks, statement

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


def read_fully(chunk: bytes) -> tuple[list[Item], list[tuple[int, str]]]:
    """Return the items and the broken lines by parsing all of every line."""
    items, broken = [], []
    for number, line in enumerate(chunk.split(b"\n"), 1):
        if content := line.strip(b"[], \t\r\xef\xbb\xbf"):
            try:
                item = read_item(orjson.loads(content), SITES)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                broken.append((number, f"{type(error).__name__}: {error}"))
            else:
                items += [item] if item and item.titles else []
    return items, broken


def assert_read_as_fully(chunk: bytes) -> int:
    """Return the number of items, which are those of the full parse."""
    parsed = parse_lines(chunk, 1, SITES)
    items, broken = read_fully(chunk)
    assert parsed.items == items
    assert parsed.broken == broken
    assert parsed.counts["broken_lines"] == len(broken)
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
    place, damage = (
        rng.randrange(len(line)),
        rng.choice([b"", b'"', b"\\", b"\xff", b"{", b"]", b",", b"0", b"\t"]),
    )
    changed = (
        line[:place] + damage + line[place + 1 :],
        line[:place] + damage + line[place:],
        line[:place],
    )
    return rng.choice((line, line, line, *changed)) + rng.choice((b"", b",", b",\r", b" ,\t"))


@pytest.mark.parametrize("seed", range(3))
def test_made_lines_whole_and_damaged(seed: int) -> None:
    rng = random.Random(seed)
    found = sum(assert_read_as_fully(made_line(rng)) for _ in range(500))
    assert found > 150


def test_real_items_whole_and_damaged(test_data: Path) -> None:
    rng = random.Random(0)
    for name in ("wikidata-49-items.json", "jsondumpreader-3valid-2invalid.json"):
        chunk = (test_data / "dumps/wikidata" / name).read_bytes()
        assert_read_as_fully(chunk)
        for line in chunk.split(b"\n"):
            place = rng.randrange(len(line) + 1)
            assert_read_as_fully(line[:place] + bytes([rng.randrange(256)]) + line[place + 1 :])
