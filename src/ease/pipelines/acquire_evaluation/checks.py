"""Checks before `acquire_evaluation`, and of the evaluation sets that other pipelines read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from kedro.pipeline.node import Node

from ease.encoders.prompts import check_prompts
from ease.errors import EaseError
from ease.evaluation.scoring import check_kinds, known_references, task_name
from ease.evaluation.sets import LocatedSet, read_located, require_named_set, require_sets
from ease.evaluation.tasks import TaskParameters
from ease.evaluation.tasks.base import error_prefix
from ease.pipelines.acquire_evaluation.fetching import fetchable
from ease.pipelines.acquire_evaluation.nodes import (
    check_tasks,
    expected_sets,
    locate_baseline_sets,
    locate_evaluation_sets,
)
from ease.pipelines.checks import PlannedRun
from ease.pipelines.options import AUDIT, AUDIT_SET, COUNTRY_NAMES, EvaluateOptions, EvaluationSetOptions
from ease.pipelines.setting import Setting

FETCH = "`--params acquire_evaluation.fetch=true` fetches the files."
MADE_SETS = {AUDIT_SET: AUDIT, COUNTRY_NAMES: COUNTRY_NAMES}
"""Tasks by the outputs, of any setting, that are their sets"""
SetCheck = Callable[[Mapping[str, LocatedSet]], object]


def check_setting_tasks(node: Node, run: PlannedRun) -> None:
    """Check the tasks of a setting; those that `--params` names must have data, as `evaluate.tasks` must."""
    setting = run.options(node, Setting)
    tasks = run.parameter("tasks")
    # Every run refuses unknown names, in the words of the parameter that has them.
    test_tasks = known_references(setting.test_tasks, tasks)
    check_tasks((*known_references(setting.dev_tasks, tasks), *test_tasks), tasks)
    parameter = f"{setting.name}.setting.test_tasks"
    # Configured tasks without data are skipped, but not those that a user asks for.
    if parameter in run.typed:
        for reference in without_made(test_tasks, run):
            check_sets(partial(require_named_set, reference, parameter), node, run, [reference])
    check_scored_tasks(node, run)


def check_scored_tasks(node: Node, run: PlannedRun) -> None:
    """Check the tasks that `evaluate.tasks` names, which must have data; others without data are skipped."""
    options = run.options(node, EvaluateOptions)
    tasks = run.parameter("tasks")
    run.check(check_kinds, tasks)
    for name, baseline in options.baselines.items():
        for prompt in baseline.prompts:
            run.check(_check_prompt, f"evaluate.baselines.{name}.prompts", prompt, tasks)
    check_tasks(known_references(options.references((), tasks), tasks), tasks)
    for reference in without_made(known_references(options.named, tasks), run):
        check_sets(partial(require_named_set, reference, "evaluate.tasks"), node, run, [reference])


def _check_prompt(parameter: str, prompt: str, tasks: TaskParameters) -> None:
    with error_prefix(f"Parameter `{parameter}`"):
        check_prompts([prompt], list(tasks))


def check_development_sets(node: Node, run: PlannedRun, dev_tasks: Sequence[str]) -> None:
    """Refuse a training run that lacks a set which chooses its checkpoint."""
    references = without_made(known_references(dev_tasks, run.parameter("tasks")), run)
    for name in dict.fromkeys(map(task_name, references)):
        of_task = [reference for reference in references if task_name(reference) == name]
        check_sets(partial(require_sets, of_task, tasks=run.parameter("tasks")), node, run, of_task)


def check_sets(check: SetCheck, node: Node, run: PlannedRun, references: Sequence[str]) -> None:
    """Check a node's sets: those that this run will locate, or that an earlier run has located."""
    data = next(name for name in (*node.inputs, *node.outputs) if name.endswith("evaluation_data"))
    locating = run.maker(data)
    if locating is not None:
        run.check(_check_expected_sets, check, run, run.options(locating, EvaluationSetOptions), references)
    elif run.catalog.exists(data):
        located = read_located(run.catalog.load(data))
        # A scoring run names those that it lacks together, with its own command.
        if "evaluate" not in node.tags or all(task_name(reference) in located for reference in references):
            run.check(check, located)


def _check_expected_sets(
    check: SetCheck, run: PlannedRun, options: EvaluationSetOptions, references: Sequence[str]
) -> None:
    expected = expected_sets(references, options, run.parameter("tasks"))
    try:
        check(expected)
    except EaseError as error:
        can_fetch = not options.fetch and any(fetchable(task_name(reference)) for reference in references)
        if can_fetch:
            raise EaseError(f"{error} {FETCH}") from error
        raise


def without_made(references: Iterable[str], run: PlannedRun) -> list[str]:
    """Return tasks without those whose sets this run makes, such as the audit."""
    made_tasks = [
        task for output, task in MADE_SETS.items() if any(name.endswith(f".{output}") for name in run.outputs)
    ]
    return [reference for reference in references if task_name(reference) not in made_tasks]


CHECKS = {locate_evaluation_sets: [check_setting_tasks], locate_baseline_sets: [check_scored_tasks]}
