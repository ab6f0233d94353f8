"""The evaluation sets that tasks read: found, missing, and unchanged since they were found."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from ease.errors import EaseError
from ease.evaluation.scoring import TaskOptions, chosen_tasks, reading_fault, task_options
from ease.evaluation.tasks import get_task, missing_files
from ease.io.files import hash_contents

logger = logging.getLogger(__name__)


class LocatedSet(BaseModel):
    """Where a task's data lie, what they were when they were located, and what is missing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    subsets: Mapping[str, tuple[str, ...]]
    """The files of each subset that is there, below `path`; `""` is `path` itself."""
    sha256: Mapping[str, str]
    """Of each file."""
    missing: Mapping[str, tuple[str, ...]] = {}
    """The files that the other subsets lack."""
    faults: Mapping[str, str] = {}
    """What is wrong with those subsets whose files are there but cannot be read."""

    def version(self, subset: str) -> str:
        """SHA-256 of a subset's data; of all subsets' for an average."""
        files = self.subsets.get(subset, tuple(sorted(self.sha256)))
        return hashlib.sha256(" ".join(self.sha256[file] for file in files).encode()).hexdigest()


Located = Mapping[str, LocatedSet]
"""Each task's set by the task's name."""


def locate_sets(references: Sequence[str], options: TaskOptions) -> dict[str, LocatedSet]:
    """Find the files of the tasks that are named, take their checksums, and list what is missing.

    Args:
        references: Tasks, or single subsets of them, such as `stsb` or `stsb:test`.
        options: By task; their paths are those of files and folders.

    Raises:
        EaseError: If a task is unknown or wrongly configured.
    """
    chosen = chosen_tasks(references, options)
    located = {name: _locate(name, chosen) for name in chosen}
    _tell_missing(located)
    return located


def _locate(name: str, options: TaskOptions) -> LocatedSet:
    task, validated = get_task(name), task_options(name, options)
    files, path = task.files(validated), Path(options[name]["path"])

    def below(paths: Sequence[Path]) -> tuple[str, ...]:
        return tuple("" if file == path else os.path.relpath(file, path) for file in paths)

    missing = missing_files(files)
    there = {subset: below(paths) for subset, paths in files.items() if subset not in missing}
    sums = {file: hash_contents(path / file) for file in sorted({f for fs in there.values() for f in fs})}
    lacking = {subset: below(paths) for subset, paths in missing.items()}
    return LocatedSet(path=path, subsets=there, sha256=sums, missing=lacking)


def _tell_missing(located: Located) -> None:
    """Say what to fetch, and from where."""
    for name, found in located.items():
        files = sorted({file for files in found.missing.values() for file in files})
        if files:
            share = f"{len(found.missing)} of {len(found.missing) + len(found.subsets)} subsets"
            logger.warning(
                "Evaluation set %s: %s cannot be scored, for want of %s in %s. Fetch them from %s",
                *(name, share, shortened(files), found.path, get_task(name).SOURCE),
            )


def read_sets(located: Located, references: Sequence[str], options: TaskOptions) -> dict[str, LocatedSet]:
    """Read every located subset as its task does, and set those apart that cannot be read.

    Args:
        located: As `locate_sets` found them.
        references: The tasks, as `locate_sets` was given them.
        options: By task.
    """
    chosen = chosen_tasks(references, options)
    return {name: _readable(name, found, task_options(name, chosen)) for name, found in located.items()}


def _readable(name: str, found: LocatedSet, options: BaseModel) -> LocatedSet:
    read = {subset: reading_fault(name, options, subset) for subset in found.subsets}
    faults = {subset: fault for subset, fault in read.items() if fault}
    for fault in dict.fromkeys(faults.values()):
        bad = [subset for subset, own in faults.items() if own == fault]
        logger.warning("Evaluation set %s: %s cannot be scored. %s", name, shortened(bad), fault)
    subsets = {subset: files for subset, files in found.subsets.items() if subset not in faults}
    kept = {file for files in subsets.values() for file in files}
    sums = {file: sha256 for file, sha256 in found.sha256.items() if file in kept}
    return found.model_copy(update={"subsets": subsets, "sha256": sums, "faults": faults})


