"""Evaluation tasks: each is a file `conf/base/parameters/tasks/<task>.yml`.

Its `kind` names the class of this package that reads and scores the data. Each error in the data is an `EaseError`
that names the file and line, or the task and subset.
"""

from __future__ import annotations

import logging
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.items import Items
from ease.io.files import read_yaml
from ease.names import check_name
from ease.options import StrictModel
from ease.similarity.encode import Encode

logger = logging.getLogger(__name__)

Files = Mapping[str, tuple[Path, ...]]  # the files of each subset of a task
Texts = list[tuple[str, ...]]  # the texts of each test item

DEVELOPMENT_METRIC = "development_accuracy"
"""Metric on the data by which a classifier was chosen; it is never averaged."""

AVERAGE = "average"  # prefix of the names of subsets that are means of other subsets

CLASSES = {
    "audit": "audit:Audit",
    "bel": "bel:EntityLinking",
    "binary_pairs": "graded_pairs:BinaryPairs",
    "bli": "bli:LexiconInduction",
    "bucc": "bucc:BitextMining",
    "graded_pairs": "graded_pairs:GradedPairs",
    "isotropy": "isotropy:Isotropy",
    "labelled_texts": "labelled_texts:LabelledTextsTask",
    "multisimlex": "multisimlex:MultiSimLex",
    "parallel_sentences": "parallel_sentences:ParallelSentences",
    "pawsx_finetuned": "pawsx_finetuned:FineTunedPawsX",
    "queries": "queries:Queries",
    "sample_parallel": "parallel_sentences:SampleParallel",
    "senteval": "senteval:SentEval",
    "transfer": "transfer:Transfer",
}
"""Module and class of each kind."""


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


class TaskOptions(StrictModel):
    """What the file of a task says of every task."""

    kind: str = Field(description="how the data are read and scored")
    source: str = Field(description="where the files are published, and their licence")
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


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise EaseError(f"The seeds {', '.join(map(str, seeds))} repeat: give each seed once.")
    return seeds


Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=2**32)], ...], Field(min_length=1), AfterValidator(_distinct)]
"""Seeds of independent runs, whose scores are averaged."""


class Task(ABC):
    """An evaluation task: the files of its subsets, how their data is read, and how an encoder is scored on it."""

    KIND: ClassVar[str]  # one of `PROMPT_KINDS`, which determines the encoder's prompt
    METRICS: tuple[str, ...]
    """Metrics of the scores; the first is that of the main score, the others are additional."""
    Options: ClassVar[type[TaskOptions]]
    TRAINS_ENCODER: ClassVar[bool] = False
    """Whether the task trains a copy of the encoder, so that truncated embeddings have no score."""
    groups: Mapping[str, Collection[str]] = {}  # subsets of the averages `average_<group>`

    def __init__(self, name: str, configured: Mapping[str, Any]) -> None:
        """Name the task, its main metric and its source; `configured` is its file without `path` and `subsets`."""
        self.name, self.configured = name, configured
        self.METRIC, self.SOURCE = self.METRICS[0], str(configured["source"])

    def options(self, **given: Any) -> Any:
        """Return the task's options: those of its file, and those given."""
        return self.Options.model_validate({**self.configured, **given})

    @abstractmethod
    def files(self, options: Any) -> Files:
        """Return the files of each chosen subset, whether they exist or not."""

    @abstractmethod
    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> Any:
        """Read the data of a subset from its files, and check it."""

    def score(self, encode: Encode, options: Any, subset: str, data: Any) -> Iterable[Score]:
        """Score an encoder on the data of a subset."""
        raise NotImplementedError

    def texts(self, options: Any, data: Any) -> Mapping[str, Texts]:
        """Return by metric the texts of each scored item, in the order of `Score.items`; empty if there are none."""
        return {}

    def wanted(self, options: Any) -> int:
        """Return how many subsets a complete average has; 0: there is no average."""
        return 0

    def available(self, options: Any) -> Files:
        """Return the files of the chosen subsets whose files exist; refuse to score none."""
        if not (files := self.files(options)):
            raise EaseError(no_set(self.name))
        missing = missing_files(files)
        if len(missing) == len(files):
            raise EaseError(f"{next(iter(missing.values()))[0]}: no such file; set the task's `path`.")
        return {subset: paths for subset, paths in files.items() if subset not in missing}

    def item_texts(self, options: Any) -> Iterator[tuple[str, Mapping[str, Texts]]]:
        """Yield each subset whose files exist with the texts of its scores' items, by metric; it reads the sets."""
        for subset, paths in self.available(options).items():
            yield subset, self.texts(options, self.read(options, subset, paths))

    def evaluate(self, encode: Encode, options: Any) -> list[Score]:
        """Score an encoder on one chosen subset whose files exist after the other, and average the scores."""
        scores: list[Score] = []
        style: dict[str, Any] = {"delay": 2, "leave": False, "disable": None}
        for subset, paths in tqdm(self.available(options).items(), desc=self.name, unit="subset", **style):
            data = self.read(options, subset, paths)
            with error_prefix(f"{self.name} {subset}"):
                found = list(self.score(encode, options, subset, data))
            for score in found:
                logger.info("%s %s: %s %.2f", self.name, score.subset, score.metric, score.value)
            scores += found
        return scores + averages(scores, self.wanted(options), self.groups)


