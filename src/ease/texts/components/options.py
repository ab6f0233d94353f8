"""What all kinds of sources share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import ibis.expr.types as ir

COLUMNS = ("sentence", "positive", "negative")
"""The columns of texts; a sentence is always there, the others may be null."""


class SourceOptions(BaseModel):
    """One source of training texts; a kind's own `Options` adds what else there is to choose."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: ClassVar[str]
    """What the model card calls the texts"""
    reads_pairs: ClassVar[bool] = False
    """Whether the texts are the setting's pairs; those of neither pairs nor `places` are made by this project"""

    kind: str = Field(description="the name of a file in ease/texts")
    rows: int | None = Field(None, ge=1, description="rows drawn from this source; null: all that it has")
    weight: float | None = Field(
        None, gt=0, description="its share of a mixture against the others' weights; null: as it is large"
    )

    @property
    def places(self) -> tuple[Path, ...]:
        """The files or folders that the source is read from; none by default."""
        return ()


class FileOptions(SourceOptions):
    """A source in one file or folder."""

    path: Path = Field(description="the file or folder")

    @property
    def places(self) -> tuple[Path, ...]:
        """The one place."""
        return (self.path,)


class Source(NamedTuple):
    """What a source gives."""

    table: ir.Table
    """Columns key (a distinct integer, which sets the order), sentence and, if the kind has them, positive, negative"""
    counts: Mapping[str, int]
    """What was read, and what was left out and why"""
