"""Evaluation tasks, one file each: the file's name is the task's name, found, not listed.

A task's module holds `Options`, a frozen Pydantic model, and `evaluate(encode, options) -> list[Score]`.
Modules whose names begin with an underscore hold what several tasks share.
`conf/base/parameters/tasks/<task>.yml` holds a task's options under `tasks.<task>`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from statistics import fmean
from typing import Protocol, cast

import numpy as np
from pydantic import BaseModel

from ease.errors import EaseError

Encode = Callable[[Sequence[str]], np.ndarray]
"""Sentences to embeddings: n strings -> (n, dimension)."""

AVERAGE = "average"
"""The subset under which a task gives the mean of its other subsets."""


@dataclass(frozen=True)
class Score:
    """One number: `value` in points, 0 to 100 (correlations may fall below 0)."""

    task: str
    subset: str
    metric: str
    value: float


class Task(Protocol):
    """What the module of a task holds."""

    Options: type[BaseModel]

    def evaluate(self, encode: Encode, options: BaseModel) -> list[Score]:
        """Score an encoder on the task's data, a score for each subset."""


def task_names() -> list[str]:
    """Names of all evaluation tasks, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def get_task(name: str) -> Task:
    """Find a task by its name.

    Raises:
        EaseError: Naming the nearest tasks and all that there are.
    """
    names = task_names()
    if name not in names:
        near = get_close_matches(name, names, n=2)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise EaseError(f"Unknown evaluation task {name!r}: {hint}Choose from {', '.join(names)}.")
    return cast(Task, import_module(f"{__name__}.{name}"))


def main_score(scores: Sequence[Score]) -> float:
    """Average of one task's scores over its subsets, in points."""
    tasks = sorted({score.task for score in scores})
    values = [score.value for score in scores if score.subset != AVERAGE]
    if len(tasks) != 1 or not values:
        raise EaseError(
            f"A main score averages the subsets of one task, not of {', '.join(tasks) or 'none'}."
        )
    return fmean(values)


def average_main_scores(scores: Sequence[Score]) -> float:
    """Mean of the tasks' main scores, in points: the development score of several tasks (appendix A)."""
    tasks = sorted({score.task for score in scores})
    if not tasks:
        raise EaseError("No score to average: name at least one development task.")
    return fmean(main_score([score for score in scores if score.task == task]) for task in tasks)
