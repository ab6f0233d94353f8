"""Wikidata items of pages, from the page_props tables of Wikipedias.

With the titles of the pages these are the sitelinks, from a hundredth of the bytes of Wikidata's JSON dump.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ease.errors import EaseError
from ease.io.result_versions import PAGE_PROPS_PARTS
from ease.wikimedia.dumps.files import (
    DumpFile,
    check_dates,
    dump_date,
    list_files,
    nearest_table_first,
)
from ease.wikimedia.dumps.mapping import MapShards, joblib_map
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.dumps.parts import Counts, describe_file, make_parts, part_name
from ease.wikimedia.dumps.sql import TableReader
from ease.wikimedia.dumps.streams import FASTEST_FIRST, content_digest
from ease.wikimedia.dumps.table_writer import TableWriter
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)

PAGE_ITEMS_FILE = "page_items.parquet"
PAGE_ITEMS = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("qid", pa.int64())])

_NAME = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*?)wiki-(?:.+-)?page_props\.sql(?:\.(?:bz2|gz|zst))?")
_COLUMNS = {"pp_page": rb"(\d{1,18})", "pp_value": rb"(?:_binary )?'[Qq]([1-9]\d{0,17})'"}
_WHERE = ("pp_propname", "wikibase_item")


class PageItemParts(NamedTuple):
    """The part files of a table (language, page_id, qid), and the counts of each language."""

    page_items: list[Path]
    counts: dict[str, dict[str, Any]]


def find_page_props(places: Sequence[Path], dates: Mapping[str, str | None]) -> list[DumpFile]:
    """Find the page_props file of each language in some files and folders, which are searched recursively.

    Args:
        places: Files and folders.
        dates: Date of each language's dump. The table is the newest at or before this date, else the first one after
            it; the newest of all if the date is None.

    Raises:
        EaseError: A language has no file, or files both with and without a date.
    """
    asked = {Language(language).database: language for language in dates}
    found: dict[str, dict[Path, DumpFile]] = defaultdict(dict)
    pattern = "{wiki}-{date}-page_props.sql.gz"
    for place in places:
        for path in list_files(place, lambda name: True, pattern):
            match = _NAME.fullmatch(path.name)
            if match and (language := asked.get(match["wiki"])):
                found[language][path] = DumpFile(path, language, dump_date(path))
    if missing := [language for language in dates if language not in found]:
        raise EaseError(
            f"There is no page_props table of {', '.join(missing)} in {', '.join(map(str, places))}: put "
            f"{pattern} beside the wiki's dump, or set `wikidata_titles` to json."
        )
    return [_nearest(list(found[language].values()), date) for language, date in dates.items()]


def _nearest(tables: Sequence[DumpFile], date: str | None) -> DumpFile:
    check_dates(tables)
    known = [table.dump_date for table in tables if table.dump_date]
    chosen = next(iter(nearest_table_first(known, date or max(known, default=""))), None)
    if chosen and chosen != date:
        logger.info(
            "%s: using the page_props table of %s with the dump of %s", tables[0].language, chosen, date
        )
    same = [table for table in tables if table.dump_date == chosen]
    return min(same, key=lambda table: FASTEST_FIRST.index(table.compression))


def ingest_page_props(
    files: Sequence[DumpFile], options: IngestOptions, folder: Path, map_shards: MapShards | None = None
) -> PageItemParts:
    """Read the items of pages into parts, which are kept in the folder from run to run.

    `map_shards` says where files are read; None uses `options.workers` local processes.

    Returns:
        The parts, with the counts `page_items`, `broken_rows`, `truncated`, `file` and `date`.

    Raises:
        EaseError: A file is broken, not a dump of page_props, without items, or truncated while `options.truncated`
            is "drop", or the folder is full or not writable.
    """
    parts = {
        folder / "page_props" / part_name(PAGE_PROPS_PARTS, content_digest(file.path), file.language): file
        for file in files
    }
    map_shards = map_shards or joblib_map(options.workers)
    reports = make_parts(
        parts, _write_part, lambda file: file.path.stat().st_size, map_shards, "Reading page_props"
    )
    counts = {}
    for part, file in parts.items():
        report = counts[file.language] = describe_file(file.path, reports[part], options.truncated)
        message = "%(path)s: %(page_items)d pages with an item, %(broken_rows)d broken rows"
        logger.info(message, {**report, "path": file.path})
    return PageItemParts([part / PAGE_ITEMS_FILE for part in parts], counts)


def _write_part(file: DumpFile, folder: Path) -> Counts:
    reader = TableReader(file.path, "page_props", _COLUMNS, _WHERE)
    items = 0
    with TableWriter(folder / PAGE_ITEMS_FILE, PAGE_ITEMS) as writer:
        for rows in reader:
            columns = [
                pa.repeat(pa.scalar(file.language), len(rows)),
                *(pa.array([int(row[column]) for row in rows], pa.int64()) for column in (0, 1)),
            ]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=PAGE_ITEMS))
            items += len(rows)
    if not items:
        raise EaseError(
            f"{file.path} has no page with an item (a row 'wikibase_item', 'Q…'; {reader.broken_rows} broken rows): "
            "only wikis that Wikidata serves have them."
        )
    return {"page_items": items, "broken_rows": reader.broken_rows, "truncated": reader.truncated}
