"""Text files as lines, rows of fields or named columns; plain, gzip or bzip2. Every error names the file and line."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, cast

from ease.errors import EaseError
from ease.io.contents import HEAD_BYTES, compression_of_content, foreign_content

_OTHER_DELIMITER = re.compile(r"[;\t|,]")
LONGEST_LINE = 1 << 20
"""Bytes; a longer line means that the file is not text, or that a quotation mark is never closed."""

Column = str | int
"""A column by its name, or by its number from 1 if the file has no header."""


@contextmanager
def open_decompressed(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes, decompressed if its content (not its name) is gzip or bzip2.

    Raises EaseError if the file cannot be read, or its compressed data are damaged or cut, also while it is read.
    """
    try:
        with path.open("rb") as file:
            openers: dict[str, Any] = {"bz2": bz2.open, "gz": gzip.open}
            compression = compression_of_content(file.peek(HEAD_BYTES))
            unpacked: Any = file
            if compression in openers:
                unpacked = openers[compression](file)
            with unpacked:
                _check_content(path, unpacked.peek(HEAD_BYTES))
                yield cast(IO[bytes], unpacked)
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise EaseError(f"{path} cannot be read ({error.strerror}): check the path.") from error
        raise EaseError(f"{path} is cut or damaged ({error}): fetch the file again.") from error


def _check_content(path: Path, head: bytes) -> None:
    """Raise EaseError if a file's first bytes, decompressed, are not those of text."""
    if foreign := foreign_content(head):
        raise EaseError(f"{path} is {foreign}.")
    if compression := compression_of_content(head):
        raise EaseError(f"{path} is {compression}-compressed, maybe twice: gzip and bzip2 are read, once.")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise EaseError(f"{path} is encoded in UTF-16: convert it (iconv -f UTF-16 -t UTF-8), or save it as UTF-8.")


