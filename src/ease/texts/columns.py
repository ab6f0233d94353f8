"""Training texts from columns of a csv, tsv or Parquet file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from ease.io.text_tables import Column
from ease.texts.components.mixture import COLUMNS, FileOptions, Source, Workspace, read_fields


class Options(FileOptions):
    """The file, and its columns by name, or by number from 1 if the file has no header."""

    title: ClassVar[str] = "Columns of a table"

    sentence: Column = Field(description="the column of sentences")
    positive: Column | None = Field(None, description="the column of texts with the same meaning; null: none")
    negative: Column | None = Field(
        None, description="the column of hard negatives, which may be blank; null: none"
    )
    distinct: bool = Field(False, description="use each sentence once, in the first row that has it")


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return every row, or one for each sentence; rows with a blank sentence or positive are dropped and counted."""
    chosen = {name: getattr(options, name) for name in COLUMNS if getattr(options, name) is not None}
    source = read_columns(options.path, tuple(chosen), tuple(chosen.values()), workspace)
    if not options.distinct:
        return source
    first = source.table.group_by("sentence").agg(key=source.table.key.min())
    table = source.table.semi_join(first, "key")
    repeated = int(source.table.count().execute()) - int(table.count().execute())
    return Source(table, {**source.counts, "repeated": repeated})


def read_columns(
    path: Path, names: Sequence[str], columns: Sequence[Column], workspace: Workspace, skip: int = 0
) -> Source:
    """Return columns of a file under new names, without its first `skip` rows."""
    counts = Counter({"read": 0, "blank": 0})
    schema = pa.schema([("key", pa.int64()), *((name, pa.string()) for name in names)])
    table = workspace.store(kept_rows(islice(read_fields(path, columns), skip, None), counts, names), schema)
    return Source(table, counts)


def kept_rows(
    rows: Iterator[tuple[int, tuple[str, ...]]], counts: Counter[str], names: Sequence[str]
) -> Iterator[tuple[int | str | None, ...]]:
    """Strip the texts of rows; drop rows with a blank text other than the negative."""
    required = [place for place, name in enumerate(names) if name != "negative"]
    for number, fields in rows:
        counts["read"] += 1
        texts = [field.strip() for field in fields]
        if all(texts[place] for place in required):
            yield number, *(text or None for text in texts)
        else:
            counts["blank"] += 1
