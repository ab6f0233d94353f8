"""Nodes of `acquire_evaluation`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.disk import hash_contents
from ease.errors import EaseError
from ease.pipelines.acquire.nodes import SAMPLE, AcquireOptions, make_sample
from ease.pipelines.setting import Setting
from ease.scoring import task_name


def locate_evaluation_sets(
    options: AcquireOptions, tasks: dict[str, dict[str, Any]], setting: Setting
) -> dict[str, dict[str, str]]:
    """Find the file of each task that the setting uses, and take its checksum.

    Args:
        options: Where the sample wiki lies, whose kept-out sentences are the sets at `sample:`.
        tasks: Each task's options; `path` is the set's address: a file or folder, `sample:parallel` or `sample:graded`.
        setting: Whose tasks to look for.

    Raises:
        EaseError: If a task is not configured or its file does not exist.
    """
    located = {}
    for name in dict.fromkeys(map(task_name, (*setting.dev_tasks, *setting.test_tasks))):
        if "path" not in tasks.get(name, {}):
            raise EaseError(
                f"`{setting.name}` uses the task {name!r}, but `tasks.{name}.path` is not configured."
            )
        path = _locate(str(tasks[name]["path"]), options)
        if not path.exists():
            raise EaseError(f"{path}: no such file or folder; set `tasks.{name}.path` to the evaluation set.")
        located[name] = {"path": str(path), "sha256": hash_contents(path)}
    return located


def _locate(address: str, options: AcquireOptions) -> Path:
    if not address.startswith(SAMPLE):
        return Path(address)
    name = address.removeprefix(SAMPLE)
    if name not in ("parallel", "graded"):
        raise EaseError(f"{address}: the sample has the evaluation sets sample:parallel and sample:graded.")
    return Path(getattr(make_sample(options), name))
