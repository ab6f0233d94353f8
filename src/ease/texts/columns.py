"""Any columns of texts of a csv, tsv or Parquet file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from ease.io.text_tables import Column
from ease.texts.components.files import read_fields
from ease.texts.components.options import COLUMNS, FileOptions, Source
from ease.texts.components.workspace import Workspace


class Options(FileOptions):
    """The file, and its columns by name, or by number from 1 where it has no header."""

    title: ClassVar[str] = "Columns of a table"

    sentence: Column = Field(description="the column of sentences")
    positive: Column | None = Field(None, description="the column of texts that mean the same; null: none")
    negative: Column | None = Field(
        None, description="the column of hard negatives, where a field may be blank"
    )


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Take every row; one whose sentence or positive is blank is left out and counted.

    Raises:
        EaseError: Naming the file and the line, if a column is missing or lines have differing numbers of fields.
    """
    chosen = {name: getattr(options, name) for name in COLUMNS if getattr(options, name) is not None}
    return read_columns(options.path, tuple(chosen), tuple(chosen.values()), workspace)


def read_columns(path: Path, names: Sequence[str], columns: Sequence[Column], workspace: Workspace) -> Source:
    """Read some columns of a file under other names."""
    counts = Counter({"read": 0, "blank": 0})
    schema = pa.schema([("key", pa.int64()), *((name, pa.string()) for name in names)])
    table = workspace.store(kept_rows(read_fields(path, columns), counts, names), schema)
    return Source(table, counts)


def kept_rows(
    rows: Iterator[tuple[int, tuple[str, ...]]], counts: Counter[str], names: Sequence[str]
) -> Iterator[tuple[int | str | None, ...]]:
    """Strip the texts of rows, and leave out those that lack one; a negative may be lacking."""
    required = [place for place, name in enumerate(names) if name != "negative"]
    for number, fields in rows:
        counts["read"] += 1
        texts = [field.strip() for field in fields]
        if all(texts[place] for place in required):
            yield number, *(text or None for text in texts)
        else:
            counts["blank"] += 1
