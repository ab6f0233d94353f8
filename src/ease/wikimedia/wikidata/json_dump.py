"""From the Wikidata JSON dump to the tables `sitelinks` and `entity_types`.

The dump is a JSON array with one entity a line. It is read as a stream: one process unpacks, a .bz2 by as many threads
as there are workers, and the others parse lines. The .gz form unpacks ten times as fast as the .bz2 form.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.result_versions import WIKIDATA_PARTS
from ease.wikimedia.dumps.files import dump_date
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
from ease.wikimedia.dumps.streams import DecompressedStream, content_digest
from ease.wikimedia.wikidata.items import (
    ENTITY_TYPES,
    SITELINKS,
    ParsedLines,
    parse_lines,
)
from ease.wikimedia.wikipedia.ingestion import IngestOptions

logger = logging.getLogger(__name__)

SITELINKS_FILE = "sitelinks.parquet"
TYPES_FILE = "entity_types.parquet"

_CHUNK_BYTES = 16 << 20
_MOST_LINE_BYTES = 256 << 20
_NAMED_LINES = 5
_SMALL_FILE_BYTES = 16 << 20
"""A file up to this size is parsed before other processes have started."""


class WikidataParts(NamedTuple):
    """The part files of both tables, and what was counted.

    The counts are `items`, `items_with_sitelinks`, `other_entities`, `broken_lines`, `sitelinks` (by
    language), `entity_types`, `truncated`, `file` and `date`.
    """

    sitelinks: list[Path]
    entity_types: list[Path]
    counts: dict[str, Any]


def ingest_wikidata(
    path: Path, languages: Sequence[str] | None, options: IngestOptions, folder: Path
) -> WikidataParts:
    """Read the sitelinks and types of the items that have an article in one of the languages.

    Types of other items are left out, since no link can lead to them. Where `languages` is None, all items' types are
    read and no sitelinks.

    Raises:
        EaseError: The file is no Wikidata dump, is broken, is truncated and `options.truncated` is "drop", or
            the folder is full or not writable.
    """
    part = (
        folder / "wikidata" / part_name(WIKIDATA_PARTS, content_digest(path), languages and sorted(languages))
    )
    remove_leftovers(part.parent)
    if not is_whole(part):
        _write_part(path, languages, options, part)
    counts = read_counts(part)
    check_truncated(path, counts["truncated"], options.truncated)
    logger.info(
        "%s: %d items, %d of them with an article in %d languages, %d broken lines",
        *(path, counts["items"], counts["items_with_sitelinks"]),
        *(len(languages or ()), counts["broken_lines"]),
    )
    source = {"file": path.name, "date": dump_date(path)}
    return WikidataParts([part / SITELINKS_FILE], [part / TYPES_FILE], {**counts, **source})


def _write_part(path: Path, languages: Sequence[str] | None, options: IngestOptions, part: Path) -> None:
    small = path.stat().st_size <= _SMALL_FILE_BYTES
    workers = 1 if small else options.workers or cpu_count()
    chunks = _LineChunks(path, workers)
    counts: Counter[str] = Counter()
    per_language: Counter[str] = Counter(dict.fromkeys(sorted(languages or ()), 0))
    with (
        whole_folder(part) as folder,
        TableWriter(folder / SITELINKS_FILE, SITELINKS) as sitelinks,
        TableWriter(folder / TYPES_FILE, ENTITY_TYPES) as types,
    ):
        for parsed in _parse_chunks(chunks, languages and sorted(languages), workers):
            sitelinks.write(parsed.sitelinks)
            types.write(parsed.entity_types)
            for line, reason in parsed.broken[: max(0, _NAMED_LINES - counts["broken_lines"])]:
                logger.warning("%s, line %d is skipped: %s", path, line, reason)
            counts.update(parsed.counts)
            per_language.update(parsed.sitelinks["language"].to_pylist())
        if not counts["items"]:
            raise EaseError(
                f"{path} has not one readable Wikidata item ({counts['broken_lines']} broken lines, "
                f"{counts['other_entities']} other entities): the dump has one JSON entity a line."
            )
        names = ("items", "items_with_sitelinks", "other_entities", "broken_lines", "entity_types")
        totals: dict[str, Any] = {name: counts[name] for name in names}
        write_counts(folder, {**totals, "sitelinks": dict(per_language), "truncated": chunks.truncated})


class _LineChunks:
    """The whole lines of a dump in chunks, each with the number of its first line.

    Attributes:
        truncated: After the iteration: the file ends inside its compressed data or without the array's end;
            what stands after the last newline is then left out.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self.path = path
        self.truncated = False
        self._threads = threads
        """Those that unpack a bz2 file."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Chunks of about `_CHUNK_BYTES`.

        Raises:
            EaseError: It begins with no JSON, or a line is too long.
        """
        stream = DecompressedStream(self.path, threads=self._threads)
        held, line_number, opening, last = _Held(), 1, b"", b""
        size = self.path.stat().st_size
        with tqdm(total=size, unit="B", unit_scale=True, desc="reading Wikidata", disable=None) as bar:
            for _, block in stream:
                bar.update(stream.position - bar.n)
                opening = opening or self._opening(block)
                held.blocks.append(block)
                held.size += len(block)
                if held.size >= _CHUNK_BYTES and (chunk := held.take_lines()):
                    yield line_number, chunk
                    line_number += chunk.count(b"\n")
                    last = _last_sign(chunk) or last
                elif held.size > _MOST_LINE_BYTES:
                    raise EaseError(
                        f"{self.path}, line {line_number} is too long: the dump has one JSON entity a line."
                    )
        rest = b"".join(held.blocks)
        closed = (_last_sign(rest) or last) == b"]"
        self.truncated = stream.truncated or (opening == b"[" and not closed)
        if self.truncated:
            rest = rest[: rest.rfind(b"\n") + 1]
        yield line_number, rest

    def _opening(self, block: bytes) -> bytes:
        opening = block[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if opening not in (b"", b"[", b"{"):
            raise EaseError(f"{self.path} is not a Wikidata JSON dump: it begins with {block[:40]!r}.")
        return opening


class _Held:
    """Blocks that wait for the end of a line."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.size = 0

    def take_lines(self) -> bytes:
        """All up to the last end of a line, if the last block has one; else nothing yet."""
        end = self.blocks[-1].rfind(b"\n") + 1
        if not end:
            return b""
        *before, last = self.blocks
        self.blocks, self.size = [last[end:]], len(last) - end
        return b"".join((*before, last[:end]))


def _last_sign(chunk: bytes) -> bytes:
    """The last byte that is no white space."""
    return chunk[-4096:].rstrip()[-1:]


def _parse_chunks(
    chunks: _LineChunks, languages: Sequence[str] | None, workers: int
) -> Iterator[ParsedLines]:
    """The chunks parsed, in their order; at most three for each worker are held."""
    if workers == 1:
        yield from (parse_lines(chunk, first_line, languages) for first_line, chunk in chunks)
        return
    # A pool of its own: joblib takes over the shared one, and fails on one that it has not made.
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
