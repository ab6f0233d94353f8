"""The base of all evaluation tasks and of their options.

Each error in the data is an `EaseError` that names the file and line, or the task and subset.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from ease.errors import EaseError
from ease.evaluation.items import Items
from ease.evaluation.scores import Score, averages
from ease.io.progress import ProgressBar
from ease.options import StrictModel
from ease.similarity.encode import Encode

logger = logging.getLogger(__name__)

SubsetFiles = Mapping[str, tuple[Path, ...]]
"""The files of each subset of a task"""
Texts = list[tuple[str, ...]]
"""The texts of each test item"""


class TaskOptions(StrictModel):
    """Parameters that every task has."""

    kind: str = Field(description="how the data are read and scored")
    source: str = Field("where you keep them", description="where the files are published, and their licence")
    path: Path = Field(description="the file, or the folder of the files")


class SubsetOptions(TaskOptions):
    """Parameters of a task with several subsets."""

    subsets: tuple[str, ...] | None = Field(None, min_length=1, description="subsets to score; null: all")

    def select(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the subsets to score among all `names`; refuse others."""
        available = tuple(names)
        unknown = [subset for subset in self.subsets or () if subset not in available]
        if unknown:
            raise EaseError(f"Unknown subset {', '.join(unknown)}: choose from {', '.join(available)}.")
        return self.subsets or available


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise EaseError(f"The seeds {', '.join(map(str, seeds))} repeat: give each seed once.")
    return seeds


Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=2**32)], ...], Field(min_length=1), AfterValidator(_distinct)]
"""Seeds of independent runs, whose scores are averaged."""


class Task(ABC):
    """An evaluation task: the files of its subsets, how their data is read, and how an encoder is scored on it.

    Args:
        name: The task's name in the parameters.
        options: Its validated parameters, an instance of the class's `Options`.
    """

    TYPE: ClassVar[str]
    """One of `TASK_TYPES`, MTEB's types of tasks; it determines the encoder's prompt."""
    METRICS: ClassVar[tuple[str, ...]]
    """Metrics of the scores; the first is that of the main score, the others are additional."""
    Options: ClassVar[type[TaskOptions]]
    TRAINS_ENCODER: ClassVar[bool] = False
    """Whether the task trains a copy of the encoder, so that truncated embeddings have no score."""
    options: Any

    def __init__(self, name: str, options: TaskOptions) -> None:
        self.name = name
        self.options = options

    @property
    def task_type(self) -> str:
        """MTEB's type of the task."""
        return self.TYPE

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of the scores, the main one first."""
        return self.METRICS

    @property
    def groups(self) -> Mapping[str, Collection[str]]:
        """Subsets of the averages `average_<group>`."""
        return {}

    @abstractmethod
    def files(self) -> SubsetFiles:
        """Return the files of each subset to score, whether they exist or not."""

    @abstractmethod
    def read(self, subset: str, paths: tuple[Path, ...]) -> Any:
        """Read the data of a subset from its files, and check it."""

    def score(self, encode: Encode, subset: str, data: Any) -> Iterable[Score]:
        """Score an encoder on the data of a subset."""
        raise NotImplementedError

    def texts(self, data: Any) -> Mapping[str, Texts]:
        """Return by metric the texts of each scored item, in the order of `Score.items`; empty if there are none."""
        return {}

    def complete_count(self) -> int:
        """Return how many subsets a complete average has; 0: there is no average."""
        return 0

    def available(self) -> SubsetFiles:
        """Return the files of the subsets to score whose files exist; refuse to score none."""
        files = self.files()
        if not files:
            raise EaseError(no_set(self.name))
        missing = missing_files(files)
        if len(missing) == len(files):
            raise EaseError(f"{next(iter(missing.values()))[0]}: no such file; set the task's `path`.")
        return {subset: paths for subset, paths in files.items() if subset not in missing}

    def item_texts(self) -> Iterator[tuple[str, Mapping[str, Texts]]]:
        """Yield each subset whose files exist with the texts of its scores' items, by metric; it reads the sets."""
        for subset, paths in self.available().items():
            yield subset, self.texts(self.read(subset, paths))

    def evaluate(self, encode: Encode) -> list[Score]:
        """Score an encoder on the subsets whose files exist, and average the scores."""
        scores = self.score_subsets(encode)
        return scores + self.averages(scores)

    def score_subsets(self, encode: Encode) -> list[Score]:
        """Score an encoder on one subset after the other, so that the data of one are in memory."""
        scores: list[Score] = []
        for subset, paths in ProgressBar(self.available().items(), desc=self.name, unit="subset", delay=2):
            data = self.read(subset, paths)
            with error_prefix(f"{self.name} {subset}"):
                measured = list(self.score(encode, subset, data))
            for score in measured:
                logger.info("%s %s: %s %.2f", self.name, score.subset, score.metric, score.value)
            scores += measured
        return scores

    def averages(self, scores: Sequence[Score]) -> list[Score]:
        """Return the means over all subsets and over each group."""
        return averages(scores, self.complete_count(), self.groups)

    def result(self, subset: str, metric: str, value: float, **details: Any) -> Score:
        """Return a score of this task, in points; `details` are further fields of `Score`."""
        main = metric == self.metrics[0]
        return Score(self.name, subset, metric, value, main=main, task_type=self.task_type, **details)

    def mean_result(
        self, subset: str, metric: str, values: Sequence[float], note: str = "", items: Items | None = None
    ) -> Score:
        """Return the mean, in points, of a score of 0 to 1 over runs, with the sample standard deviation of several.

        `items` are the contributions of the items, averaged over the runs.
        """
        points = [100 * value for value in values]
        deviation = stdev(points) if len(points) > 1 else None
        return self.result(subset, metric, fmean(points), deviation=deviation, note=note, items=items)


def no_set(task: str, subset: str = "NAME") -> str:
    """Return the message that a task of one's own sets has none."""
    return f"No set is configured: add `tasks.{task}.sets.{subset}` (docs/own_data.md)."


def fill_subset(template: str, subset: str) -> str:
    """Fill a subset, `{subset}`, and its parts around the last dash, `{left}` and `{right}`, into a name."""
    left, _, right = subset.rpartition("-")
    return template.replace("{subset}", subset).replace("{left}", left).replace("{right}", right)


def missing_files(files: SubsetFiles) -> dict[str, list[Path]]:
    """Return the missing files of each incomplete subset."""
    missing = {subset: [path for path in paths if not path.exists()] for subset, paths in files.items()}
    return {subset: paths for subset, paths in missing.items() if paths}


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Put a prefix, such as the task and subset, before the message of an `EaseError` raised inside."""
    try:
        yield
    except EaseError as error:
        raise EaseError(f"{prefix}: {error}") from error
