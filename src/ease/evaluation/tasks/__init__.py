"""Evaluation tasks, one file each: the file's name is the task's name, found, not listed.

A task's module holds `METRIC`, `SOURCE`, `Options`, `files` and `evaluate`, as `Task` describes them.
Modules whose names begin with an underscore hold what several tasks share.
`conf/base/parameters/tasks/<task>.yml` holds a task's options under `tasks.<task>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Protocol, cast

import numpy as np
from pydantic import BaseModel

from ease.errors import EaseError
from ease.io.registry import module_names, named_module

Encode = Callable[[Sequence[str]], np.ndarray]
"""Sentences to embeddings: n strings -> (n, dimension)."""

Files = Mapping[str, tuple[Path, ...]]
"""The files that each subset of a task is read from."""

AVERAGE = "average"
"""Subsets whose names begin so are means of a task's other subsets."""


@dataclass(frozen=True)
class Score:
    """One number: `value` in points, 0 to 100 (correlations may fall below 0).

    `deviation` is the standard deviation over a task's own repetitions (the seeds of k-means); `note` says what a
    reader must know, such as that an average lacks subsets.
    """

    task: str
    subset: str
    metric: str
    value: float
    deviation: float | None = None
    note: str = ""

    @property
    def averaged(self) -> bool:
        """Whether this is a mean of other scores."""
        return self.subset.startswith(AVERAGE)


class Task(Protocol):
    """What the module of a task holds."""

    METRIC: str
    """The metric of the main score; others are second figures."""

    SOURCE: str
    """For who lacks the data: what to fetch, from where, under which licence."""

    Options: type[BaseModel]

    def files(self, options: BaseModel) -> Files:
        """Name the files of each subset, present or not."""

    def evaluate(self, encode: Encode, options: BaseModel) -> list[Score]:
        """Score an encoder on the subsets whose files are there, a score for each and metric."""


def task_names() -> list[str]:
    """Names of all evaluation tasks, sorted."""
    return module_names(__path__)


def get_task(name: str) -> Task:
    """Find a task by its name.

    Raises:
        EaseError: Naming the nearest tasks and all that there are.
    """
    return cast(Task, named_module(__name__, name, task_names(), "evaluation task"))


def available_subsets(files: Files) -> Files:
    """Return the subsets all of whose files are there.

    Raises:
        EaseError: Naming the first missing file, if there is no such subset.
    """
    found = {subset: paths for subset, paths in files.items() if all(path.exists() for path in paths)}
    if not found:
        missing = next(path for paths in files.values() for path in paths if not path.exists())
        raise EaseError(f"{missing}: no such file; set the task's `path`.")
    return found


def missing_files(files: Files) -> dict[str, list[Path]]:
    """Return the subsets that lack files, with those that they lack."""
    lacking = {subset: [path for path in paths if not path.exists()] for subset, paths in files.items()}
    return {subset: paths for subset, paths in lacking.items() if paths}


def average(scores: Sequence[Score], wanted: int, subset: str = AVERAGE) -> Score:
    """Mean of one metric over subsets, with a note where some of those wanted were not scored.

    Args:
        scores: Of one task and metric, at least one.
        wanted: How many subsets the whole average has.
        subset: Its name; begins with `average`.
    """
    note = "" if len(scores) == wanted else f"{len(scores)} of {wanted} subsets"
    value = fmean(score.value for score in scores)
    return Score(scores[0].task, subset, scores[0].metric, value, note=note)


def main_score(scores: Sequence[Score]) -> float:
    """Average of one task's scores over its subsets, in points; its second figures are left out."""
    tasks = sorted({score.task for score in scores})
    if len(tasks) != 1:
        raise EaseError(
            f"A main score averages the subsets of one task, not of {', '.join(tasks) or 'none'}."
        )
    metric = get_task(tasks[0]).METRIC
    values = [score.value for score in scores if not score.averaged and score.metric == metric]
    if not values:
        raise EaseError(f"No score of {tasks[0]} has its metric {metric}.")
    return fmean(values)


def average_main_scores(scores: Sequence[Score]) -> float:
    """Mean of the tasks' main scores, in points: the development score of several tasks (appendix A)."""
    tasks = sorted({score.task for score in scores})
    if not tasks:
        raise EaseError("No score to average: name at least one development task.")
    return fmean(main_score([score for score in scores if score.task == task]) for task in tasks)
