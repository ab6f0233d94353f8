"""Columns of text tables and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads

from ease.errors import EaseError
from ease.io.text_tables import Column, find_columns, read_columns, read_header
from ease.texts.components.workspace import BATCH_ROWS


def file_kind(path: Path) -> str:
    """Return the extension of a file's name, without that of its compression: csv, tsv, and parquet for a folder."""
    if path.is_dir():
        return "parquet"
    return Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.removeprefix(".").lower()


def read_fields(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and the chosen columns of each row of a Parquet, csv or (otherwise) unquoted tab-separated file.

    Raises:
        EaseError: If the file cannot be read, a column is missing, or a line has more or fewer fields than the first.
    """
    kind = file_kind(path)
    if kind == "parquet":
        return _parquet_fields(path, [str(column) for column in columns])
    return read_columns(path, columns, "," if kind == "csv" else "\t", quoted=kind == "csv")


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names in the first line of a text table."""
    kind = file_kind(path)
    if names := read_header(path, "," if kind == "csv" else "\t", quoted=kind == "csv"):
        return names
    raise EaseError(f"{path} is empty: give a file with a header.")


def _parquet_fields(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    try:
        source = pads.dataset(path, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{path} is not Parquet: {str(error).splitlines()[0]}") from error
    find_columns(path, names, source.schema.names)
    number = 0
    for batch in source.to_batches(columns=names, batch_size=BATCH_ROWS):
        texts = []
        for name in names:
            try:
                texts.append([value or "" for value in batch[name].cast(pa.string()).to_pylist()])
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise EaseError(f"{path}: column {name} holds {batch[name].type} instead of text.") from error
        for fields in zip(*texts, strict=True):
            number += 1
            yield number, fields
