"""From the page_props tables of Wikipedias to the items of their pages: a wiki knows its pages' items itself.

With the titles of the pages these are the sitelinks, for a hundredth of the bytes of Wikidata's JSON dump.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.result_versions import PAGE_PROPS_PARTS
from ease.wikimedia.dumps.files import DumpFile, choose_date, dump_date, list_files
from ease.wikimedia.dumps.mapping import MapShards, joblib_map
from ease.wikimedia.dumps.parts import (
    TableWriter,
    check_truncated,
    is_whole,
    part_name,
    read_counts,
    remove_leftovers,
    whole_folder,
    write_counts,
)
from ease.wikimedia.dumps.sql import Row, TableReader
from ease.wikimedia.dumps.streams import compression_of, content_digest
from ease.wikimedia.languages import Language
from ease.wikimedia.wikipedia.ingestion import IngestOptions

logger = logging.getLogger(__name__)

PAGE_ITEMS_FILE = "page_items.parquet"
PAGE_ITEMS = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("qid", pa.int64())])

_NAME = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*?)wiki-(?:.+-)?page_props\.sql(?:\.(?:bz2|gz))?")
_PAGE = re.compile(rb"\d{1,18}")
_ITEM = re.compile(rb"(?:_binary )?'[Qq]([1-9]\d{0,17})'")
_NAMED_ROWS = 5


class PageItemParts(NamedTuple):
    """The part files of a table (language, page_id, qid), and the counts of each language.

    The counts are `page_items`, `broken_rows`, `truncated`, `file` and `date`.
    """

    page_items: list[Path]
    counts: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class PagePropsTask:
    """A file to read into the folder `part`."""

    file: DumpFile
    part: Path


def find_page_props(places: Sequence[Path], languages: Sequence[str]) -> list[DumpFile]:
    """Each language's page_props file of the newest date in some folders, which are searched through.

    Raises:
        EaseError: A language has none, or one with a date and one without.
    """
    asked = {Language(language).database: language for language in languages}
    found: dict[str, dict[Path, DumpFile]] = defaultdict(dict)
    pattern = "{wiki}-{date}-page_props.sql.gz"
    for place in places:
        for path in list_files(place, lambda name: True, pattern):
            match = _NAME.fullmatch(path.name)
            if match and (language := asked.get(match["wiki"])):
                found[language][path] = DumpFile(path, language, dump_date(path), compression_of(path))
    if missing := [language for language in languages if language not in found]:
        raise EaseError(
            f"There is no page_props table of {', '.join(missing)} in {', '.join(map(str, places))}: put "
            f"{pattern} beside the wiki's dump, or set `wikidata_titles` to json."
        )
    packings = ("plain", "gz", "bz2")
    return [
        min(choose_date(list(found[language].values())), key=lambda file: packings.index(file.kind))
        for language in languages
    ]


def ingest_page_props(
    files: Sequence[DumpFile], options: IngestOptions, folder: Path, map_shards: MapShards | None = None
) -> PageItemParts:
    """Read the items of pages from what is not read yet, and list the parts.

    Args:
        files: As `find_page_props` gives them.
        options: How many processes, and whether a truncated file is used.
        folder: Where parts are kept from run to run.
        map_shards: Where files are read; none: `options.workers` processes of this machine.

    Raises:
        EaseError: A file is broken, no dump of page_props or without items, or truncated while
            `options.truncated` is "drop", or the folder is full or not writable.
    """
    place = folder / "page_props"
    remove_leftovers(place)
    tasks = [PagePropsTask(file, place / _key(file)) for file in files]
    _read_missing(tasks, map_shards or joblib_map(options.workers))
    remove_leftovers(place)  # of tasks that Spark lost and ran again
    counts = {}
    for task in tasks:
        path, report = task.file.path, read_counts(task.part)
        check_truncated(path, report["truncated"], options.truncated)
        logger.info("%s: %d pages with an item, %d broken rows", path, *_numbers(report))
        counts[task.file.language] = {**report, "file": path.name, "date": task.file.dump_date}
    return PageItemParts([task.part / PAGE_ITEMS_FILE for task in tasks], counts)


def _numbers(report: dict[str, Any]) -> tuple[int, int]:
    return report["page_items"], report["broken_rows"]


def _key(file: DumpFile) -> str:
    return part_name(PAGE_PROPS_PARTS, content_digest(file.path), file.language)


def _read_missing(tasks: Sequence[PagePropsTask], map_shards: MapShards) -> None:
    missing = [task for task in tasks if not is_whole(task.part)]
    if not missing:
        return
    sizes = {task.part: task.file.path.stat().st_size for task in missing}
    with tqdm(
        total=sum(sizes.values()), unit="B", unit_scale=True, desc="reading page_props", disable=None
    ) as bar:
        for part, fault in map_shards(read_page_props, missing):
            if fault:
                raise EaseError(fault)
            bar.update(sizes[part])


def read_page_props(task: PagePropsTask) -> tuple[Path, str | None]:
    """Write a file's part.

    Returns:
        The part, and in words a fault that the user can mend: Spark would wrap an exception in pages of
        trace.
    """
    columns, where = ("pp_page", "pp_value"), ("pp_propname", "wikibase_item")
    reader = TableReader(task.file.path, "page_props", columns, where)
    items = broken = 0
    try:
        with whole_folder(task.part) as folder:
            with TableWriter(folder / PAGE_ITEMS_FILE, PAGE_ITEMS) as writer:
                for rows in reader:
                    batch, odd = _items_of(rows, task.file.language)
                    for row in odd[: max(0, _NAMED_ROWS - broken)]:
                        logger.warning("%s: a row is skipped, its value is no item: %r", task.file.path, row)
                    broken += len(odd)
                    items += batch.num_rows
                    writer.write(batch)
            if not items:
                raise EaseError(
                    f"{task.file.path} has not one page with an item (a row 'wikibase_item', 'Q…'; "
                    f"{broken + reader.broken_rows} broken rows): only wikis that Wikidata serves have them."
                )
            counts = {"page_items": items, "broken_rows": broken + reader.broken_rows}
            write_counts(folder, {**counts, "truncated": reader.truncated})
    except EaseError as fault:
        return task.part, str(fault)
    return task.part, None


def _items_of(rows: Sequence[Row], language: str) -> tuple[pa.RecordBatch, list[Row]]:
    """The rows as columns, and those that name no page or no item."""
    pages, qids, odd = [], [], []
    for row in rows:
        page, value = row
        item = _ITEM.fullmatch(value)
        if item is None or _PAGE.fullmatch(page) is None:
            odd.append(row)
            continue
        pages.append(int(page))
        qids.append(int(item[1]))
    columns = (
        pa.repeat(pa.scalar(language), len(pages)),
        pa.array(pages, pa.int64()),
        pa.array(qids, pa.int64()),
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=PAGE_ITEMS), odd
