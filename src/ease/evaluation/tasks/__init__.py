"""Evaluation tasks, one file each; the file's name is the task's name.

A task's module defines `KIND`, `METRIC`, `SOURCE`, `Options`, `files` and `evaluate` (see `Task`). `components` has the
code that several tasks share. `conf/base/parameters/tasks/<task>.yml` sets a task's options under `tasks.<task>`.
Each error in the data is an `EaseError` that names the file and line, or the task and subset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, cast

import numpy as np
from pydantic import BaseModel
from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.items import Items
from ease.io.registry import module_names, named_module

Encode = Callable[[Sequence[str]], np.ndarray]
"""Sentences to embeddings: n strings -> (n, dimension)."""

Files = Mapping[str, tuple[Path, ...]]
"""The files of each subset of a task."""

KINDS = ("STS", "Clustering", "BitextMining", "Classification", "PairClassification", "Retrieval")
"""Kinds of tasks, by the names under which encoders are saved with prompts."""

AVERAGE = "average"
"""Prefix of the names of subsets that are means of other subsets."""


@dataclass(frozen=True)
class Score:
    """One score: `value` in points, 0 to 100 (correlations may be negative).

    `deviation` is the standard deviation over the task's own repetitions, such as seeds of k-means. `note` is shown
    beside the score, for example that an average is over some subsets only. `low` and `high` are the limits of the 95%
    interval over the test items; None if the items are not known or fewer than 30.
    """

    task: str
    subset: str
    metric: str
    value: float
    deviation: float | None = None
    note: str = ""
    low: float | None = None
    high: float | None = None
    items: Items | None = field(default=None, repr=False, compare=False)
    """The contributions of the test items; not written to rows of scores."""
    parts: tuple[Score, ...] = field(default=(), repr=False, compare=False)
    """The scores of which this is the mean; not written to rows of scores."""

    @property
    def averaged(self) -> bool:
        """Whether this is a mean of other scores."""
        return self.subset.startswith(AVERAGE)

    def row(self) -> dict[str, Any]:
        """Return the fields that are written to rows of scores."""
        hidden = ("items", "parts")
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in hidden}


class Task(Protocol):
    """Interface of a task's module."""

    KIND: str
    """One of `KINDS`, which determines the encoder's prompt."""

    METRIC: str
    """Metric of the main score; scores by other metrics are additional."""

    SOURCE: str
    """Download location and licence of the files."""

    Options: type[BaseModel]

    def files(self, options: BaseModel) -> Files:
        """Return the files of each chosen subset, whether they exist or not."""

    def evaluate(self, encode: Encode, options: BaseModel) -> list[Score]:
        """Score an encoder on the chosen subsets whose files exist, one score per subset and metric."""


def task_names() -> list[str]:
    """Names of all evaluation tasks, sorted."""
    return module_names(__path__)


def get_task(name: str) -> Task:
    """Import a task by its name.

    Raises:
        EaseError: If there is no such task.
        TypeError: If its module lacks a name that a task defines.
    """
    module = named_module(__name__, name, task_names(), "evaluation task")
    if lacking := [one for one in (*Task.__annotations__, "files", "evaluate") if not hasattr(module, one)]:
        raise TypeError(f"The task {name} lacks {', '.join(lacking)}.")
    return cast(Task, module)


def missing_files(files: Files) -> dict[str, list[Path]]:
    """Return the missing files of each incomplete subset."""
    lacking = {subset: [path for path in paths if not path.exists()] for subset, paths in files.items()}
    return {subset: paths for subset, paths in lacking.items() if paths}


def available_subsets(files: Files) -> Files:
    """Return the subsets whose files all exist.

    Raises:
        EaseError: With the first missing file, if there is no such subset.
    """
    missing = missing_files(files)
    if len(missing) == len(files):
        raise EaseError(f"{next(iter(missing.values()))[0]}: no such file; set the task's `path`.")
    return {subset: paths for subset, paths in files.items() if subset not in missing}


def score_subsets(
    task: str, files: Files, score: Callable[[str, tuple[Path, ...]], Iterable[Score]]
) -> list[Score]:
    """Score the subsets whose files exist, with a progress bar."""
    found = available_subsets(files)
    bar = tqdm(found.items(), desc=task, unit="subset", delay=2, leave=False)
    return [one for subset, paths in bar for one in score(subset, paths)]


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Put a prefix, such as the task and subset, before the message of an `EaseError` raised inside."""
    try:
        yield
    except EaseError as error:
        raise EaseError(f"{prefix}: {error}") from error


def average(scores: Sequence[Score], wanted: int, subset: str = AVERAGE) -> Score:
    """Mean of scores of one task and metric, with a note if they are fewer than the `wanted` subsets."""
    note = "" if len(scores) == wanted else f"{len(scores)} of {wanted} subsets"
    value = fmean(score.value for score in scores)
    return Score(scores[0].task, subset, scores[0].metric, value, note=note, parts=tuple(scores))


def averages(
    scores: Sequence[Score], wanted: int, groups: Mapping[str, Collection[str]] | None = None
) -> list[Score]:
    """Return each metric's mean over all subsets, and over each group with scores as `average_<group>`.

    Args:
        scores: Of one task.
        wanted: Number of subsets of the complete average; 0 omits the average.
        groups: Names of subsets by the name of the group.
    """
    means = []
    for metric in dict.fromkeys(score.metric for score in scores):
        own = [score for score in scores if score.metric == metric]
        if wanted:
            means.append(average(own, wanted))
        for name, subsets in (groups or {}).items():
            if members := [score for score in own if score.subset in subsets]:
                means.append(average(members, len(subsets), f"{AVERAGE}_{name}"))
    return means


def main_score(scores: Sequence[Score]) -> float:
    """Mean of one task's scores over its subsets by its main metric, in points."""
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