def _folder() -> Path:
    """Return the folder of the tasks' files, which a wheel has in the package."""
    package = Path(__file__).parents[2]
    packed = package / "project" / "conf"
    return (packed if packed.exists() else package.parents[1] / "conf") / "base" / "parameters" / "tasks"


@cache
def task_names() -> tuple[str, ...]:
    """Names of all evaluation tasks, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yml")))


@cache
def get_task(name: str) -> Task:
    """Return a task by its name; refuse an unknown one."""
    check_name(name, task_names(), "evaluation task")
    configured = read_yaml((_folder() / f"{name}.yml").read_bytes())["tasks"][name]
    check_name(configured["kind"], [*CLASSES], "kind of evaluation task")
    task = pkgutil.resolve_name(f"{__name__}.{CLASSES[configured['kind']]}")
    # A project may change path and subsets, which `options` is given.
    made: Task = task(name, {key: own for key, own in configured.items() if key not in ("path", "subsets")})
    return made


def no_set(task: str, subset: str = "NAME") -> str:
    """Return the message that a task of one's own sets has none."""
    return f"No set is configured: add `tasks.{task}.sets.{subset}` (docs/own_data.md)."


def missing_files(files: Files) -> dict[str, list[Path]]:
    """Return the missing files of each incomplete subset."""
    lacking = {subset: [path for path in paths if not path.exists()] for subset, paths in files.items()}
    return {subset: paths for subset, paths in lacking.items() if paths}


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Put a prefix, such as the task and subset, before the message of an `EaseError` raised inside."""
    try:
        yield
    except EaseError as error:
        raise EaseError(f"{prefix}: {error}") from error


def repeated_score(
    task: str, subset: str, metric: str, values: Sequence[float], note: str = "", items: Items | None = None
) -> Score:
    """Mean, in points, of a score of 0 to 1 over runs, with the sample standard deviation if there are several.

    `items` are the contributions of the items, averaged over the runs.
    """
    points = [100 * value for value in values]
    deviation = stdev(points) if len(points) > 1 else None
    return Score(task, subset, metric, fmean(points), deviation=deviation, note=note, items=items)


def averages(scores: Sequence[Score], wanted: int, groups: Mapping[str, Collection[str]] | None = None) -> list[Score]:
    """Return each test metric's mean over all subsets of a task, and over each group as `average_<group>`.

    A mean of fewer subsets than `wanted`, or than the group has, is noted; 0 omits the mean over all subsets.
    """
    means = []
    for metric in dict.fromkeys(score.metric for score in scores if score.metric != DEVELOPMENT_METRIC):
        own = [score for score in scores if score.metric == metric]
        every = {AVERAGE: (own, wanted)} if wanted else {}
        for name, subsets in (groups or {}).items():
            every[f"{AVERAGE}_{name}"] = [score for score in own if score.subset in subsets], len(subsets)
        for subset, (members, complete) in every.items():
            if members:
                note = "" if len(members) == complete else f"{len(members)} of {complete} subsets"
                value = fmean(score.value for score in members)
                means.append(Score(own[0].task, subset, metric, value, note=note, parts=tuple(members)))
    return means


def main_score(scores: Sequence[Score]) -> float:
    """Mean of one task's scores over its subsets by its main metric, in points."""
    task = scores[0].task
    metric = get_task(task).METRIC
    values = [score.value for score in scores if not score.averaged and score.metric == metric]
    if not values:
        raise EaseError(f"No score of {task} has its metric {metric}.")
    return fmean(values)


def average_main_scores(scores: Sequence[Score]) -> float:
    """Mean of the tasks' main scores, in points: the development score of several tasks (appendix A)."""
    tasks = sorted({score.task for score in scores})
    if not tasks:
        raise EaseError("No score to average: name at least one development task.")
    return fmean(main_score([score for score in scores if score.task == task]) for task in tasks)
