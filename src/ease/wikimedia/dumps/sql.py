"""Rows of a table in a MySQL or MariaDB dump, as Wikimedia publishes them: streamed, in bounded memory.

A statement `INSERT INTO ... VALUES (...),(...);` is one line, or begins one and has a row on each line that follows:
line breaks inside values are escaped, so a line never ends inside a row. Values are bytes, not always UTF-8.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import DecompressedStream

logger = logging.getLogger(__name__)

Row = tuple[bytes, ...]
"""Literals as the dump writes them: quoted and escaped."""

_MOST_LINE_BYTES = 256 << 20
_JOINED_BYTES = 1 << 20
_NAMED_ROWS = 5
_VALUE = rb"(?:(?:_binary )?'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|-?[0-9.][0-9.eE+-]*+|NULL|0x[0-9A-Fa-f]++)"
_COLUMN = re.compile(rb"\s*`([^`]+)`\s")
_OPENS_DUMP = re.compile(rb"-- (?:MySQL|MariaDB) dump")
_ENDS_DUMP = b"-- Dump completed"


class TableReader:
    """Rows of one table that hold a given text in one of its columns.

    Attributes:
        broken_rows: After the iteration: what stands between rows, and is none, on lines with a row that was
            wanted and could not be read.
        truncated: After the iteration: the file ends inside its compressed data or inside a statement, or lacks
            the line that says that the dump is complete.
    """

    def __init__(self, path: Path, table: str, columns: Sequence[str], where: tuple[str, str]) -> None:
        """Prepare to read.

        Args:
            path: The dump: .sql, .sql.gz, .sql.bz2.
            table: Its name.
            columns: Those wanted, in the order in which rows are to have them.
            where: A column and the text that it must hold, which needs no escapes.
        """
        self.path = path
        self.broken_rows = 0
        self.truncated = False
        self._table = table
        self._columns = [column.encode() for column in columns]
        self._where = where[0].encode(), b"'" + where[1].encode() + b"'"
        name = rb"`?" + re.escape(table.encode()) + rb"`?"
        self._create = re.compile(rb"CREATE TABLE (?:IF NOT EXISTS )?" + name + rb"\s*\(")
        self._insert = re.compile(
            rb"(?:INSERT(?: IGNORE)?|REPLACE) INTO " + name + rb"\s*(?:\(([^)]*)\)\s*)?VALUES\s*"
        )
        self._declared: list[bytes] = []
        self._declaring = self._inserting = self._opened = self._completed = False

    def __iter__(self) -> Iterator[list[Row]]:
        """The wanted rows of a line, or of several short ones, in their order.

        Raises:
            EaseError: The file is missing, broken or no dump of the table, the table lacks a wanted column, or a
                line is too long.
        """
        for number, line, cut in self._joined_lines():
            if (start := self._values_of(line)) is not None:
                yield self._read_rows(number, line, start, cut)
        self.truncated = self.truncated or self._inserting or (self._opened and not self._completed)
        if not self._declared:
            raise EaseError(
                f"{self.path} is no dump of a table `{self._table}`, or it is cut before it begins: download "
                f"{{wiki}}-{{date}}-{self._table}.sql.gz again."
            )

    def _joined_lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """The lines, those with a row each joined: with the number of the first."""
        waiting: list[bytes] = []
        size = first = 0
        for number, line, cut in self._lines():
            first = first if waiting else number
            waiting.append(line)
            size += len(line)
            if self._inserting and not cut and size < _JOINED_BYTES and not line.endswith((b";", b";\r")):
                continue
            yield first, b"\n".join(waiting), cut
            waiting, size = [], 0

    def _lines(self) -> Iterator[tuple[int, bytes, bool]]:
        """Each line with its number, and whether the file ends inside it."""
        stream, number = DecompressedStream(self.path), 1
        parts: list[bytes] = []
        held = 0
        for _, block in stream:
            *ended, rest = block.split(b"\n")
            for line in ended:
                yield number, b"".join((*parts, line)), False
                parts.clear()
                number, held = number + 1, 0
            parts.append(rest)
            held += len(rest)
            if held > _MOST_LINE_BYTES:
                raise EaseError(f"{self.path}, line {number} is too long: lines of SQL dumps have a few MB.")
        self.truncated = stream.truncated
        yield number, b"".join(parts), True

    def _values_of(self, line: bytes) -> int | None:
        """Where rows begin in a line; None for a line without rows."""
        if insert := self._insert.match(line):
            self._prepare(re.findall(rb"[^`,\s]+", insert[1]) if insert[1] else self._declared)
            self._inserting = True
            return insert.end()
        if self._inserting:
            return 0
        if self._declaring:
            if column := _COLUMN.match(line):
                self._declared.append(column[1])
            self._declaring = not line.lstrip().startswith(b")")
        elif self._create.match(line):
            self._declaring, self._declared = True, []
        self._opened = self._opened or _OPENS_DUMP.match(line) is not None
        self._completed = self._completed or line.startswith(_ENDS_DUMP)
        return None

    def _prepare(self, columns: Sequence[bytes]) -> None:
        """Make the patterns of rows of these columns."""
        column, text = self._where
        missing = [wanted for wanted in (*self._columns, column) if wanted not in columns]
        if missing:
            has, lacks = (b", ".join(some).decode(errors="replace") or "none" for some in (columns, missing))
            raise EaseError(
                f"{self.path}: the table `{self._table}` has no column {lacks}; it has {has}. It is cut before, or "
                "another dump: download it again."
            )
        self._declared = list(columns)
        groups = {wanted: b"(" + _VALUE + b")" for wanted in self._columns}
        groups[column] = b"(?:_binary )?" + re.escape(text)
        wanted = [groups.get(name, _VALUE) for name in columns]
        # The empty group makes `findall` give tuples, if there be only one column.
        self._wanted = re.compile(rb"\(" + rb",".join(wanted) + rb"\)()", re.DOTALL)
        self._any = re.compile(rb"\s*\(" + rb",".join([_VALUE] * len(columns)) + rb"\)\s*[,;]?", re.DOTALL)
        found = [name for name in columns if name in self._columns]
        self._order = [found.index(name) for name in self._columns]

    def _read_rows(self, number: int, line: bytes, start: int, cut: bool) -> list[Row]:
        """The wanted rows of a line.

        A search for wanted rows alone is several times as fast as reading all, and cannot find one inside a text,
        where quotes are escaped. Only where it finds fewer than the line should have, all rows are read.
        """
        found = self._wanted.findall(line, start)
        if len(found) != line.count(self._where[1], start):
            self._count_broken(number, line, start, cut)
        self._inserting = not line.rstrip().endswith(b";") or (cut and not line.rstrip().endswith(b");"))
        order = self._order
        return [tuple(row[place] for place in order) for row in found]

    def _count_broken(self, number: int, line: bytes, start: int, cut: bool) -> None:
        """Count and name what is no row."""
        broken = []
        for match in self._any.finditer(line, start):
            if match.start() != start:
                broken.append((start, match.start()))
            start = match.end()
        if not cut and line[start:].strip():
            broken.append((start, len(line)))
        for start, end in broken[: max(0, _NAMED_ROWS - self.broken_rows)]:
            content = line[start:end].lstrip()[:80]
            logger.warning(
                "%s, line %d: what is no row of `%s` is skipped: %r",
                *(self.path, number + line.count(b"\n", 0, line.index(content, start)), self._table, content),
            )
        self.broken_rows += len(broken)
