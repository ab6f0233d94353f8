"""Training texts from a text file with one string per line, such as Mirror-BERT's 10,000 strings (section 3)."""

from __future__ import annotations

from itertools import islice
from typing import ClassVar

from pydantic import Field

from ease.io.text_tables import read_lines
from ease.texts.components.sources import FileOptions, SourceTexts, Workspace, store_texts


class LineOptions(FileOptions):
    """A text file in UTF-8, plain, gzip or bzip2."""

    title: ClassVar[str] = "Lines of text"

    comment: str | None = Field(
        None, min_length=1, description="beginning of lines to skip, such as #!comment:; null: none"
    )
    skip: int = Field(0, ge=0, description="first lines to skip, such as more frequent words")
    take: int | None = Field(None, ge=1, description="lines to read after those; null: all")

    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return each distinct string once, in the order of first occurrence; comments do not count as lines."""
        lines = (
            (number, (line,))
            for number, line in read_lines(self.path)
            if self.comment is None or not line.startswith(self.comment)
        )
        end = None
        if self.take is not None:
            end = self.skip + self.take
        return store_texts(islice(lines, self.skip, end), ("sentence",), workspace).without_repetitions()
