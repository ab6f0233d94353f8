"""From the Wikidata JSON dump to the tables `sitelinks` and `entity_types`.

The dump is a JSON array with one entity per line. One process decompresses it, a .bz2 with as many threads as there are
workers, and the other processes parse lines. A .gz decompresses ten times as fast as a .bz2.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor

from ease.errors import EaseError
from ease.io.result_versions import WIKIDATA_PARTS
from ease.wikimedia.dumps.lines import LineChunks
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.dumps.parts import Counts, describe_file, make_part, part_name
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.dumps.table_writer import TableWriter
from ease.wikimedia.wikidata.items import ENTITY_TYPES, SITELINKS, ParsedLines, WikidataParts, parse_lines

logger = logging.getLogger(__name__)

SITELINKS_FILE = "sitelinks.parquet"
TYPES_FILE = "entity_types.parquet"

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[\[{]|$)"), "a Wikidata JSON dump"
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_CHUNK_BYTES = 16 << 20
_LOGGED_LINES = 5
_SMALL_FILE_BYTES = 16 << 20
"""A file up to this size is parsed before other processes have started."""


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
    small = path.stat().st_size <= _SMALL_FILE_BYTES
    workers = 1 if small else options.workers or cpu_count()
    chunks = LineChunks(path, _CHUNK_BYTES, workers, "Reading Wikidata", _OPENING)
    counts: Counter[str] = Counter()
    per_language: Counter[str] = Counter(dict.fromkeys(languages or (), 0))
    with (
        TableWriter(folder / SITELINKS_FILE, SITELINKS) as sitelinks,
        TableWriter(folder / TYPES_FILE, ENTITY_TYPES) as types,
    ):
        for parsed in _parse_chunks(_complete_lines(chunks), languages, workers):
            sitelinks.write(parsed.sitelinks)
            types.write(parsed.entity_types)
            for line, reason in parsed.broken[: max(0, _LOGGED_LINES - counts["broken_lines"])]:
                logger.warning("%s, line %d is skipped: %s", path, line, reason)
            counts.update(parsed.counts)
            per_language.update(parsed.sitelinks["language"].to_pylist())
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


def _parse_chunks(
    chunks: Iterable[tuple[int, bytes]], languages: Sequence[str] | None, workers: int
) -> Iterator[ParsedLines]:
    """Yield the parsed chunks in order; at most three per worker are held in memory."""
    if workers == 1:
        yield from (parse_lines(chunk, first_line, languages) for first_line, chunk in chunks)
        return
    # A separate pool: joblib reuses the shared one and fails if another library created it.
    pool = ProcessPoolExecutor(max_workers=workers)
    try:
        pending: deque[Any] = deque()
        for first_line, chunk in chunks:
            pending.append(pool.submit(parse_lines, chunk, first_line, languages))
            if len(pending) > 3 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(kill_workers=True)