def shortened(names: Sequence[str], most: int = 4) -> str:
    """List names, or the first of them and how many more."""
    listed = ", ".join(name or "the file" for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"


def at_paths(options: TaskOptions, located: Located) -> dict[str, Mapping[str, Any]]:
    """Return the options of the tasks whose data were located, with their addresses replaced by the paths.

    Raises:
        EaseError: If something else lies there now.
    """
    for name, found in located.items():
        for file, sha256 in found.sha256.items():
            path = found.path / file
            if not path.exists() or hash_contents(path) != sha256:
                raise EaseError(
                    f"{path} of the evaluation set {name!r} is not what was located: its contents have changed. Put "
                    "the old ones back, or run the pipeline `acquire_evaluation` again."
                )
    return {name: _at_path(options[name], found) for name, found in located.items()}


def _at_path(options: Mapping[str, Any], found: LocatedSet) -> dict[str, Any]:
    """Put the path into a task's options, and leave only the subsets that can be read."""
    configured = options.get("subsets")
    readable = tuple(subset for subset in found.subsets if configured is None or subset in configured)
    restricted = {"subsets": readable} if found.faults and readable else {}
    return {**options, "path": str(found.path), **restricted}


def require_sets(references: Sequence[str], located: Located, options: TaskOptions) -> None:
    """Refuse to begin without the data that choose the model.

    Raises:
        EaseError: Naming the task, the files and where to fetch them, or what is wrong with them.
    """
    for name, chosen in chosen_tasks(references, options).items():
        wanted = chosen.get("subsets")
        lacking, faults = _found(name, located).missing, located[name].faults
        if fault := next((fault for s, fault in faults.items() if not wanted or s in wanted), None):
            raise EaseError(f"The development task {name!r} cannot be scored: {fault}")
        files = sorted({f for subset, fs in lacking.items() if not wanted or subset in wanted for f in fs})
        if files:
            raise EaseError(development_fault(name, files, located[name].path))


def development_fault(name: str, files: Sequence[str], folder: Path, offer: str = "") -> str:
    """Return the message about a development task that lacks files.

    Args:
        name: The task.
        files: What it lacks, below the folder.
        folder: Where the files belong.
        offer: Another way to get them.
    """
    ways = [
        f"get them from {get_task(name).SOURCE}",
        *([offer] if offer else []),
        "or name other `dev_tasks`",
    ]
    return f"The development task {name!r} lacks {shortened(files)} in {folder}: {', '.join(ways)}."


def check_scorable(references: Sequence[str], located: Located) -> None:
    """Refuse to train what nothing would tell apart.

    Raises:
        EaseError: If no data are there of any of the tasks.
    """
    if not scorable(references, located):
        raise EaseError(unscorable_fault(references))


def unscorable_fault(references: Sequence[str], offer: str = "") -> str:
    """Return the message about tasks of which no data are there."""
    ways = ", or ".join(["get them", *([offer] if offer else []), "name others in `tasks`"])
    return f"No data are there of {', '.join(references)}, which score the variants: {ways}."


def read_located(data: Mapping[str, Any]) -> dict[str, LocatedSet]:
    """Read located sets as JSON keeps them."""
    return {name: LocatedSet.model_validate(found) for name, found in data.items()}


def scorable(references: Sequence[str], located: Located) -> list[str]:
    """Return the references of whose task, or subset, there is something to score."""
    kept = []
    for reference in references:
        name, _, subset = reference.partition(":")
        subsets = _found(name, located).subsets
        if subsets and (not subset or subset in subsets):
            kept.append(reference)
    return kept


def _found(name: str, located: Located) -> LocatedSet:
    if name not in located:
        raise EaseError(
            f"The evaluation set {name!r} is not located yet: run the pipeline `acquire_evaluation` again."
        )
    return located[name]
