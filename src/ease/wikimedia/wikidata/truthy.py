"""Types of Wikidata's items, from its truthy statements in N-Triples.

The dump has a line for each statement of the best rank: `<item> <property> <value> .`. About one line in seventy is a
statement of P31 (instance of), so the reader searches for the property instead of parsing every line.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from joblib import cpu_count

from ease.errors import EaseError
from ease.io.result_versions import TRUTHY_PARTS
from ease.wikimedia.dumps.lines import LineChunks
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.dumps.parts import Counts, describe_file, make_part, part_name
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.dumps.table_writer import TableWriter
from ease.wikimedia.wikidata.items import ENTITY_TYPES, WikidataParts

logger = logging.getLogger(__name__)

STATEMENTS_FILE = "statements.parquet"

_PROPERTY = b"<http://www.wikidata.org/prop/direct/P31>"
_ENTITY = rb"<http://www\.wikidata\.org/entity/"
_MIDDLE = rb"[ \t]+" + re.escape(_PROPERTY) + rb"[ \t]+"
_TYPE = re.compile(_ENTITY + rb"Q([1-9]\d{0,17})>" + _MIDDLE + _ENTITY + rb"Q([1-9]\d{0,17})>[ \t]*\.\s*")
_NODE = rb"(?:<[^<>\s]+>|_:\S+)"
_OTHER = re.compile(_NODE + _MIDDLE + _NODE + rb"[ \t]*\.\s*")
"""A statement about another entity (a property), or with another value (the blank node of an unknown value)."""
_PREDICATE = re.compile(rb"\S+" + _MIDDLE)
_OPENING = re.compile(rb"\s*(?:[<#]|_:|$)"), "an N-Triples dump"
_CHUNK_BYTES = 4 << 20
_LOGGED_LINES = 5


def ingest_truthy(path: Path, options: IngestOptions, folder: Path) -> WikidataParts:
    """Read the types of all items. Decompression dominates the time; threads share it for a .bz2 file.

    Returns:
        Parts of `entity_types` only, with the counts `statements`, `other_statements`, `broken_lines`, `lines`,
        `truncated`, `file` and `date`.

    Raises:
        EaseError: The file is not a truthy dump, is broken, is truncated while `options.truncated` is "drop", or the
            folder is full or not writable.
    """
    part = folder / "truthy" / part_name(TRUTHY_PARTS, content_digest(path))
    counts = make_part(part, lambda place: _write_part(path, options, place))
    counts = describe_file(path, counts, options.truncated)
    message = "%(path)s: %(lines)d lines, %(statements)d types of items, %(broken_lines)d broken lines"
    logger.info(message, {**counts, "path": path})
    return WikidataParts([], [part / STATEMENTS_FILE], counts)


def _write_part(path: Path, options: IngestOptions, folder: Path) -> Counts:
    reader = _TypeReader(path)
    chunks = LineChunks(path, _CHUNK_BYTES, options.workers or cpu_count(), "Reading types", _OPENING)
    with TableWriter(folder / STATEMENTS_FILE, ENTITY_TYPES) as writer:
        for first_line, chunk in chunks:
            writer.write(reader.read(chunk, first_line))
        lines = chunks.next_line - 1
        rest = chunks.rest.strip()
        truncated = chunks.truncated or (bool(rest) and not rest.endswith(b"."))
        if rest and not truncated:
            writer.write(reader.read(chunks.rest, chunks.next_line))
            lines += 1
    if not reader.counts["statements"]:
        raise EaseError(
            f"{path} has no P31 statement about an item ({lines} lines, "
            f"{reader.counts['broken_lines']} broken): the truthy dump has lines such as "
            f"<http://www.wikidata.org/entity/Q42> {_PROPERTY.decode()} <http://www.wikidata.org/entity/Q5> ."
        )
    return {**reader.counts, "lines": lines, "truncated": truncated}


class _TypeReader:
    """Reads types from chunks of lines, and counts."""

    def __init__(self, path: Path) -> None:
        self.counts = dict.fromkeys(("statements", "other_statements", "broken_lines"), 0)
        self._path = path

    def read(self, chunk: bytes, first_line: int) -> pa.RecordBatch:
        """Return the item and the type of each statement."""
        found = []
        position = chunk.find(_PROPERTY)
        while position >= 0:
            start = chunk.rfind(b"\n", 0, position) + 1
            end = chunk.find(b"\n", position)
            end = len(chunk) if end < 0 else end
            if statement := _TYPE.fullmatch(chunk, start, end):
                found.append((int(statement[1]), int(statement[2])))
            elif _OTHER.fullmatch(chunk, start, end):
                self.counts["other_statements"] += 1
            elif _PREDICATE.match(chunk, start, end):  # otherwise the property is part of a text
                self.counts["broken_lines"] += 1
                if self.counts["broken_lines"] <= _LOGGED_LINES:
                    line = first_line + chunk.count(b"\n", 0, start)
                    logger.warning("%s, line %d is skipped: it is not a statement", self._path, line)
            position = chunk.find(_PROPERTY, end)
        self.counts["statements"] += len(found)
        columns = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=ENTITY_TYPES)
