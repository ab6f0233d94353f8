"""Text files of rows with named columns: comma- or tab-separated."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from ease.errors import EaseError

Quoting = Literal[0, 1, 2, 3]


def read_named_columns(
    path: Path, columns: Sequence[str], delimiter: str, quoting: Quoting = csv.QUOTE_MINIMAL
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place and the fields, by column, of each row below the line that names the columns.

    Fields are stripped of white space at their ends; blank lines are passed over.

    Args:
        path: The file, in UTF-8.
        columns: Those that it must have, among others.
        delimiter: Between two fields.
        quoting: How quotation marks are read, a constant of `csv`.

    Raises:
        EaseError: Naming the file, if it cannot be read, lacks a column or holds no row; or the line that has not as
            many fields as there are columns.
    """
    header: list[str] | None = None
    read = 0
    for number, row in _rows(path, delimiter, quoting):
        fields = [field.strip() for field in row]
        if not any(fields):
            continue
        if header is None:
            header = fields
            missing = [name for name in columns if name not in header]
            if missing:
                raise EaseError(f"{path}: no column {', '.join(missing)} among {', '.join(header)}.")
            continue
        if len(fields) != len(header):
            raise EaseError(
                f"{path}, line {number}: {len(fields)} fields, where the first line names {len(header)} columns; "
                "fetch the file again."
            )
        read += 1
        yield f"{path}, line {number}", dict(zip(header, fields, strict=True))
    if not read:
        raise EaseError(f"{path}: holds no row; fetch the file again.")


def _rows(path: Path, delimiter: str, quoting: Quoting) -> Iterator[tuple[int, list[str]]]:
    """The rows, with the number of the line that each ends on."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, quoting=quoting)
            for row in reader:
                yield reader.line_num, row
    except OSError as error:
        raise EaseError(f"{path}: cannot be read ({error.strerror}); set the task's `path`.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise EaseError(f"{path}: not a delimited UTF-8 text ({error}).") from error
