"""Nodes of `acquire_evaluation`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import locate_sets, read_sets, scorable
from ease.io.models import StrictModel
from ease.pipelines.acquire.nodes import sample_file
from ease.pipelines.acquire.options import SAMPLE, AcquireOptions
from ease.pipelines.acquire_evaluation.fetching import fetch_evaluation_sets
from ease.pipelines.acquire_evaluation.sources import read_sources
from ease.pipelines.evaluate.options import EvaluateOptions, all_test_tasks
from ease.pipelines.setting import Setting

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
    tasks: dict[str, dict[str, Any]],
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
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    **settings: Setting,
) -> dict[str, Any]:
    """Locate the evaluation sets of the baselines; see `locate_evaluation_sets`."""
    references = evaluate.all_baseline_references(all_test_tasks(*settings.values()))
    return locate(references, acquire, sets, tasks, evaluate.named)


def locate(
    references: Sequence[str],
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: dict[str, dict[str, Any]],
    named: Sequence[str] = (),
) -> dict[str, Any]:
    """Locate and read the files of tasks, after downloading missing ones if `fetch` is set; return them as JSON.

    A failed download of a task that the user has `named` is a fault, which fails the run once all else is scored.
    """
    failed: dict[str, dict[str, str]] = {}
    if sets.fetch:
        names = list(dict.fromkeys(map(task_name, references)))
        failed = fetch_evaluation_sets(names, read_sources(), sets.folder, acquire.download)
    options = dict(tasks)
    for name in dict.fromkeys(map(task_name, references)):
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
