"""Options that tasks share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.tasks import AVERAGE
from ease.io.models import StrictModel


class TaskOptions(StrictModel):
    """Path of a task's data; the task's own `Options` describes the files and adds further options."""

    path: Path = Field(description="the file, or the folder of the files")


class SubsetOptions(TaskOptions):
    """Options of a task with several subsets."""

    subsets: tuple[str, ...] | None = Field(None, min_length=1, description="subsets to score; null: all")

    def chosen(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the subsets to score; all known ones by default."""
        names = tuple(known)
        unknown = [subset for subset in self.subsets or () if subset not in names]
        if unknown:
            raise EaseError(f"Unknown subset {', '.join(unknown)}: choose from {', '.join(names)}.")
        return self.subsets or names

    def select(self, files: Mapping[str, tuple[Path, ...]]) -> dict[str, tuple[Path, ...]]:
        """Return the files of the chosen subsets.

        Raises:
            EaseError: If a chosen subset is unknown, or a set has the name of an average.
        """
        if reserved := [subset for subset in files if subset.startswith(AVERAGE)]:
            raise EaseError(
                f"A set may not be named {reserved[0]!r}, which begins like an average: rename it."
            )
        return {subset: files[subset] for subset in self.chosen(files)}
