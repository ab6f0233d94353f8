"""Options of `evaluate`: which encoders are scored, on which tasks."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, field_validator, model_validator

from ease.encoders.options import LoadingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.tasks import task_names
from ease.io.models import Dimensions, StrictModel, Words
from ease.io.names import check_name
from ease.pipelines.setting import Setting

ALL = "all"
"""The name for all evaluation tasks."""


class Baseline(LoadingOptions):
    """An encoder that is scored without training."""

    name: str = Field(min_length=1, description="a hub name, a folder, or a text file of word vectors")
    tasks: Words | None = Field(
        None, description="tasks to score it on; null: the test tasks of all settings"
    )
    language_rank: int = Field(
        0,
        ge=0,
        description="rank of the language subspace to remove, fitted on the multilingual setting's training sentences",
    )
    dimensions: Dimensions = Field((), description="numbers of first dimensions to score it at, too")

    @model_validator(mode="after")
    def _one_map(self) -> Baseline:
        if self.language_rank and self.dimension is not None:
            raise EaseError(
                "`dimension` and `language_rank` exclude each other: the language subspace is one of all dimensions. "
                "Remove `dimension`, and score fewer dimensions by `dimensions`."
            )
        return self


class EvaluateOptions(StrictModel):
    """Baselines, and the tasks to score."""

    tasks: Words | None = Field(
        description="tasks, or single subsets of them (`stsb:test`), or `all`; null: each setting's test tasks"
    )
    baselines: dict[str, Baseline] = Field(description="encoders to score, by their names in the report")
    dimensions: Dimensions = Field(
        (),
        description="numbers of first dimensions to score every encoder at, too; one trained with `matryoshka` is "
        "scored at its own in any case",
    )

    @field_validator("tasks")
    @classmethod
    def _known(cls, references: Sequence[str] | None) -> Sequence[str] | None:
        for reference in references or ():
            check_name(task_name(reference), [*task_names(), ALL], "evaluation task")
        return references

    def baseline_references(self, name: str, test_tasks: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks to score a baseline on: `tasks`, else its own, else the test tasks."""
        return self.references(self.baselines[name].tasks or test_tasks)

    def all_baseline_references(self, test_tasks: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks of all baselines, each once."""
        own = (task for name in self.baselines for task in self.baseline_references(name, test_tasks))
        return tuple(dict.fromkeys(own))

    @property
    def named(self) -> tuple[str, ...]:
        """The tasks that `tasks` names one by one."""
        return () if self.tasks is None or tuple(self.tasks) == (ALL,) else tuple(self.tasks)

    def references(self, test_tasks: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks to score."""
        if self.tasks is None:
            return tuple(test_tasks)
        return self.named or tuple(task_names())


def all_test_tasks(*settings: Setting) -> tuple[str, ...]:
    """Return the test tasks of several settings, each once."""
    return tuple(dict.fromkeys(task for setting in settings for task in setting.test_tasks))
