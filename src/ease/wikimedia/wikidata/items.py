"""Read sitelinks and types of Wikidata's items from lines of the JSON dump."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from ease.wikimedia.languages import Language

SITELINKS = pa.schema([("qid", pa.int64()), ("language", pa.string()), ("title", pa.string())])
ENTITY_TYPES = pa.schema([("qid", pa.int64()), ("type_qid", pa.int64())])

_INSTANCE_OF = "P31"
_ENTITY_ID = re.compile(r"[A-Z][1-9]\d{0,17}")
_ITEM_ID = re.compile(r"Q[1-9]\d{0,17}")
_UNLINKED_OPENING = re.compile(rb'\{"type":"item","id":"Q[1-9]\d{0,17}","')
_SITELINKS_KEY = b'"sitelinks":'
"""Never part of a text, in which quotes are escaped."""


class Item(NamedTuple):
    """An item with the titles of its articles by language, and its types: the items that it is an instance of."""

    qid: int
    titles: dict[str, str]
    types: list[int]


class WikidataParts(NamedTuple):
    """The part files of both tables, which may repeat rows, and the counts."""

    sitelinks: list[Path]
    entity_types: list[Path]
    counts: dict[str, Any]


class ParsedLines(NamedTuple):
    """Rows and counts of some lines, and (line number, reason) of the broken lines."""

    sitelinks: pa.RecordBatch
    entity_types: pa.RecordBatch
    counts: Counter[str]
    broken: list[tuple[int, str]]


def parse_lines(chunk: bytes, first_line: int, languages: Sequence[str] | None) -> ParsedLines:
    """Read the items of complete lines that have an article in one of the languages; None: the types of all items.

    An item without sitelinks is counted without being parsed.
    """
    sites = {Language(language).database + "wiki": language for language in languages or ()}
    counts: Counter[str] = Counter()
    broken: list[tuple[int, str]] = []
    items: list[Item] = []
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        # An entity starts with { and ends with }; other characters at the ends belong to the array.
        content = line.strip(b"[], \t\r\xef\xbb\xbf")
        if not content:
            continue
        if languages is not None and _has_no_sitelinks(content):
            counts["items"] += 1
            continue
        try:
            item = read_item(orjson.loads(content), sites)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            broken.append((number, f"{type(error).__name__}: {error}"))
            continue
        counts["other_entities" if item is None else "items"] += 1
        if item is not None and (item.titles or languages is None):
            items.append(item)
    titles = [(item.qid, language, title) for item in items for language, title in item.titles.items()]
    types = [(item.qid, type_qid) for item in items for type_qid in item.types]
    linked = sum(bool(item.titles) for item in items)
    counts.update(broken_lines=len(broken), items_with_sitelinks=linked, entity_types=len(types))
    return ParsedLines(_batch(titles, SITELINKS), _batch(types, ENTITY_TYPES), counts, broken)


def _has_no_sitelinks(content: bytes) -> bool:
    """Whether a line, in the dump's own form, is an item without an article in any wiki."""
    start = content.rfind(_SITELINKS_KEY) + len(_SITELINKS_KEY)
    return (
        content[start : start + 2] in (b"{}", b"[]")
        and _UNLINKED_OPENING.match(content) is not None
        and content.endswith(b"}")
    )


def read_item(entity: Mapping[str, Any], sites: Mapping[str, str]) -> Item | None:
    """Return an item of the dump; None for a property or another entity.

    Args:
        entity: The parsed JSON.
        sites: Languages (`be-x-old`) of the wanted Wikipedias by their sites (`be_x_oldwiki`).

    Raises:
        ValueError: The identifier is invalid.
        TypeError, KeyError, AttributeError: A part of the entity has another form than in the dump.
    """
    identifier = entity["id"]
    if not _ENTITY_ID.fullmatch(identifier):
        raise ValueError(f"{identifier!r} is not an entity identifier")
    if entity.get("type", "item") != "item" or identifier[0] != "Q":
        return None
    # Old dumps write an empty map as [], and empty parts may be missing.
    sitelinks, claims = entity.get("sitelinks") or {}, entity.get("claims") or {}
    titles = {language: sitelinks[site]["title"] for site, language in sites.items() if site in sitelinks}
    if not all(isinstance(title, str) and title for title in titles.values()):
        raise TypeError("a sitelink's title is not a text")
    statements = claims.get(_INSTANCE_OF)
    return Item(int(identifier[1:]), titles, _types(statements if isinstance(statements, list) else []))


def _types(statements: Sequence[Any]) -> list[int]:
    """Return the distinct items of the preferred statements, else of the normal ones; skip malformed statements."""
    ranked = [(statement.get("rank"), statement) for statement in statements if isinstance(statement, dict)]
    preferred = [statement for rank, statement in ranked if rank == "preferred"]
    best = preferred or [statement for rank, statement in ranked if rank == "normal"]
    values = (_item_value(statement.get("mainsnak")) for statement in best)
    return list(dict.fromkeys(value for value in values if value is not None))


def _item_value(snak: Any) -> int | None:
    """Return the number of the item in a snak; None for the snaks `somevalue` (unknown) and `novalue`."""
    if not isinstance(snak, dict) or snak.get("snaktype") != "value":
        return None
    data = snak.get("datavalue")
    value = data.get("value") if isinstance(data, dict) else None
    if not isinstance(value, dict) or value.get("entity-type", "item") != "item":
        return None
    identifier = value.get("id", f"Q{value.get('numeric-id')}")
    found = isinstance(identifier, str) and _ITEM_ID.fullmatch(identifier)
    return int(identifier[1:]) if found else None


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
