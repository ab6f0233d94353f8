"""Lines and fields of text files, plain or packed, each with the number of its line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from ease.errors import EaseError
from ease.texts.components.workspace import BATCH_ROWS
from ease.wikimedia.dumps.streams import DecompressedStream

BOM = b"\xef\xbb\xbf"
LONGEST_FIELD = 1 << 20
"""Characters; a quotation mark that nothing closes would otherwise swallow the rest of a csv file."""

Column = str | int
"""A column by its name, or by its number from 1 where the file has no header."""

Fields = tuple[int, tuple[str, ...]]
"""The number of a line, from 1, and some of its fields."""


def text_lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file (also .gz, .bz2) without a byte order mark, `\n` or `\r\n`.

    Other characters that Unicode counts as ends of lines stay inside their line, so that line files remain in step.

    Raises:
        EaseError: If the file is missing, empty, broken or cut, or a line is not UTF-8.
    """
    for number, line in enumerate(_byte_lines(path), start=1):
        line = line.removeprefix(BOM) if number == 1 else line
        try:
            yield line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise EaseError(
                f"{path}, line {number}: not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}). "
                "Convert the file, for example by `iconv -t UTF-8`."
            ) from None


def _byte_lines(path: Path) -> Iterator[bytes]:
    if path.is_dir():
        raise EaseError(f"{path} is a folder: name the file.")
    stream, rest = DecompressedStream(path), [b""]
    for _, block in stream:
        first, *others = block.split(b"\n")
        rest.append(first)  # joined once, so that a long line costs no more than its length
        if others:
            yield b"".join(rest)
            yield from others[:-1]
            rest = [others[-1]]
    if stream.truncated:
        raise EaseError(f"{path} is cut: its compressed data end too early. Fetch it again.")
    if last := b"".join(rest):
        yield last


def lines_in_step(paths: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of several files, the first of each, the second of each and so on.

    Raises:
        EaseError: If one file has fewer lines, naming it and the line.
    """
    ended: Any = object()
    files = [text_lines(path) for path in paths]
    for number, lines in enumerate(zip_longest(*files, fillvalue=ended), start=1):
        short = [path for path, line in zip(paths, lines, strict=True) if line is ended]
        if short:
            longer = [str(path) for path in paths if path not in short]
            raise EaseError(
                f"{short[0]} ends after line {number - 1}, but {longer[0]} has a line {number}: the files are read "
                "line by line and must have as many lines. Give files that belong together."
            )
        yield lines


def file_kind(path: Path) -> str:
    """The ending of a file's name, without that of its compression: csv, tsv, parquet and so on."""
    name = path.name.removesuffix(".gz").removesuffix(".bz2")
    return Path(name).suffix.removeprefix(".").lower()


def read_fields(path: Path, columns: Sequence[Column]) -> Iterator[Fields]:
    """Yield columns of a table: .csv with commas and quotes, .parquet, others with tabs and without quotes.

    The first line is a header if columns are given by name. Lines without any character are left out.

    Raises:
        EaseError: If a column is missing, or a line has more or fewer fields than the first.
    """
    if file_kind(path) == "parquet":
        yield from _parquet_fields(path, columns)
        return
    lines = _records(path)
    number, first = next(lines, (1, []))
    if any(isinstance(column, str) for column in columns):
        places = [first.index(str(name)) for name in _known(path, [str(name) for name in columns], first)]
    else:
        places = [int(column) - 1 for column in columns]
        if not all(0 <= place < len(first) for place in places):
            raise EaseError(
                f"{path}, line {number}: {len(first)} columns, so there is no column {max(places) + 1}. Columns of "
                "files without a header are numbered from 1."
            )
        yield number, tuple(first[place] for place in places)
    for number, fields in lines:
        if len(fields) != len(first):
            raise EaseError(
                f"{path}, line {number}: {len(fields)} columns, where the first line has {len(first)}. Mend the line "
                "or take it out."
            )
        yield number, tuple(fields[place] for place in places)


def column_names(path: Path) -> tuple[str, ...]:
    """The names in the first line of a table as text.

    Raises:
        EaseError: If there is no line.
    """
    for _, fields in _records(path):
        return tuple(fields)
    raise EaseError(f"{path} holds no line.")


def _known(path: Path, names: Sequence[str], header: Sequence[str]) -> Sequence[str]:
    missing = [name for name in names if name not in header]
    if missing:
        raise EaseError(f"{path}: no column {', '.join(missing)}; it has {', '.join(header)}.")
    return names


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    if file_kind(path) != "csv":
        for number, line in enumerate(text_lines(path), start=1):
            if line:
                yield number, line.split("\t")
        return
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader((f"{line}\n" for line in text_lines(path)), strict=True)
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        raise EaseError(
            f"{path}, line {reader.line_num}: no proper csv ({error}). Mend its quotes."
        ) from None


def _parquet_fields(path: Path, columns: Sequence[Column]) -> Iterator[Fields]:
    names = [str(column) for column in columns]
    try:
        source = pads.dataset(path, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{path} is not Parquet: {str(error).splitlines()[0]}") from error
    _known(path, names, source.schema.names)
    number = 0
    for batch in source.to_batches(columns=names, batch_size=BATCH_ROWS):
        texts = [[value or "" for value in _strings(batch[name], path, name)] for name in names]
        for fields in zip(*texts, strict=True):
            number += 1
            yield number, fields


def _strings(values: pa.Array, path: Path, name: str) -> list[str | None]:
    try:
        texts: list[str | None] = values.cast(pa.string()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EaseError(f"{path}: column {name} is no text but {values.type}.") from error
    return texts
