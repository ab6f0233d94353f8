"""Scoring of an encoder on evaluation tasks by their names and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Score, get_task
from ease.evaluation.tasks.components.prompted import encode_for
from ease.io.validation import format_validation_error

TaskOptions = Mapping[str, Mapping[str, Any]]
"""Options of tasks by the tasks' names."""


def task_options(name: str, options: TaskOptions) -> BaseModel:
    """Return the validated options of the task `name`.

    Raises:
        EaseError: If the task is unknown or not configured, or an option is wrong.
    """
    task = get_task(name)
    if not options.get(name):
        raise EaseError(f"No options for the task {name!r}: write them into parameters/tasks/{name}.yml.")
    try:
        validated = task.Options.model_validate(options[name])
        task.files(validated)  # refuses unknown subsets
    except (ValidationError, EaseError) as error:
        fault = format_validation_error(error, task.Options) if isinstance(error, ValidationError) else error
        raise EaseError(f"Options of the task {name!r}: {fault}") from error
    return validated


def task_name(reference: str) -> str:
    """Return the task of a reference such as `stsb` or `stsb:test`."""
    return reference.partition(":")[0]


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
            own["subsets"] = (
                None if configured is None else tuple(dict.fromkeys([*configured, *filter(None, named)]))
            )
        chosen[name] = own
    return chosen


class _DataRead(Exception):
    """Ends a task at its first sentence."""


def reading_error(name: str, options: BaseModel, subset: str) -> str | None:
    """Read a subset whose files exist as its task does, without encoding; return the error message, if any."""
    if "subsets" in type(options).model_fields:
        options = options.model_copy(update={"subsets": (subset,)})

    def stop(sentences: Sequence[str]) -> np.ndarray:
        raise _DataRead

    try:
        get_task(name).evaluate(stop, options)
    except _DataRead:
        return None
    except EaseError as error:
        return str(error)
    raise AssertionError(f"{name} {subset}: scored without encoding a sentence")


def score_task(encode: Encode, name: str, options: BaseModel) -> list[Score]:
    """Score an encoder on a task, with its prompt for this task.

    Raises:
        EaseError: If the data is missing or broken.
        ValueError: If a score has the name of another task, with which it would be mistaken.
    """
    scores = get_task(name).evaluate(encode_for(encode, name), options)
    if others := {score.task for score in scores} - {name}:
        raise ValueError(f"The task {name} returned scores of {', '.join(sorted(others))}.")
    return scores


def score_tasks(encode: Encode, references: Sequence[str], options: TaskOptions) -> list[Score]:
    """Score an encoder on the named tasks, one score per subset and metric."""
    chosen = chosen_tasks(references, options)
    return [score for name in chosen for score in score_task(encode, name, task_options(name, chosen))]
