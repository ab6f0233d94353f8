"""From the Wikidata JSON dump to the tables `sitelinks` and `entity_types`.

The dump is a JSON array with one entity per line. A .bz2 is decompressed with as many threads as there are workers. One
thread parses the lines: sending them to other processes would take longer than parsing them.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count

from ease.errors import EaseError
from ease.io.result_versions import WIKIDATA_PARTS
from ease.wikimedia.dumps.lines import LineChunks
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.dumps.parts import Counts, describe_file, make_part, part_name
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.dumps.table_writer import TableWriter
from ease.wikimedia.wikidata.items import ENTITY_TYPES, SITELINKS, WikidataParts, parse_lines, sites_of

logger = logging.getLogger(__name__)

SITELINKS_FILE = "sitelinks.parquet"
TYPES_FILE = "entity_types.parquet"

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[\[{]|$)"), "a Wikidata JSON dump"
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_CHUNK_BYTES = 256 << 10
"""Larger chunks are slower: the operating system provides their memory anew each time."""
_LOGGED_LINES = 5


def ingest_wikidata(
    path: Path, languages: Sequence[str] | None, options: IngestOptions, folder: Path
) -> WikidataParts:
    """Read the sitelinks and types of the items that have an article in one of the languages.

    Other items are skipped, since no link can lead to them. If `languages` is None, the types of all items are read and
    no sitelinks.

    Returns:
        The parts, with the counts `items`, `items_with_sitelinks`, `other_entities`, `broken_lines`, `sitelinks` (by
        language), `entity_types`, `truncated`, `file` and `date`.

    Raises:
        EaseError: The file is not a Wikidata dump, is broken, is truncated while `options.truncated` is "drop", or the
            folder is full or not writable.
    """
    languages = languages and sorted(languages)
    part = folder / "wikidata" / part_name(WIKIDATA_PARTS, content_digest(path), languages)
    counts = make_part(part, lambda place: _write_part(path, languages, options, place))
    counts = describe_file(path, counts, options.truncated)
    logger.info(
        "%(path)s: %(items)d items, %(items_with_sitelinks)d of them with an article in %(languages)d languages, "
        "%(broken_lines)d broken lines",
        {**counts, "path": path, "languages": len(languages or ())},
    )
    return WikidataParts([part / SITELINKS_FILE], [part / TYPES_FILE], counts)


def _write_part(path: Path, languages: Sequence[str] | None, options: IngestOptions, folder: Path) -> Counts:
    chunks = LineChunks(path, _CHUNK_BYTES, options.workers or cpu_count(), "Reading Wikidata", _OPENING)
    sites = None if languages is None else sites_of(languages)
    counts: Counter[str] = Counter()
    per_language: Counter[str] = Counter(dict.fromkeys(languages or (), 0))
    with (
        TableWriter(folder / SITELINKS_FILE, SITELINKS) as sitelinks,
        TableWriter(folder / TYPES_FILE, ENTITY_TYPES) as types,
    ):
        for first_line, chunk in _complete_lines(chunks):
            parsed = parse_lines(chunk, first_line, sites)
            for item in parsed.items:
                for language, title in item.titles.items():
                    sitelinks.append((item.qid, language, title))
                    per_language[language] += 1
                for type_qid in item.types:
                    types.append((item.qid, type_qid))
                counts["entity_types"] += len(item.types)
            for line, reason in parsed.broken[: max(0, _LOGGED_LINES - counts["broken_lines"])]:
                logger.warning("%s, line %d is skipped: %s", path, line, reason)
            counts.update(parsed.counts)
    if not counts["items"]:
        raise EaseError(
            f"{path} has no readable Wikidata item ({counts['broken_lines']} broken lines, "
            f"{counts['other_entities']} other entities): the dump has one JSON entity per line."
        )
    names = ("items", "items_with_sitelinks", "other_entities", "broken_lines", "entity_types")
    totals: dict[str, Any] = {name: counts[name] for name in names}
    return {**totals, "sitelinks": dict(per_language), "truncated": chunks.truncated}


def _complete_lines(chunks: LineChunks) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks, and the text after the last line break unless the file is cut or lacks the array's end."""
    yield from chunks
    chunks.truncated |= chunks.last_byte != b"]" and _ARRAY.match(chunks.head) is not None
    if not chunks.truncated:
        yield chunks.next_line, chunks.rest
