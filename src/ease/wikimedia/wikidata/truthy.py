"""From Wikidata's truthy statements (N-Triples) to the types of its items.

The dump has a line for each statement of the best rank: `<item> <property> <value> .`. Those of P31 are about one line
in seventy, so lines are not read one by one: the property is searched for.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from joblib import cpu_count
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.result_versions import TRUTHY_PARTS
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
from ease.wikimedia.wikidata.items import ENTITY_TYPES
from ease.wikimedia.wikipedia.ingestion import IngestOptions

logger = logging.getLogger(__name__)

STATEMENTS_FILE = "statements.parquet"

_MARK = b"<http://www.wikidata.org/prop/direct/P31>"
_ENTITY = rb"<http://www\.wikidata\.org/entity/"
_MIDDLE = rb"[ \t]+" + re.escape(_MARK) + rb"[ \t]+"
_TYPE = re.compile(_ENTITY + rb"Q([1-9]\d{0,17})>" + _MIDDLE + _ENTITY + rb"Q([1-9]\d{0,17})>[ \t]*\.\s*")
_NODE = rb"(?:<[^<>\s]+>|_:\S+)"
_OTHER = re.compile(_NODE + _MIDDLE + _NODE + rb"[ \t]*\.\s*")
"""A statement about what is no item (a property), or whose value is none: the nameless node of an unknown value."""
_PREDICATE = re.compile(rb"\S+" + _MIDDLE)
_OPENING = re.compile(rb"\s*(?:[<#]|_:|$)")
_CHUNK_BYTES = 4 << 20
_MOST_LINE_BYTES = 256 << 20
_NAMED_LINES = 5


class TruthyParts(NamedTuple):
    """The part files of a table (qid, type_qid), where a row may come twice, and what was counted.

    The counts are `statements`, `other_statements`, `broken_lines`, `lines`, `truncated`, `file` and `date`.
    """

    entity_types: list[Path]
    counts: dict[str, Any]


def ingest_truthy(path: Path, options: IngestOptions, folder: Path) -> TruthyParts:
    """Read what all items are instances of; unpacking takes the time, and threads share it where the file is a .bz2.

    Raises:
        EaseError: The file is no truthy dump, is broken, is truncated and `options.truncated` is "drop", or the
            folder is full or not writable.
    """
    part = folder / "truthy" / part_name(TRUTHY_PARTS, content_digest(path))
    remove_leftovers(part.parent)
    if not is_whole(part):
        _write_part(path, options, part)
    counts = read_counts(part)
    check_truncated(path, counts["truncated"], options.truncated)
    logger.info(
        "%s: %d lines, %d types of items, %d broken lines",
        *(path, counts["lines"], counts["statements"], counts["broken_lines"]),
    )
    return TruthyParts([part / STATEMENTS_FILE], {**counts, "file": path.name, "date": dump_date(path)})


def _write_part(path: Path, options: IngestOptions, part: Path) -> None:
    chunks = _LineChunks(path, options.workers or cpu_count())
    counts = dict.fromkeys(("lines", "statements", "other_statements", "broken_lines"), 0)
    with whole_folder(part) as folder:
        with TableWriter(folder / STATEMENTS_FILE, ENTITY_TYPES) as writer:
            for chunk in chunks:
                found, other, broken = _read_chunk(chunk)
                for position in broken[: max(0, _NAMED_LINES - counts["broken_lines"])]:
                    number = counts["lines"] + chunk.count(b"\n", 0, position) + 1
                    logger.warning("%s, line %d is skipped: it is no statement", path, number)
                lines = chunk.count(b"\n") + (chunk[-1:] not in (b"", b"\n"))
                numbers = (lines, len(found), other, len(broken))
                counts = {name: counts[name] + more for name, more in zip(counts, numbers, strict=True)}
                pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
                arrays = [pa.array(column) for column in pairs.T]
                writer.write(pa.RecordBatch.from_arrays(arrays, schema=ENTITY_TYPES))
        if not counts["statements"]:
            raise EaseError(
                f"{path} has not one statement of P31 of an item ({counts['lines']} lines, "
                f"{counts['broken_lines']} broken): the truthy dump has lines such as "
                f"<http://www.wikidata.org/entity/Q42> {_MARK.decode()} <http://www.wikidata.org/entity/Q5> ."
            )
        write_counts(folder, {**counts, "truncated": chunks.truncated})


def _read_chunk(chunk: bytes) -> tuple[list[tuple[int, int]], int, list[int]]:
    """Item and type of each statement, the number of other statements, and where broken lines begin."""
    found, other, broken = [], 0, []
    position = chunk.find(_MARK)
    while position >= 0:
        start = chunk.rfind(b"\n", 0, position) + 1
        end = chunk.find(b"\n", position)
        end = len(chunk) if end < 0 else end
        if statement := _TYPE.fullmatch(chunk, start, end):
            found.append((int(statement[1]), int(statement[2])))
        elif _OTHER.fullmatch(chunk, start, end):
            other += 1
        elif _PREDICATE.match(chunk, start, end):  # otherwise the address stands in a text
            broken.append(start)
        position = chunk.find(_MARK, end)
    return found, other, broken


class _LineChunks:
    """The whole lines of the dump in chunks.

    Attributes:
        truncated: After the iteration: the file ends inside its compressed data or inside a line; that line is
            left out.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self.path = path
        self.truncated = False
        self._threads = threads
        """Those that unpack a bz2 file."""

    def __iter__(self) -> Iterator[bytes]:
        """Chunks of `_CHUNK_BYTES` or more.

        Raises:
            EaseError: It begins with no statement, or a line is too long.
        """
        stream = DecompressedStream(self.path, threads=self._threads)
        buffer, opened = bytearray(), False
        size = self.path.stat().st_size if self.path.is_file() else 0
        with tqdm(total=size, unit="B", unit_scale=True, desc="reading types", disable=None) as bar:
            for _, block in stream:
                bar.update(stream.position - bar.n)
                if not opened and not _OPENING.match(block):
                    raise EaseError(f"{self.path} is no N-Triples dump: it begins with {block[:40]!r}.")
                opened = True
                buffer += block
                if len(buffer) >= _CHUNK_BYTES and (end := buffer.rfind(b"\n") + 1):
                    yield bytes(buffer[:end])
                    del buffer[:end]
                elif len(buffer) > _MOST_LINE_BYTES:
                    raise EaseError(f"{self.path} has a line that is too long: it is no N-Triples dump.")
        end = buffer.rfind(b"\n") + 1
        if not stream.truncated and buffer[end:].rstrip().endswith(b"."):
            end = len(buffer)
        self.truncated = stream.truncated or bool(buffer[end:].strip())
        yield bytes(buffer[:end])
