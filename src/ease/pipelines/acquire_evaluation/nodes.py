"""Nodes and wiring of `acquire_evaluation`, and what a run will find of the evaluation sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedro.pipeline import Pipeline
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.scoring import TaskOptions, chosen_tasks, task_name, task_options
from ease.evaluation.sets import LocatedSet, locate_sets, read_sets, scorable
from ease.evaluation.tasks import get_task, missing_files
from ease.io.models import StrictModel
from ease.io.names import BASELINES
from ease.pipelines.acquire import SAMPLE, AcquireOptions, sample_file
from ease.pipelines.acquire_evaluation.fetching import fetch_evaluation_sets, read_sources
from ease.pipelines.evaluate import EvaluateOptions
from ease.pipelines.setting import Setting
from ease.pipelines.wiring import namespaced, step

SAMPLE_SETS = ("parallel", "graded", "graded_dev")
"""The sample's own evaluation sets, addressed as `sample:NAME`."""
AUDIT, AUDIT_SET = "audit:", "audit_set"
"""Beginning of the address of a setting's audit, and the name of its dataset"""


class EvaluationSetOptions(StrictModel):
    """The folder of evaluation sets, and whether to download missing ones."""

    folder: Path = Field(description="the evaluation folder, to which the tasks' paths are relative")
    audits: Path = Field(
        Path("data/03_primary"),
        description="the folder of the settings' audits; a task's path `audit:SETTING` is the newest one",
    )
    fetch: bool = Field(
        False, description="download missing sets from their publishers, if their licences allow it"
    )

    def locate(self, address: str) -> Path:
        """Return the path of a task's set; of an audit that has not been made, the folder of its versions."""
        if not address.startswith(AUDIT):
            return self.folder / address
        versions = self.audits / address.removeprefix(AUDIT) / AUDIT_SET
        return max(versions.glob(f"*/{AUDIT_SET}"), default=versions)


def locate_evaluation_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskOptions,
    evaluate: EvaluateOptions,
    setting: Setting,
) -> dict[str, Any]:
    """Locate, read and hash the files of each task of the setting.

    A task's `path` is the address of its set: a file, a folder, `sample:` with one of `SAMPLE_SETS`, or `audit:` with a
    setting.
    """
    # Trainings and analyses read the setting's own tasks even if other tasks are scored.
    references = (*setting.dev_tasks, *setting.test_tasks, *evaluate.references(()))
    return locate(references, acquire, sets, tasks, evaluate.named)


def locate_baseline_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskOptions,
    evaluate: EvaluateOptions,
    **settings: Setting,
) -> dict[str, Any]:
    """Locate the evaluation sets of the baselines; see `locate_evaluation_sets`."""
    own = evaluate.baseline_references(settings).values()
    references = tuple(dict.fromkeys(task for tasks in own for task in tasks))
    return locate(references, acquire, sets, tasks, evaluate.named)


def locate(
    references: Sequence[str],
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskOptions,
    named: Sequence[str] = (),
) -> dict[str, Any]:
    """Locate and read the files of tasks, after downloading missing ones if `fetch` is set; return them as JSON.

    A failed download of a task that the user has `named` is a fault, which fails the run once all else is scored.
    """
    names, failed = list(dict.fromkeys(map(task_name, references))), dict[str, dict[str, str]]()
    if sets.fetch:
        failed = fetch_evaluation_sets(names, read_sources(), sets.folder, acquire.download)
    options = dict(tasks)
    for name in names:
        if "path" not in tasks.get(name, {}):
            raise EaseError(f"The task {name!r} is to be scored, but `tasks.{name}.path` is not configured.")
        address = str(tasks[name]["path"])
        if address.startswith(SAMPLE):
            path = sample_file(address, SAMPLE_SETS, "evaluation sets", acquire)
        else:
            path = sets.locate(address)
        options[name] = {**tasks[name], "path": str(path)}
    located = read_sets(locate_sets(references, options), references, options)
    for reference in named:
        name, _, subset = reference.partition(":")
        if failed.get(name) and not located[name].faults and not scorable([reference], located):
            reason = next(iter(failed[name].values()))
            located[name] = located[name].model_copy(update={"faults": {subset: reason}})
    return {name: found.model_dump(mode="json") for name, found in located.items()}


def check_tasks(references: Sequence[str], tasks: TaskOptions) -> None:
    """Refuse unknown or wrongly configured tasks."""
    for name in map(task_name, references):
        get_task(name)
    for name, options in chosen_tasks(references, tasks).items():
        task_options(name, {name: options})


def expected_sets(
    references: Sequence[str], sets: EvaluationSetOptions, tasks: TaskOptions
) -> dict[str, LocatedSet]:
    """Return the sets that a run will have: files that exist, and those that it makes or downloads."""
    expected = {}
    for name, options in chosen_tasks(references, tasks).items():
        address = str(options["path"])
        if address.startswith(SAMPLE):
            named = (reference.partition(":")[2] for reference in references if task_name(reference) == name)
            expected[name] = LocatedSet(path=sets.folder, subsets=dict.fromkeys(named, ()), sha256={})
            continue
        placed = {name: {**options, "path": str(sets.locate(address))}}
        files = get_task(name).files(task_options(name, placed))
        fetched, missing = fetchable(name) if sets.fetch else set(), {}
        for subset, paths in missing_files(files).items():
            below = (p.relative_to(sets.folder) if p.is_relative_to(sets.folder) else p for p in paths)
            if lacking := tuple(path.as_posix() for path in below if path.as_posix() not in fetched):
                missing[subset] = lacking
        complete = dict.fromkeys(files.keys() - missing, ())
        expected[name] = LocatedSet(path=sets.folder, subsets=complete, sha256={}, missing=missing)
    return expected


def fetchable(task: str) -> set[str]:
    """Return the files of a task, below the evaluation folder, that can be downloaded."""
    sources = read_sources()
    return {file.path for file in sources[task].wanted()} if task in sources else set()


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire_evaluation` for one setting."""
    located = step(locate_evaluation_sets, "evaluation_data", sets="params:acquire_evaluation")
    return namespaced([located], setting, "acquire_evaluation")


def create_baselines_pipeline(settings: Sequence[str]) -> Pipeline:
    """Create `acquire_evaluation` for the baselines, which are scored on the tasks of all settings."""
    given = {name: f"params:{name}.setting" for name in settings}
    sets = "params:acquire_evaluation"
    located = step(locate_baseline_sets, "evaluation_data", sets=sets, **given)
    return namespaced([located], BASELINES, "acquire_evaluation")
