"""Options and result of all kinds of sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import Field

from ease.io.models import StrictModel

if TYPE_CHECKING:
    import ibis.expr.types as ir

COLUMNS = ("sentence", "positive", "negative")
"""The columns of texts; only the sentence is never null."""


class SourceOptions(StrictModel):
    """Options of one source of training texts; each kind's `Options` adds its own."""

    title: ClassVar[str]
    """What the model card calls the texts"""
    reads_pairs: ClassVar[bool] = False
    """Whether the texts are the setting's pairs; those of neither pairs nor `places` are made by this project"""

    kind: str = Field(description="the name of a file in ease/texts")
    rows: int | None = Field(None, ge=1, description="rows to draw from this source; null: all")
    weight: float | None = Field(
        None, gt=0, description="share of the mixture relative to the other weights; null: the number of rows"
    )

    @property
    def places(self) -> tuple[Path, ...]:
        """The files or folders of the source; none by default."""
        return ()

    @property
    def required(self) -> tuple[Path, ...]:
        """All files and folders that must exist before a run: `places`, and a folder's files of each language."""
        return self.places


class FileOptions(SourceOptions):
    """A source in one file or folder."""

    path: Path = Field(description="the file or folder")

    @property
    def places(self) -> tuple[Path, ...]:
        """The file or folder."""
        return (self.path,)


class Source(NamedTuple):
    """Texts read from a source."""

    table: ir.Table
    """Columns key (a distinct integer that orders the rows), sentence and, in some kinds, positive and negative"""
    counts: Mapping[str, int]
    """Numbers of read rows, and of dropped rows by reason"""
