"""Wikidata's items: their types and sitelinks, from the JSON dump, or from truthy statements and page_props tables."""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec
import numpy as np
import orjson
import pyarrow as pa

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, check_dates, dump_date, list_files, nearest_table_first
from ease.wikimedia.dumps.parts import (
    Counts,
    IngestOptions,
    MapShards,
    TableWriter,
    describe_file,
    joblib_map,
    make_part,
    make_parts,
    part_name,
)
from ease.wikimedia.dumps.streams import FASTEST_FIRST, LineChunks, content_digest
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

SITELINKS_FILE = "sitelinks.parquet"
TYPES_FILE = "entity_types.parquet"
SITELINKS = pa.schema([("qid", pa.int64()), ("language", pa.string()), ("title", pa.string())])
ENTITY_TYPES = pa.schema([("qid", pa.int64()), ("type_qid", pa.int64())])

WIKIDATA_PARTS_VERSION = 1
"""Raise it if a JSON dump now gives other sitelinks or entity types: parts of another version are parsed again."""
TRUTHY_PARTS_VERSION = 1
"""The same for entity types from truthy statements"""
PAGE_PROPS_PARTS_VERSION = 1
"""The same for items of pages from a table page_props"""

# An empty file, or only white space, is reported as a dump without items.
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[\[{]|$)"), "a Wikidata JSON dump"
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
# Larger chunks are slower: the operating system provides their memory anew each time.
_CHUNK_BYTES = 256 << 10
_LOGGED_LINES = 5
_INSTANCE_OF = "P31"
_ENTITY_ID = re.compile(r"[A-Z][1-9]\d{0,17}")
_ITEM_ID = re.compile(r"Q[1-9]\d{0,17}")
_UNLINKED_OPENING = re.compile(rb'\{"type":"item","id":"Q[1-9]\d{0,17}","')
# Never part of a text, in which quotes are escaped.
_SITELINKS_KEY = b'"sitelinks":'
# Characters around an entity, which starts with { and ends with }: they belong to the array.
_AROUND = b"[], \t\r\xef\xbb\xbf"


class WikidataItem(NamedTuple):
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

    items: list[WikidataItem]
    counts: Counter[str]
    broken: list[tuple[int, str]]


def ingest_wikidata(path: Path, languages: Sequence[str] | None, options: IngestOptions, folder: Path) -> WikidataParts:
    """Read the sitelinks and types of the items that have an article in one of the languages.

    Other items are skipped, since no link can lead to them. If `languages` is None, the types of all items are read and
    no sitelinks.

    The counts are `items`, `items_with_sitelinks`, `other_entities`, `broken_lines`, `sitelinks` (by language),
    `entity_types`, `truncated`, `file` and `date`.

    Raises:
        EaseError: The file is not a Wikidata dump, is broken, is truncated while `options.truncated` is "drop", or the
            folder is full or not writable.
    """
    languages = languages and sorted(languages)

    def write(folder: Path) -> Counts:
        from joblib import cpu_count  # slow to import

        chunks = LineChunks(path, _CHUNK_BYTES, options.workers or cpu_count(), "Reading Wikidata", _OPENING)
        sites = None
        if languages is not None:
            sites = sites_of(languages)
        # Counts of zero are also reported.
        names = ("items", "items_with_sitelinks", "other_entities", "broken_lines", "entity_types")
        counts = Counter(dict.fromkeys(names, 0))
        sitelink_counts = Counter(dict.fromkeys(languages or (), 0))
        with (
            TableWriter(folder / SITELINKS_FILE, SITELINKS) as sitelinks,
            TableWriter(folder / TYPES_FILE, ENTITY_TYPES) as types,
        ):
            for first_line, chunk in _complete_lines(chunks):
                result = parse_lines(chunk, first_line, sites)
                for item in result.items:
                    for language, title in item.titles.items():
                        sitelinks.append((item.qid, language, title))
                    sitelink_counts.update(item.titles.keys())
                    for type_qid in item.types:
                        types.append((item.qid, type_qid))
                    counts["entity_types"] += len(item.types)
                for line, reason in result.broken[: max(0, _LOGGED_LINES - counts["broken_lines"])]:
                    logger.warning("%s, line %d is skipped: %s", path, line, reason)
                counts.update(result.counts)
        if not counts["items"]:
            raise EaseError(
                f"{path} has no readable Wikidata item ({counts['broken_lines']} broken lines, "
                f"{counts['other_entities']} other entities): the dump has one JSON entity per line."
            )
        return {**counts, "sitelinks": dict(sitelink_counts), "truncated": chunks.truncated}

    part = folder / "wikidata" / part_name(WIKIDATA_PARTS_VERSION, content_digest(path), languages)
    counts = describe_file(path, make_part(part, write), options.truncated)
    return WikidataParts([part / SITELINKS_FILE], [part / TYPES_FILE], counts)


def _complete_lines(chunks: LineChunks) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks, and the text after the last line break unless the file is cut or lacks the array's end."""
    yield from chunks
    chunks.truncated |= chunks.last_byte != b"]" and _ARRAY.match(chunks.head) is not None
    if not chunks.truncated:
        yield chunks.next_line, chunks.rest


def sites_of(languages: Sequence[str]) -> dict[str, str]:
    """Return the languages (`be-x-old`) of Wikipedias by their sites in the dump (`be_x_oldwiki`)."""
    return {Language(language).database + "wiki": language for language in languages}


def parse_lines(chunk: bytes, first_line: int, sites: Mapping[str, str] | None) -> ParsedLines:
    """Return the items of complete lines that have an article in one of the sites; None: the types of all items.

    An item without sitelinks is counted without being parsed.
    """
    decoder = _decoder(tuple(sites or ()))
    counts: Counter[str] = Counter()
    broken: list[tuple[int, str]] = []
    items: list[WikidataItem] = []
    for number, (start, end) in enumerate(_bounds_of_entities(chunk), first_line):
        if start == end:
            continue
        if sites is not None and _has_no_sitelinks(chunk, start, end):
            counts["items"] += 1
            continue
        try:
            content = chunk[start:end]
            try:
                # msgspec does not check the encoding of parts that it skips.
                entity: Any = decoder.decode(content.decode())
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                # Another form, or broken: fails as the full parse fails. The one difference: a number that is too
                # large for a float is no error in a part that is not used.
                entity = orjson.loads(content)
            item = read_item(entity, sites or {})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            broken.append((number, f"{type(error).__name__}: {error}"))
            continue
        if item is None:
            counts["other_entities"] += 1
            continue
        counts["items"] += 1
        if item.titles or sites is None:
            items.append(item)
    counts["items_with_sitelinks"] = sum(bool(item.titles) for item in items)
    counts["broken_lines"] = len(broken)
    return ParsedLines(items, counts, broken)


def _bounds_of_entities(chunk: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the entity of each line starts and ends, equal for a line without one; copies no line."""
    line_start = 0
    while line_start <= len(chunk):
        line_end = chunk.find(b"\n", line_start)
        start = line_start
        end = line_end
        if end < 0:
            end = len(chunk)
        line_start = end + 1
        while start < end and chunk[start] in _AROUND:
            start += 1
        while start < end and chunk[end - 1] in _AROUND:
            end -= 1
        yield start, end


def _has_no_sitelinks(chunk: bytes, start: int, end: int) -> bool:
    """Return whether an entity, in the dump's own form, is an item without an article in any wiki."""
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

    def only(**fields: Any) -> Any:
        return TypedDict("_Fields", fields, total=False)  # type: ignore[operator]

    claims = only(**{_INSTANCE_OF: Any})
    sitelinks = only(**dict.fromkeys(sites, Any))
    return msgspec.json.Decoder(only(id=Any, type=Any, claims=claims, sitelinks=sitelinks))


def read_item(entity: Mapping[str, Any], sites: Mapping[str, str]) -> WikidataItem | None:
    """Return an item of the dump; None for a property or another entity.

    Args:
        entity: The parsed JSON.
        sites: Languages of the Wikipedias whose titles are read, by their sites.

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
    sitelinks = entity.get("sitelinks") or {}
    claims = entity.get("claims") or {}
    titles = {language: sitelinks[site]["title"] for site, language in sites.items() if site in sitelinks}
    if not all(isinstance(title, str) and title for title in titles.values()):
        raise TypeError("a sitelink's title is not a text")
    statements = claims.get(_INSTANCE_OF)
    if not isinstance(statements, list):
        statements = []
    return WikidataItem(int(identifier[1:]), titles, _types(statements))


def _types(statements: Sequence[Any]) -> list[int]:
    """Return the distinct items of the preferred statements, else of the normal ones; skip malformed statements."""
    ranked = [(statement.get("rank"), statement) for statement in statements if isinstance(statement, dict)]
    preferred = [statement for rank, statement in ranked if rank == "preferred"]
    types = []
    for statement in preferred or [statement for rank, statement in ranked if rank == "normal"]:
        match statement.get("mainsnak"):
            # `somevalue` (unknown) and `novalue` have no item.
            case {"snaktype": "value", "datavalue": {"value": {**value}}}:
                # Old dumps have only the number of the item.
                identifier = value.get("id", f"Q{value.get('numeric-id')}")
                is_item = value.get("entity-type", "item") == "item"
                if is_item and isinstance(identifier, str) and _ITEM_ID.fullmatch(identifier):
                    types.append(int(identifier[1:]))
    return list(dict.fromkeys(types))


STATEMENTS_FILE = "statements.parquet"

_PROPERTY = b"<http://www.wikidata.org/prop/direct/P31>"
_ENTITY = rb"<http://www\.wikidata\.org/entity/"
_MIDDLE = rb"[ \t]+" + re.escape(_PROPERTY) + rb"[ \t]+"
_TYPE = re.compile(_ENTITY + rb"Q([1-9]\d{0,17})>" + _MIDDLE + _ENTITY + rb"Q([1-9]\d{0,17})>[ \t]*\.\s*")
_NODE = rb"(?:<[^<>\s]+>|_:\S+)"
# A statement about another entity (a property), or with another value (the blank node of an unknown value).
_OTHER = re.compile(_NODE + _MIDDLE + _NODE + rb"[ \t]*\.\s*")
_PREDICATE = re.compile(rb"\S+" + _MIDDLE)
_TRUTHY_OPENING = re.compile(rb"\s*(?:[<#]|_:|$)"), "an N-Triples dump"
_TRUTHY_CHUNK_BYTES = 4 << 20


def ingest_truthy(path: Path, options: IngestOptions, folder: Path) -> WikidataParts:
    """Read the types of all items: parts of `entity_types` only. Threads share the decompression of a .bz2 file.

    The counts are `statements`, `other_statements`, `broken_lines`, `lines`, `truncated`, `file` and `date`. Raises
    EaseError as `ingest_wikidata` does.
    """

    def write(folder: Path) -> Counts:
        from joblib import cpu_count  # slow to import

        counts = dict.fromkeys(("statements", "other_statements", "broken_lines"), 0)
        threads = options.workers or cpu_count()
        chunks = LineChunks(path, _TRUTHY_CHUNK_BYTES, threads, "Reading types", _TRUTHY_OPENING)
        with TableWriter(folder / STATEMENTS_FILE, ENTITY_TYPES) as writer:
            for _, chunk in chunks:
                writer.write(_read_types(chunk, counts))
            lines = chunks.next_line - 1
            rest = chunks.rest.strip()
            # Each statement ends with a point: without it, the last line is cut.
            truncated = chunks.truncated or (bool(rest) and not rest.endswith(b"."))
            if rest and not truncated:
                writer.write(_read_types(chunks.rest, counts))
                lines += 1
        if not counts["statements"]:
            raise EaseError(
                f"{path} has no P31 statement about an item ({lines} lines, {counts['broken_lines']} broken), such as "
                f"<http://www.wikidata.org/entity/Q42> {_PROPERTY.decode()} <http://www.wikidata.org/entity/Q5> ."
            )
        return {**counts, "lines": lines, "truncated": truncated}

    part = folder / "truthy" / part_name(TRUTHY_PARTS_VERSION, content_digest(path))
    counts = describe_file(path, make_part(part, write), options.truncated)
    return WikidataParts([], [part / STATEMENTS_FILE], counts)


def _read_types(chunk: bytes, counts: dict[str, int]) -> pa.RecordBatch:
    """Return the item and the type of each statement in some lines; adds to the counts."""
    pairs = []
    # Few lines of the dump have the property: the search skips the others without splitting them.
    position = chunk.find(_PROPERTY)
    while position >= 0:
        start = chunk.rfind(b"\n", 0, position) + 1
        end = chunk.find(b"\n", position)
        if end < 0:
            end = len(chunk)
        if statement := _TYPE.fullmatch(chunk, start, end):
            pairs.append((int(statement[1]), int(statement[2])))
        elif _OTHER.fullmatch(chunk, start, end):
            counts["other_statements"] += 1
        elif _PREDICATE.match(chunk, start, end):
            # Otherwise the property is part of a text.
            counts["broken_lines"] += 1
        position = chunk.find(_PROPERTY, end)
    counts["statements"] += len(pairs)
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=ENTITY_TYPES)


PAGE_ITEMS_FILE = "page_items.parquet"
PAGE_ITEMS = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("qid", pa.int64())])

_NAME = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*?)wiki-(?:.+-)?page_props\.sql(?:\.(?:bz2|gz|xz|zst))?")
_PROPS_CHUNK_BYTES = 1 << 20
_BEGINNING = rb"\((\d{1,18}),(?:_binary )?'wikibase_item',"
# `(page,'wikibase_item','Q42',NULL)`. Line breaks and quotes in values are escaped: no line ends inside a row, and the
# pattern matches no text.
_ROW = re.compile(_BEGINNING + rb"(?:_binary )?'[Qq]([1-9]\d{0,17})'(?:,(?:NULL|-?[0-9.][0-9.eE+-]*+))?\)")
_ANY_ROW = re.compile(_BEGINNING)
_ITEM_PROPERTY = b"'wikibase_item'"
_TABLE = re.compile(rb"(?:CREATE TABLE|INTO) (?:IF NOT EXISTS )?`?page_props`?")
_OPENS_DUMP = re.compile(rb"-- (?:MySQL|MariaDB) dump")
_ENDS_DUMP = b"-- Dump completed"


class PageItemReader:
    """The items of pages in a MySQL or MariaDB dump of the table page_props, streamed in bounded memory.

    Attributes:
        broken_rows: After the iteration, the number of `wikibase_item` rows that cannot be read.
        truncated: After the iteration, whether the file ends inside its compressed data, or lacks the line that ends a
            dump.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.broken_rows = 0
        self.truncated = False

    def __iter__(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yield (page id, item number) pairs, as lists of the pairs of some lines.

        Raises EaseError if the file is missing, broken or not a dump of the table.
        """
        chunks = LineChunks(self.path, _PROPS_CHUNK_BYTES)
        is_table = False
        is_complete = False
        row_count = 0
        # Items in rows of another order of columns match no pattern.
        has_items = False
        for _, chunk in chunks:
            is_table = is_table or _TABLE.search(chunk) is not None
            is_complete = is_complete or _ENDS_DUMP in chunk
            rows = _ROW.findall(chunk)
            self.broken_rows += sum(1 for _ in _ANY_ROW.finditer(chunk)) - len(rows)
            row_count += len(rows)
            has_items = has_items or _ITEM_PROPERTY in chunk
            yield rows
        # The last row of the rest may be cut, so its broken rows do not count.
        rows = _ROW.findall(chunks.rest)
        row_count += len(rows)
        yield rows
        if not is_table and not _TABLE.search(chunks.rest):
            raise EaseError(
                f"{self.path} is not a dump of a table `page_props`: get {{wiki}}-{{date}}-page_props.sql.gz."
            )
        if has_items and not row_count:
            raise EaseError(
                f"{self.path} has rows in another form than (pp_page, 'wikibase_item', pp_value, …): write the table "
                "with its columns in this order, as mysqldump does."
            )
        if self.broken_rows:
            logger.warning("%s: %d rows cannot be read", self.path, self.broken_rows)
        # Only the dumps of some programs end with a line that says so; they also begin with one.
        self.truncated = chunks.truncated or (_OPENS_DUMP.match(chunks.head) is not None and not is_complete)


class PageItemParts(NamedTuple):
    """The part files of a table (language, page_id, qid), and the counts of each language."""

    page_items: list[Path]
    counts: dict[str, dict[str, Any]]


def find_page_props(places: Sequence[Path], dates: Mapping[str, str | None]) -> list[DumpFile]:
    """Find the page_props file of each language in some files and folders, which are searched recursively.

    `dates` has the dates of the languages' dumps. The result is the newest table at or before this date, else the first
    one after it; the newest of all if the date is None.

    Raises EaseError if a language has no file, or files both with and without a date.
    """
    codes = {Language(language).database: language for language in dates}
    tables_by_language: dict[str, list[DumpFile]] = defaultdict(list)
    pattern = "{wiki}-{date}-page_props.sql.gz"
    for path in dict.fromkeys(path for place in places for path in list_files(place, bool, pattern)):
        match = _NAME.fullmatch(path.name)
        if match and (language := codes.get(match["wiki"])):
            tables_by_language[language].append(DumpFile(path, language, dump_date(path)))
    if missing := [language for language in dates if language not in tables_by_language]:
        raise EaseError(
            f"There is no page_props table of {', '.join(missing)} in {', '.join(map(str, places))}: put "
            f"{pattern} beside the wiki's dump, or set `wikidata_titles` to json."
        )
    return [_nearest_table(tables_by_language[language], date) for language, date in dates.items()]


def _nearest_table(tables: Sequence[DumpFile], date: str | None) -> DumpFile:
    """Return a language's table for the dump of a date, in the compression that is fastest to read."""
    check_dates(tables)
    table_dates = [table.dump_date for table in tables if table.dump_date]
    nearest = next(iter(nearest_table_first(table_dates, date or max(table_dates, default=""))), None)
    if nearest and nearest != date:
        message = "%s: using the page_props table of %s with the dump of %s"
        logger.info(message, tables[0].language, nearest, date)
    candidates = [table for table in tables if table.dump_date == nearest]
    return min(candidates, key=lambda table: FASTEST_FIRST.index(table.compression))


def ingest_page_props(
    files: Sequence[DumpFile], options: IngestOptions, folder: Path, map_shards: MapShards | None = None
) -> PageItemParts:
    """Read the items of pages into parts, which the folder keeps from run to run.

    `map_shards` says where files are read; None uses `options.workers` local processes. The counts are `page_items`,
    `broken_rows`, `truncated`, `file` and `date`. Raises EaseError as `ingest_wikidata` does.
    """
    parts = {
        folder / "page_props" / part_name(PAGE_PROPS_PARTS_VERSION, content_digest(file.path), file.language): file
        for file in files
    }
    map_shards = map_shards or joblib_map(options.workers)
    reports = make_parts(
        parts, _write_page_props_part, lambda file: file.path.stat().st_size, map_shards, "Reading page_props"
    )
    counts = {file.language: describe_file(file.path, reports[part], options.truncated) for part, file in parts.items()}
    return PageItemParts([part / PAGE_ITEMS_FILE for part in parts], counts)


def _write_page_props_part(file: DumpFile, folder: Path) -> Counts:
    reader = PageItemReader(file.path)
    items = 0
    with TableWriter(folder / PAGE_ITEMS_FILE, PAGE_ITEMS) as writer:
        for rows in reader:
            numbers = np.array(rows, dtype=bytes).reshape(-1, 2).astype(np.int64).T
            columns = [pa.repeat(pa.scalar(file.language), len(rows)), *map(pa.array, numbers)]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=PAGE_ITEMS))
            items += len(rows)
    if not items:
        raise EaseError(
            f"{file.path} has no page with an item (a row 'wikibase_item', 'Q…'; {reader.broken_rows} broken rows)."
        )
    return {"page_items": items, "broken_rows": reader.broken_rows, "truncated": reader.truncated}
