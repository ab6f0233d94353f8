"""Tasks of the package with other files and options, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.evaluation.tasks import build_task, package_tasks


def task_parameters(name: str, path: Path | str, **changes: Any) -> dict[str, Any]:
    """Return the parameters of a task of the package with changes; without `subsets`, of all its subsets."""
    parameters = package_tasks({name: {"path": path, **changes}})[name]
    if "subsets" not in changes:
        parameters.pop("subsets", None)
    return parameters


def make_task(name: str, path: Path, **changes: Any) -> Any:
    """Return a task of the package with changed parameters."""
    return build_task(name, task_parameters(name, path, **changes))
