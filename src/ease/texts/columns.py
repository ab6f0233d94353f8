"""Training texts from columns of a csv, tsv or Parquet file."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ease.io.text_tables import Column
from ease.texts.components.sources import COLUMNS, FileOptions, Source, Workspace, read_fields, store_texts


class Options(FileOptions):
    """The file, and its columns by name, or by number from 1 if the file has no header."""

    title: ClassVar[str] = "Columns of a table"

    sentence: Column = Field(description="the column of sentences")
    positive: Column | None = Field(None, description="the column of texts with the same meaning; null: none")
    negative: Column | None = Field(None, description="the column of hard negatives, which may be blank; null: none")
    distinct: bool = Field(False, description="use each sentence once, in the first row that has it")


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return every row, or one for each sentence; rows with a blank sentence or positive are dropped and counted."""
    chosen = {name: column for name in COLUMNS if (column := getattr(options, name)) is not None}
    source = store_texts(read_fields(options.path, tuple(chosen.values())), tuple(chosen), workspace)
    return source.without_repetitions() if options.distinct else source
