"""Training texts from columns of a csv, tsv or Parquet file."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from ease.io.text_tables import Column
from ease.texts.components.sources import (
    TEXT_COLUMNS,
    FileOptions,
    SourceTexts,
    Workspace,
    check_distinct,
    read_text_fields,
    store_texts,
)


class TableColumnOptions(FileOptions):
    """The file, and its columns by name, or by number from 1 if the file has no header."""

    title: ClassVar[str] = "Columns of a table"

    sentence: Column = Field(description="the column of sentences")
    positive: Column | None = Field(None, description="the column of texts with the same meaning; null: none")
    negative: Column | None = Field(None, description="the column of hard negatives, which may be blank; null: none")
    distinct: bool = Field(False, description="use each sentence once, in the first row that has it")

    @model_validator(mode="after")
    def _have_own_columns(self) -> TableColumnOptions:
        check_distinct([column for column in (self.sentence, self.positive, self.negative) if column is not None])
        return self

    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return every row, or one for each sentence; drop and count rows with a blank sentence or positive."""
        columns: dict[str, Column] = {}
        for name in TEXT_COLUMNS:
            column = getattr(self, name)
            if column is not None:
                columns[name] = column
        texts = store_texts(read_text_fields(self.path, tuple(columns.values())), tuple(columns), workspace)
        if self.distinct:
            return texts.without_repetitions()
        return texts
