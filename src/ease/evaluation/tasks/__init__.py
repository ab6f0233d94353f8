"""Evaluation tasks. Each is an entry of the parameters `tasks`, such as `conf/base/parameters/tasks/<task>.yml`.

The entry's `kind` names the class of this package that reads and scores the data.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from ease.configuration import default_parameters
from ease.errors import EaseError
from ease.evaluation.tasks.base import Task, error_prefix
from ease.names import check_name
from ease.options import format_validation_error

TaskParameters = Mapping[str, Mapping[str, Any]]
"""Parameters of tasks by the tasks' names, before they are validated"""

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


ALL_TASKS = "all"
"""The name for all evaluation tasks"""
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


def package_tasks(changes: TaskParameters | None = None) -> dict[str, dict[str, Any]]:
    """Return the parameters of the package's tasks, with some changed or added, for callers without Kedro."""
    tasks = {name: dict(parameters) for name, parameters in default_parameters()["tasks"].items()}
    for name, parameters in (changes or {}).items():
        check_new_name(name)
        tasks[name] = {**tasks.get(name, {}), **parameters}
    return tasks


def check_new_name(name: str) -> None:
    """Refuse a task's name that references such as `stsb:test`, or files of scores, could not have."""
    if name == ALL_TASKS or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise EaseError(
            f"A task may not be named {name!r}: give a name of letters, digits, `_`, `-` and inner dots, other than "
            f"{ALL_TASKS}."
        )


def task_class(name: str, parameters: Mapping[str, Any]) -> type[Task]:
    """Return the class of a task by its `kind`."""
    check_new_name(name)
    with error_prefix(f"Options of the task {name!r}"):
        if "kind" not in parameters:
            raise EaseError(f"`kind` is missing: give one of {', '.join(CLASSES)}.")
        check_name(parameters["kind"], list(CLASSES), "kind of evaluation task")
    # Only the modules of tasks that are used are imported: some need torch, transformers and scikit-learn.
    implementation: type[Task] = pkgutil.resolve_name(f"{__name__}.{CLASSES[parameters['kind']]}")
    return implementation


def build_task(name: str, parameters: Mapping[str, Any]) -> Task:
    """Return a task with its validated options.

    Raises:
        EaseError: With the task's name, if a parameter is wrong or a subset is unknown.
    """
    kind = task_class(name, parameters)
    try:
        task = kind(name, kind.Options.model_validate(dict(parameters)))
        # Refuses unknown subsets, before any file is read.
        task.files()
    except ValidationError as error:
        raise EaseError(f"Options of the task {name!r}: {format_validation_error(error, kind.Options)}") from error
    except EaseError as error:
        raise EaseError(f"Options of the task {name!r}: {error}") from error
    return task


@cache
def package_task(name: str) -> Task:
    """Return one of the package's tasks as the package configures it."""
    tasks = package_tasks()
    check_name(name, sorted(tasks), "evaluation task")
    return build_task(name, tasks[name])


def build_tasks(parameters: TaskParameters) -> dict[str, Task]:
    """Return all tasks of the parameters by name; see `build_task`."""
    return {name: build_task(name, task_parameters) for name, task_parameters in parameters.items()}
