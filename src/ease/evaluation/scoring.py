"""Scoring of an encoder on evaluation tasks by their names and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ease.errors import EaseError
from ease.evaluation.scores import Score
from ease.evaluation.tasks import TaskParameters, build_task, build_tasks, check_new_name, task_class
from ease.evaluation.tasks.base import Task
from ease.names import check_name, suggest
from ease.options import split_words
from ease.similarity.encode import Encode, encode_for
from ease.wikimedia.languages import Language

BASELINES = "baselines"
"""Name, in place of a setting, of encoders that are scored but not trained here"""

DEVELOPMENT = "development"
"""Name of scores on development tasks; those of a task's subsets are named `development/<task>/<subset>`."""

RETENTION = "retention"
"""Name of the lowest share that a task of what the starting encoder knows keeps of its score, in percent; the tasks'
scores are named `retention/<task>`."""

KEPT_STEP = "kept_step"
"""Name, in a training run's history and tags, of the step of the kept model; 0: the starting encoder"""


def task_name(reference: str) -> str:
    """Return the task of a reference such as `stsb` or `stsb:test`."""
    return reference.partition(":")[0]


def known_references(references: Iterable[str], tasks: TaskParameters) -> list[str]:
    """Return the references to tasks that the parameters have."""
    return [reference for reference in references if task_name(reference) in tasks]


def check_references(references: Iterable[str], tasks: TaskParameters) -> None:
    """Refuse references to tasks that the parameters do not have, with the nearest name."""
    for name in dict.fromkeys(map(task_name, references)):
        check_name(name, sorted(tasks), "evaluation task")


def check_kinds(tasks: TaskParameters) -> None:
    """Refuse entries of the parameters `tasks` without a kind, such as options under a misspelt name.

    Names that a task cannot have are refused, too.
    """
    for name, parameters in tasks.items():
        check_new_name(name)
        if "kind" not in parameters:
            # The nearest entry with a kind is the likely target of a misspelt name.
            candidates = [candidate for candidate in tasks if "kind" in tasks[candidate]]
            raise EaseError(
                f"`tasks.{name}` is no task, since it has no `kind`: {suggest(name, candidates)} A new task needs one "
                "(docs/evaluation.md#add-a-task)."
            )


def has_any_language(subset: str, languages: Iterable[str]) -> bool:
    """Return whether a part of a subset, such as `deu-eng` or `epo_Latn`, is of one of the languages."""
    return any(_in_languages(subset, languages))


def has_only_languages(subset: str, languages: Iterable[str]) -> bool:
    """Return whether every part of a subset, such as `deu-eng` or `epo_Latn`, is of one of the languages."""
    return all(_in_languages(subset, languages))


def _in_languages(subset: str, languages: Iterable[str]) -> list[bool]:
    """Return for each part of a subset whether it is of one of the languages."""
    # Publishers write a language as Wikipedia does, as BCP 47 does, or with three letters (ISO 639-2 or -3).
    wikis = [Language(language) for language in languages]
    published_codes = {code for wiki in wikis for code in (wiki.bcp_47, *wiki.three_letter_codes)}
    codes = {wiki.code for wiki in wikis} | published_codes
    # A code with a script is never Wikipedia's own: `als` is Alemannic there, `als_Latn` in FLORES is Albanian.
    return [part in codes or part.partition("_")[0] in published_codes for part in subset.split("-")]


def select_parameters(references: Sequence[str], tasks: TaskParameters) -> dict[str, dict[str, Any]]:
    """Return the parameters of tasks such as `stsb` or `stsb:test`; a named subset replaces the configured ones.

    Raises:
        EaseError: For an unknown task or subset.
    """
    check_references(references, tasks)
    selected: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(map(task_name, references)):
        parameters = dict(tasks[name])
        subsets = [reference.partition(":")[2] for reference in references if task_name(reference) == name]
        named_subsets = tuple(filter(None, subsets))
        if named_subsets:
            if "subsets" not in task_class(name, parameters).Options.model_fields:
                raise EaseError(f"The task {name!r} has no subsets: name the task alone.")
            # Names of subsets are checked here: they are lost below where all subsets are selected.
            build_task(name, {**parameters, "subsets": named_subsets})
            configured = configured_subsets(parameters)
            parameters["subsets"] = _merge_subsets(configured, named_subsets, keeps_configured="" in subsets)
        selected[name] = parameters
    return selected


def _merge_subsets(
    configured: Sequence[str] | None, named_subsets: Sequence[str], *, keeps_configured: bool
) -> tuple[str, ...] | None:
    """Return the subsets to score, None for all; a task that is also named alone keeps its configured ones."""
    if not keeps_configured:
        return tuple(dict.fromkeys(named_subsets))
    if configured is None:
        return None
    return tuple(dict.fromkeys([*configured, *named_subsets]))


def configured_subsets(parameters: Mapping[str, Any]) -> list[str] | None:
    """Return the subsets that a task's parameters name, as a list or as words; None: all."""
    subsets = parameters.get("subsets")
    if subsets is None:
        return None
    return list(split_words(subsets))


def select_tasks(references: Sequence[str], tasks: TaskParameters) -> dict[str, Task]:
    """Return tasks such as `stsb` or `stsb:test` by name; see `select_parameters`."""
    return build_tasks(select_parameters(references, tasks))


def score_task(encode: Encode, task: Task) -> list[Score]:
    """Score an encoder on a task, with its prompt for this task."""
    return task.evaluate(encode_for(encode, task.name, task.task_type))


def score_tasks(encode: Encode, tasks: Iterable[Task]) -> list[Score]:
    """Score an encoder on tasks, one score per subset and metric."""
    return [score for task in tasks for score in score_task(encode, task)]
