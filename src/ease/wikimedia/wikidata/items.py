"""Read sitelinks and types of Wikidata's items from lines of the JSON dump."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec
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
_AROUND = b"[], \t\r\xef\xbb\xbf"
"""Characters around an entity, which starts with { and ends with }: they belong to the array."""


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
    """Items and counts of some lines, and (line number, reason) of the broken lines."""

    items: list[Item]
    counts: Counter[str]
    broken: list[tuple[int, str]]


def sites_of(languages: Sequence[str]) -> dict[str, str]:
    """Return languages (`be-x-old`) of Wikipedias by their sites in the dump (`be_x_oldwiki`)."""
    return {Language(language).database + "wiki": language for language in languages}


def parse_lines(chunk: bytes, first_line: int, sites: Mapping[str, str] | None) -> ParsedLines:
    """Read the items of complete lines that have an article in one of the sites; None: the types of all items.

    An item without sitelinks is counted without being parsed.
    """
    decoder = _decoder(tuple(sites or ()))
    counts: Counter[str] = Counter()
    broken: list[tuple[int, str]] = []
    items: list[Item] = []
    for number, (start, end) in enumerate(_bounds_of_entities(chunk), first_line):
        if start == end:
            continue
        if sites is not None and _has_no_sitelinks(chunk, start, end):
            counts["items"] += 1
            continue
        try:
            item = read_item(_parse(chunk[start:end], decoder), sites or {})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            broken.append((number, f"{type(error).__name__}: {error}"))
            continue
        counts["other_entities" if item is None else "items"] += 1
        if item is not None and (item.titles or sites is None):
            items.append(item)
    counts["items_with_sitelinks"] = sum(bool(item.titles) for item in items)
    counts["broken_lines"] = len(broken)
    return ParsedLines(items, counts, broken)


def _bounds_of_entities(chunk: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the entity of each line starts and ends, equal for a line without one; copies no line."""
    line_start = 0
    while line_start <= len(chunk):
        line_end = chunk.find(b"\n", line_start)
        start, end = line_start, len(chunk) if line_end < 0 else line_end
        line_start = end + 1
        while start < end and chunk[start] in _AROUND:
            start += 1
        while start < end and chunk[end - 1] in _AROUND:
            end -= 1
        yield start, end


def _has_no_sitelinks(chunk: bytes, start: int, end: int) -> bool:
    """Whether an entity, in the dump's own form, is an item without an article in any wiki."""
    key = chunk.rfind(_SITELINKS_KEY, start, end)
    return (
        key >= 0
        and chunk.startswith((b"{}", b"[]"), key + len(_SITELINKS_KEY), end)
        and _UNLINKED_OPENING.match(chunk, start, end) is not None
        and chunk.endswith(b"}", start, end)
    )


@cache
def _decoder(sites: tuple[str, ...]) -> msgspec.json.Decoder[dict[str, Any]]:
    """Return a decoder that reads over all parts of an entity, and makes objects of those that `read_item` uses."""
    claims, sitelinks = _only(**{_INSTANCE_OF: Any}), _only(**dict.fromkeys(sites, Any))
    return msgspec.json.Decoder(_only(id=Any, type=Any, claims=claims, sitelinks=sitelinks))


def _only(**fields: Any) -> Any:
    """Return the type of an object of which only these fields are kept."""
    return TypedDict("_Kept", fields, total=False)  # type: ignore[operator]


def _parse(content: bytes, decoder: msgspec.json.Decoder[dict[str, Any]]) -> Any:
    """Return the used parts of an entity, or all of an entity of another form; fail as the full parse fails.

    The one difference: a number that is too large for a float is no error in a part that is not used.
    """
    try:
        # msgspec does not check the encoding of parts that it skips.
        return decoder.decode(content.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return orjson.loads(content)


def read_item(entity: Mapping[str, Any], sites: Mapping[str, str]) -> Item | None:
    """Return an item of the dump; None for a property or another entity.

    Args:
        entity: The parsed JSON.
        sites: Languages of the wanted Wikipedias by their sites.

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
