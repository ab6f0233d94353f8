"""What the options of tasks share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ease.errors import EaseError


class TaskOptions(BaseModel):
    """Where a task's data lie; a task's own `Options` says what lies there, and adds what else there is to choose."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path = Field(description="the file, or the folder of the files")


class SubsetOptions(TaskOptions):
    """Options of a task with several subsets."""

    subsets: tuple[str, ...] | None = Field(
        None, min_length=1, description="subsets to score; null stands for all"
    )

    def chosen(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the subsets to score.

        Raises:
            EaseError: If one is not among the known ones.
        """
        names = tuple(known)
        unknown = [subset for subset in self.subsets or () if subset not in names]
        if unknown:
            raise EaseError(f"Unknown subset {', '.join(unknown)}: choose from {', '.join(names)}.")
        return self.subsets or names