def bounded_lines(file: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an open file with their numbers from 1.

    Raises EaseError if a line is longer than `LONGEST_LINE`.
    """
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise EaseError(f"{path}, line {number}: longer than {LONGEST_LINE} bytes; is it another kind of file?")
        yield number, line


def read_lines(path: Path, *, latin1: bool = False) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a UTF-8 file with their numbers from 1, without a byte order mark, `\n` or `\r\n`.

    Other characters that Unicode counts as ends of lines stay inside their line. With `latin1`, lines that are not
    UTF-8 are decoded as Latin-1.

    Raises:
        EaseError: If the file cannot be read, or a line is not UTF-8, too long, or holds a zero byte.
    """
    with open_decompressed(path) as file:
        for number, line in bounded_lines(file, path):
            content = line.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                content = content.removeprefix(codecs.BOM_UTF8)
            if b"\0" in content:
                raise EaseError(f"{path}, line {number}: contains zero bytes, so it is not text, or not UTF-8.")
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError as error:
                if not latin1:
                    raise EaseError(
                        f"{path}, line {number}: not UTF-8 (byte {content[error.start]:#04x} at {error.start}); if it "
                        "is text, convert the file, for example by `iconv -f latin1 -t utf-8`."
                    ) from error
                text = content.decode("latin-1")
            yield number, text


def read_parallel_lines(paths: Sequence[Path]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and the lines of several files, read in parallel.

    Raises EaseError if one file has fewer lines than another.
    """
    # Stands for the missing lines of a file that ends first.
    ended: Any = (0, None)
    for number, lines in enumerate(zip_longest(*map(read_lines, paths), fillvalue=ended), start=1):
        if ended in lines:
            shorter = paths[lines.index(ended)]
            longer = next(path for path, line in zip(paths, lines, strict=True) if line is not ended)
            raise EaseError(
                f"{shorter} ends after line {number - 1}, but {longer} has a line {number}: line i of both belong "
                "together. Give files with the same number of lines, or fetch both again."
            )
        yield number, tuple(text for _, text in lines)


def read_rows(
    path: Path, delimiter: str, *, quoted: bool = False, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row and the number of the line that the row ends on; of an empty line, no field.

    If `quoted`, quotation marks enclose fields; otherwise they are text. If `strict`, text between a closing mark and
    the delimiter is refused, and a mark that is never closed.

    Raises:
        EaseError: As `read_lines`, or if quotation marks are wrong.
    """
    if not quoted:
        for number, line in read_lines(path):
            fields = []
            # `"".split` returns one empty field.
            if line:
                fields = line.split(delimiter)
            yield number, fields
        return
    # A mark that is never closed would make one field of the rest of the file.
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader((f"{line}\n" for _, line in read_lines(path)), delimiter=delimiter, strict=strict)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise EaseError(f"{path}, line {reader.line_num}: not a valid csv file ({error}); fix its quotes.") from None


def read_records(
    path: Path, columns: Sequence[str], delimiter: str, *, quoted: bool = False
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place (file and line) and the fields by column name of each row below the header.

    Fields are stripped of white space at their ends; blank rows are skipped. There may be other columns.

    Raises:
        EaseError: As `read_rows` with `strict`, or if a column is missing or named twice, a row and the header differ
            in their number of fields, or there is no row.
    """
    stripped = (
        (number, [field.strip() for field in row])
        for number, row in read_rows(path, delimiter, quoted=quoted, strict=True)
    )
    rows = ((number, fields) for number, fields in stripped if any(fields))
    _, header = next(rows, (0, list(columns)))
    find_columns(path, columns, header)
    place = ""  # stays empty if there is no row
    for number, fields in rows:
        place = f"{path}, line {number}"
        _check_width(place, fields, header)
        yield place, dict(zip(header, fields, strict=True))
    if not place:
        raise EaseError(f"{path}: contains no row; fetch the file again.")


def read_columns(
    path: Path, columns: Sequence[Column], delimiter: str, *, quoted: bool = False
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line number and the chosen fields of each row; the first row is a header if columns are named.

    Raises:
        EaseError: As `read_rows` with `strict`, or if a column is missing, or a row has more or fewer fields than the
            first.
    """
    rows = (row for row in read_rows(path, delimiter, quoted=quoted, strict=True) if row[1])
    number, first = next(rows, (1, []))
    if any(isinstance(column, str) for column in columns):
        positions = find_columns(path, [str(column) for column in columns], first)
    else:
        positions = [int(column) - 1 for column in columns]
        if not all(0 <= position < len(first) for position in positions):
            raise EaseError(
                f"{path}, line {number}: {len(first)} columns, so there is no column {max(positions) + 1}; columns of "
                "files without a header are numbered from 1."
            )
        yield number, tuple(first[position] for position in positions)
    for number, fields in rows:
        _check_width(f"{path}, line {number}", fields, first)
        yield number, tuple(fields[position] for position in positions)


def find_columns(path: Path, names: Sequence[str], header: Sequence[str]) -> list[int]:
    """Return the positions of columns in a header; raises EaseError if a column is missing or named twice."""
    missing = [name for name in names if name not in header]
    if missing:
        hint = ""
        if len(header) == 1 and (mark := _OTHER_DELIMITER.search(header[0])):
            hint = f" Columns are separated by commas in .csv, by tabs in .tsv, and here maybe by {mark[0]!r}."
        raise EaseError(f"{path}: no column {', '.join(missing)}; it has {', '.join(header) or 'no header'}.{hint}")
    if twice := [name for name in names if header.count(name) > 1]:
        raise EaseError(f"{path}: the header names the column {', '.join(twice)} twice; rename or remove one.")
    return [header.index(name) for name in names]


def _check_width(place: str, fields: Sequence[str], first: Sequence[str]) -> None:
    if len(fields) != len(first):
        raise EaseError(
            f"{place}: {len(fields)} columns, but the first line has {len(first)}; fix or remove the line, or fetch "
            "the file again."
        )
