"""Scores of evaluation tasks, and their means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean
from typing import Any

from ease.errors import EaseError
from ease.evaluation.items import Items

DEVELOPMENT_METRIC = "development_accuracy"
"""Metric on the data by which a classifier was chosen; it is never averaged."""

AVERAGE = "average"
"""Name prefix of averaged subsets"""

_HIDDEN = ("items", "parts")
"""Fields of a score that are not written to rows"""


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
    main: bool = False
    """Whether the metric is the task's main one, by which reports and model selection compare encoders"""
    task_type: str = ""
    """MTEB's type of the task, such as `STS`"""
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
        return {column.name: getattr(self, column.name) for column in fields(self) if column.name not in _HIDDEN}


def averages(
    scores: Sequence[Score], complete: int, groups: Mapping[str, Collection[str]] | None = None
) -> list[Score]:
    """Return each test metric's mean over all subsets of a task, and over each group as `average_<group>`.

    Args:
        scores: Scores of one task.
        complete: Number of subsets of the mean over all of them; a mean of fewer is noted. 0: there is no such mean.
        groups: The subsets of further means, by name; a mean of fewer is also noted.
    """
    means = []
    for metric in dict.fromkeys(score.metric for score in scores if score.metric != DEVELOPMENT_METRIC):
        measured = [score for score in scores if score.metric == metric]
        members = {AVERAGE: measured} if complete else {}
        sizes = {AVERAGE: complete}
        for group, subsets in (groups or {}).items():
            name = f"{AVERAGE}_{group}"
            members[name] = [score for score in measured if score.subset in subsets]
            sizes[name] = len(subsets)
        means += [_mean(name, parts, sizes[name]) for name, parts in members.items() if parts]
    return means


def _mean(subset: str, parts: Sequence[Score], complete: int) -> Score:
    """Return the mean of scores by one metric, with a note if some are missing."""
    note = ""
    if len(parts) != complete:
        note = f"{len(parts)} of {complete} subsets"
    value = fmean(part.value for part in parts)
    first = parts[0]
    return Score(
        first.task,
        subset,
        first.metric,
        value,
        note=note,
        main=first.main,
        task_type=first.task_type,
        parts=tuple(parts),
    )


def main_score(scores: Sequence[Score]) -> float:
    """Mean of one task's scores over its subsets by its main metric, in points."""
    values = [score.value for score in scores if score.main and not score.averaged]
    if not values:
        raise EaseError(f"No score of {scores[0].task} has its main metric.")
    return fmean(values)


def main_scores(scores: Sequence[Score]) -> dict[str, float]:
    """Return each task's mean over its subsets by its main metric, in points."""
    tasks = sorted({score.task for score in scores})
    return {task: main_score([score for score in scores if score.task == task]) for task in tasks}


def average_main_scores(scores: Sequence[Score]) -> float:
    """Mean of the tasks' main scores, in points: the development score of several tasks (appendix A of EASE)."""
    by_task = main_scores(scores)
    if not by_task:
        raise EaseError("No score to average: name at least one development task.")
    return fmean(by_task.values())


def kept_percent(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return the lowest share of its score before that a task keeps, in percent; of no task: 100.

    Not of the mean: a gain of one task, such as names, would hide the loss of another.
    """
    return min((100 * after[task] / max(score, 1e-9) for task, score in before.items()), default=100.0)
