"""Check before a run that its evaluation tasks are known and that their files exist or can be downloaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.evaluation.scoring import TaskOptions, chosen_tasks, task_name, task_options
from ease.evaluation.sets import development_fault, named_fault, unscorable_fault
from ease.evaluation.tasks import get_task, missing_files
from ease.pipelines.acquire.options import SAMPLE
from ease.pipelines.acquire_evaluation.fetching import list_files
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions
from ease.pipelines.acquire_evaluation.sources import read_sources

FETCH = "`--params acquire_evaluation.fetch=true` fetches them"


def check_tasks(references: Sequence[str], tasks: TaskOptions) -> None:
    """Refuse unknown or wrongly configured tasks."""
    for name in map(task_name, references):
        get_task(name)
    for name, options in chosen_tasks(references, tasks).items():
        task_options(name, {name: options})


def check_development_sets(references: Sequence[str], sets: EvaluationSetOptions, tasks: TaskOptions) -> None:
    """Refuse a run without the sets that select its checkpoints, unless the run downloads them."""
    check_tasks(references, tasks)
    for name, files in _files(references, sets, tasks):
        missing = _missing(name, files, sets)
        if missing:
            offer = "" if sets.fetch or not set(missing) <= fetchable(name) else FETCH
            raise EaseError(development_fault(name, missing, sets.folder, offer))


def check_named_set(reference: str, sets: EvaluationSetOptions, tasks: TaskOptions) -> None:
    """Refuse a task that the user names if none of its subsets has data, unless the run downloads them."""
    ((name, files),) = _files((reference,), sets, tasks)
    missing = [_missing(name, {subset: paths}, sets) for subset, paths in files.items()]
    if all(missing):
        offer = "" if sets.fetch or not fetchable(name) else FETCH
        lacking = sorted({path for paths in missing for path in paths})
        raise EaseError(named_fault(reference, lacking, sets.folder, offer))


def check_some_set(references: Sequence[str], sets: EvaluationSetOptions, tasks: TaskOptions) -> None:
    """Refuse a run without any set that would score its trainings."""
    check_tasks(references, tasks)
    complete = (
        name
        for name, files in _files(references, sets, tasks)
        if any(not _missing(name, {subset: paths}, sets) for subset, paths in files.items())
    )
    if next(complete, None) is None:
        can_fetch = any(map(fetchable, map(task_name, references)))
        raise EaseError(unscorable_fault(references, FETCH if can_fetch and not sets.fetch else ""))


def fetchable(task: str) -> set[str]:
    """Return the files of a task, below the evaluation folder, that can be downloaded."""
    sources = read_sources()
    return {file.path for file in list_files(sources[task])} if task in sources else set()


def _files(
    references: Sequence[str], sets: EvaluationSetOptions, tasks: TaskOptions
) -> Iterator[tuple[str, Mapping[str, tuple[Path, ...]]]]:
    """Yield each task with the files of its subsets, except for the sample's, which the run makes."""
    for name, options in chosen_tasks(references, tasks).items():
        made = str(options["path"]).startswith(SAMPLE)
        placed: dict[str, Any] = {**options, "path": str(sets.locate(str(options["path"])))}
        yield name, {"": ()} if made else get_task(name).files(task_options(name, {name: placed}))


def _missing(name: str, files: Mapping[str, tuple[Path, ...]], sets: EvaluationSetOptions) -> list[str]:
    """Return the files, below the evaluation folder, that neither exist nor will be downloaded by this run."""
    fetched = fetchable(name) if sets.fetch else set()
    paths = sorted({path for lacking in missing_files(files).values() for path in lacking})
    below = (path.relative_to(sets.folder) if path.is_relative_to(sets.folder) else path for path in paths)
    return [path.as_posix() for path in below if path.as_posix() not in fetched]
