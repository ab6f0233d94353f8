"""Scoring of an encoder on evaluation tasks by their names and options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from ease.errors import EaseError
from ease.evaluation.tasks import Score, get_task
from ease.options import format_validation_error
from ease.similarity.encode import Encode, encode_for
from ease.wikimedia.languages import Language

BASELINES = "baselines"
"""Name, in place of a setting, of encoders that are scored but not trained here"""

DEVELOPMENT = "development"
"""Name of scores on development tasks; those of a task's subsets are named `development/<task>/<subset>`."""

TaskOptions = Mapping[str, Mapping[str, Any]]  # options of tasks by the tasks' names


def task_options(name: str, options: TaskOptions) -> BaseModel:
    """Return the options of a task; refuse unknown or unconfigured tasks and wrong options."""
    task = get_task(name)
    if not options.get(name):
        raise EaseError(f"No options for the task {name!r}: write them into parameters/tasks/{name}.yml.")
    try:
        validated: BaseModel = task.options(**options[name])
        task.files(validated)  # refuses unknown subsets
    except (ValidationError, EaseError) as error:
        fault = format_validation_error(error, task.Options) if isinstance(error, ValidationError) else error
        raise EaseError(f"Options of the task {name!r}: {fault}") from error
    return validated


def task_name(reference: str) -> str:
    """Return the task of a reference such as `stsb` or `stsb:test`."""
    return reference.partition(":")[0]


def has_languages(subset: str, languages: Iterable[str]) -> list[bool]:
    """Return whether each part of a subset, such as `deu-eng` or `epo_Latn`, is of one of the languages."""
    known = [Language(language) for language in languages]
    codes = {code for own in known for code in (own.code, own.bcp_47, *own.three_letter_codes)}
    return [part in codes or part.partition("_")[0] in codes for part in subset.split("-")]


def chosen_tasks(references: Sequence[str], options: TaskOptions) -> dict[str, dict[str, Any]]:
    """Return the options of tasks such as `stsb` or `stsb:test`; a named subset replaces the configured ones."""
    chosen: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(map(task_name, references)):
        own = dict(options.get(name, {}))
        named = [reference.partition(":")[2] for reference in references if task_name(reference) == name]
        if any(named):
            if "subsets" not in get_task(name).Options.model_fields:
                raise EaseError(f"The task {name!r} has no subsets: name the task alone.")
            # Names of subsets are checked here: they are lost below where all subsets are chosen.
            task_options(name, {name: {**own, "subsets": tuple(filter(None, named))}})
            # A task named without a subset keeps its configured subsets; null means all of them.
            configured = own.get("subsets") if "" in named else ()
            own["subsets"] = None if configured is None else tuple(dict.fromkeys([*configured, *filter(None, named)]))
        chosen[name] = own
    return chosen


def score_task(encode: Encode, name: str, options: BaseModel) -> list[Score]:
    """Score an encoder on a task, with its prompt for this task."""
    task = get_task(name)
    return task.evaluate(encode_for(encode, name, task.KIND), options)


def score_tasks(encode: Encode, references: Sequence[str], options: TaskOptions) -> list[Score]:
    """Score an encoder on the named tasks, one score per subset and metric."""
    chosen = chosen_tasks(references, options)
    return [score for name in chosen for score in score_task(encode, name, task_options(name, chosen))]
