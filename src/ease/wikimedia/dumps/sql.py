"""Rows of a table in a MySQL or MariaDB dump, streamed in bounded memory.

A statement `INSERT INTO ... VALUES (...),(...);` is one line, or it starts a line and each row has its own line. Line
breaks inside values are escaped, so no line ends inside a row. Values are bytes and not always UTF-8.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import LineChunks

logger = logging.getLogger(__name__)

Row = tuple[bytes, ...]

_CHUNK_BYTES = 1 << 20
_LOGGED_ROWS = 5
_MAX_COLUMNS = 4096
_BINARY = rb"(?:_binary )?"
_VALUE = rb"(?:" + _BINARY + rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|-?[0-9.][0-9.eE+-]*+|NULL|0x[0-9A-Fa-f]++)"
_COLUMN = re.compile(rb"\s*`([^`]+)`\s")
_OPENS_DUMP = re.compile(rb"-- (?:MySQL|MariaDB) dump")
_ENDS_DUMP = b"-- Dump completed"


class TableReader:
    """Rows of one table whose values have a given form.

    Attributes:
        broken_rows: After the iteration, the number of rows that have the text of `where` and cannot be read. Broken
            rows that follow each other count as one.
        truncated: After the iteration, whether the file ends inside its compressed data or inside a statement, or
            lacks the line that ends a dump.
    """

    def __init__(self, path: Path, table: str, columns: Mapping[str, bytes], where: tuple[str, str]) -> None:
        """Prepare to read.

        Args:
            path: The dump: .sql, .sql.gz, .sql.bz2 or .sql.zst.
            table: Name of the table.
            columns: For each wanted column a regular expression of its literals; its only group is the value. Rows
                have the columns in this order.
            where: A column and the text that it must have, without characters that SQL escapes.
        """
        self.path, self.broken_rows, self.truncated = path, 0, False
        self._table = table
        self._columns = {name.encode(): literal for name, literal in columns.items()}
        self._where = where[0].encode(), b"'" + where[1].encode() + b"'"
        name = rb"`?" + re.escape(table.encode()) + rb"`?"
        self._create = re.compile(rb"CREATE TABLE (?:IF NOT EXISTS )?" + name + rb"\s*\(")
        self._insert = re.compile(
            rb"(?:INSERT(?: IGNORE)?|REPLACE) INTO " + name + rb"\s*(?:\(([^)]*)\)\s*)?VALUES\s*"
        )
        self._declared: list[bytes] = []
        self._declaring = self._inserting = self._opened = self._completed = False

    def __iter__(self) -> Iterator[list[Row]]:
        """Yield the rows of a line, or of several short lines, in their order.

        Raises EaseError if the file is missing, broken or not a dump of the table, or the table lacks a column.
        """
        chunks = LineChunks(self.path, _CHUNK_BYTES)
        for number, chunk in chunks:
            yield from self._rows_of_lines(number, chunk[:-1].split(b"\n"))
        yield from self._rows_of_lines(chunks.next_line, [chunks.rest], cut=True)
        self.truncated = chunks.truncated or self._inserting or (self._opened and not self._completed)
        if not self._declared:
            raise EaseError(
                f"{self.path} is not a dump of a table `{self._table}`: get {{wiki}}-{{date}}-{self._table}.sql.gz."
            )

    def _rows_of_lines(self, number: int, lines: Sequence[bytes], cut: bool = False) -> Iterator[list[Row]]:
        """Yield the wanted rows of some lines; rows on lines of their own are read together.

        Searching for wanted rows alone is several times as fast as parsing all rows. It cannot match inside a text,
        where quotes are escaped. All rows are parsed only if the search finds fewer rows than the line should have.
        """
        joined: list[bytes] = []
        for position, part in enumerate(lines, 1):
            joined.append(part)
            if self._inserting and position < len(lines) and not part.endswith((b";", b";\r")):
                continue
            line = b"\n".join(joined)
            if (start := self._start_of_rows(line)) is not None:
                found = self._wanted.findall(line, start)
                if len(found) != line.count(self._where[1], start):
                    self._count_broken(number, line, start, cut)
                self._inserting = not line.rstrip().endswith(b");" if cut else b";")
                yield [tuple(row[place] for place in self._order) for row in found]
            number += len(joined)
            joined = []

    def _start_of_rows(self, line: bytes) -> int | None:
        """Return where the rows of a line start; None for a line without rows."""
        if insert := self._insert.match(line):
            self._compile(re.findall(rb"[^`,\s]+", insert[1]) if insert[1] else self._declared)
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

    def _compile(self, columns: Sequence[bytes]) -> None:
        column, text = self._where
        missing = [wanted for wanted in (*self._columns, column) if wanted not in columns]
        if missing or len(columns) > _MAX_COLUMNS:
            lacks, has = (b", ".join(some).decode(errors="replace") for some in (missing, columns[:99]))
            fault = f"no column {lacks}; it has {has or 'none'}" if lacks else f"{len(columns):,} columns"
            raise EaseError(
                f"{self.path}: the table `{self._table}` has {fault}. The file is damaged: download it again."
            )
        self._declared = list(columns)
        marked = _BINARY + re.escape(text)
        literals = {**self._columns, column: marked}
        wanted = [literals.get(name, _VALUE) for name in columns]
        valid = [b"(?:(" + marked + b")|" + _VALUE + b")" if name == column else _VALUE for name in columns]
        # With the empty group, `findall` returns tuples also for a single column.
        self._wanted = re.compile(rb"\(" + rb",".join(wanted) + rb"\)()", re.DOTALL)
        self._valid = re.compile(rb"\(" + rb",".join(valid) + rb"\)\s*+[,;]?", re.DOTALL)
        found = [name for name in columns if name in self._columns]
        self._order = [found.index(name) for name in self._columns]

    def _count_broken(self, number: int, line: bytes, start: int, cut: bool) -> None:
        broken = []
        for row in self._valid.finditer(line, start):
            if line[start : row.start()].strip():
                broken.append((start, row.start()))
            if row[1] and not self._wanted.search(line, *row.span()):
                broken.append(row.span())
            start = row.end()
        if not cut and line[start:].strip():
            broken.append((start, len(line)))
        for start, end in broken[: max(0, _LOGGED_ROWS - self.broken_rows)]:
            content = line[start:end].lstrip()[:80]
            place = number + line.count(b"\n", 0, line.index(content, start))
            message = "%s, line %d: invalid row of `%s` is skipped: %r"
            logger.warning(message, self.path, place, self._table, content)
        self.broken_rows += len(broken)
