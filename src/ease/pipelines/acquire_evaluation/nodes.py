"""Locate the evaluation sets of tasks; `fetching.py` downloads those that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.evaluation.scoring import check_references, select_parameters, select_tasks, task_name
from ease.evaluation.sets import LocatedSet, locate_sets, read_sets, scorable
from ease.evaluation.tasks import TaskParameters, build_task
from ease.evaluation.tasks.base import missing_files
from ease.pipelines.acquire_evaluation.fetching import fetch_evaluation_sets, fetchable
from ease.pipelines.acquire_evaluation.published_files import read_sources
from ease.pipelines.options import SAMPLE, AcquireOptions, EvaluateOptions, EvaluationSetOptions
from ease.pipelines.setting import Setting

SAMPLE_SETS = ("parallel", "graded", "graded_dev")
"""The sample's own evaluation sets, addressed as `sample:NAME`."""


def locate_evaluation_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
    evaluate: EvaluateOptions,
    setting: Setting,
) -> dict[str, Any]:
    """Locate, read and hash the files of each task of the setting.

    A task's `path` is the address of its set: a file, a folder, `sample:` with one of `SAMPLE_SETS`, or `audit:` with a
    setting.
    """
    # Training runs and analyses read the setting's own tasks even if other tasks are scored.
    references = (*setting.dev_tasks, *setting.test_tasks, *evaluate.references((), tasks))
    return locate(references, acquire, sets, tasks, evaluate.named)


def locate_baseline_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
    evaluate: EvaluateOptions,
    multilingual: Setting,
    monolingual: Setting,
) -> dict[str, Any]:
    """Locate the evaluation sets of the baselines; see `locate_evaluation_sets`."""
    by_baseline = evaluate.baseline_references([multilingual, monolingual], tasks)
    references = dict.fromkeys(reference for references in by_baseline.values() for reference in references)
    return locate(tuple(references), acquire, sets, tasks, evaluate.named)


def locate(
    references: Sequence[str],
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
    required: Sequence[str] = (),
) -> dict[str, Any]:
    """Locate and read the files of tasks, after downloading missing ones if `fetch` is set; return them as JSON.

    A failed download of a `required` task is a fault, which fails the run once all else is scored.
    """
    check_references(references, tasks)
    names = list(dict.fromkeys(map(task_name, references)))
    # Known only for the tasks of the package: a project's own sets have no publisher.
    fetch_faults: dict[str, dict[str, str]] = {}
    if sets.fetch:
        fetch_faults = fetch_evaluation_sets(names, read_sources(), sets.folder, acquire.download)
    parameters = dict(tasks)
    for name in names:
        if "path" not in tasks[name]:
            raise EaseError(f"The task {name!r} is to be scored, but `tasks.{name}.path` is not configured.")
        address = str(tasks[name]["path"])
        if address.startswith(SAMPLE):
            path = acquire.sample_file(address, SAMPLE_SETS, "evaluation sets")
        else:
            path = sets.locate(address)
        parameters[name] = {**tasks[name], "path": str(path)}
    selected = select_tasks(references, parameters)
    located = {
        name: task_set.model_copy(update={"address": str(tasks[name]["path"])})
        for name, task_set in read_sets(locate_sets(selected), selected).items()
    }
    for reference in required:
        name, _, subset = reference.partition(":")
        # A set that is there is scored, even if further files of it could not be downloaded.
        if fetch_faults.get(name) and not located[name].faults and not scorable([reference], located):
            reason = next(iter(fetch_faults[name].values()))
            located[name] = located[name].model_copy(update={"faults": {subset: reason}})
    return {name: task_set.model_dump(mode="json") for name, task_set in located.items()}


def check_tasks(references: Sequence[str], tasks: TaskParameters) -> None:
    """Refuse unknown or wrongly configured tasks."""
    select_tasks(references, tasks)


def expected_sets(
    references: Sequence[str], sets: EvaluationSetOptions, tasks: TaskParameters
) -> dict[str, LocatedSet]:
    """Return the sets that a run will have: files that exist, and those that it makes or downloads."""
    expected = {}
    for name, parameters in select_parameters(references, tasks).items():
        address = str(parameters["path"])
        if address.startswith(SAMPLE):
            # The run makes the sample, with all its sets.
            subsets = (reference.partition(":")[2] for reference in references if task_name(reference) == name)
            expected[name] = LocatedSet(path=sets.folder, subsets=dict.fromkeys(subsets, ()), sha256={})
            continue
        task = build_task(name, {**parameters, "path": str(sets.locate(address))})
        files = task.files()
        missing = _missing_after_fetching(name, missing_files(files), sets)
        expected[name] = LocatedSet(
            path=sets.folder,
            subsets=dict.fromkeys(files.keys() - missing, ()),
            sha256={},
            missing=missing,
            source=task.options.source,
        )
    return expected


def _missing_after_fetching(
    task: str, missing: Mapping[str, Iterable[Path]], sets: EvaluationSetOptions
) -> dict[str, tuple[str, ...]]:
    """Return the missing files of each subset that the run will not download, by their paths in messages."""
    downloads: set[str] = set()
    if sets.fetch:
        downloads = fetchable(task)
    remaining = {}
    for subset, paths in missing.items():
        names = []
        for path in paths:
            if path.is_relative_to(sets.folder):
                path = path.relative_to(sets.folder)
            if path.as_posix() not in downloads:
                names.append(path.as_posix())
        if names:
            remaining[subset] = tuple(names)
    return remaining
