"""Evaluation sets on disk: which files exist, which are missing or unreadable, and checksums that detect changes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.evaluation.scoring import configured_subsets, select_parameters
from ease.evaluation.tasks import TaskParameters, build_task
from ease.evaluation.tasks.base import Task, missing_files, no_set
from ease.io.files import hash_contents
from ease.options import StrictModel

logger = logging.getLogger(__name__)

MOST_NAMES = 4
"""Names that a message lists"""


class LocatedSet(StrictModel):
    """The files of a task's data with their checksums, the missing files and the unreadable subsets."""

    path: Path
    subsets: Mapping[str, tuple[str, ...]]
    """Files of each complete subset, relative to `path`; the file name `""` is `path` itself."""
    sha256: Mapping[str, str]
    """Checksum of each file."""
    missing: Mapping[str, tuple[str, ...]] = {}
    """Missing files of each incomplete subset."""
    faults: Mapping[str, str] = {}
    """Error message of each complete subset that cannot be read."""
    source: str = "their publisher"
    """Where the files are published."""
    address: str = ""
    """The task's `path` when the set was located; empty if an earlier version located it."""

    def version(self, subset: str) -> str:
        """SHA-256 of a subset's data; of all data for another name, such as an average."""
        files = self.subsets.get(subset, tuple(sorted(self.sha256)))
        return hashlib.sha256(" ".join(self.sha256[file] for file in files).encode()).hexdigest()


LocatedSets = Mapping[str, LocatedSet]
"""Located sets by the names of their tasks"""


def locate_sets(tasks: Mapping[str, Task]) -> dict[str, LocatedSet]:
    """Find and hash the files of tasks, and log missing files and where to download them."""
    located: dict[str, LocatedSet] = {}
    for name, task in tasks.items():
        files = task.files()
        path = task.options.path
        source = task.options.source
        incomplete = missing_files(files)
        missing = {subset: _below(path, paths) for subset, paths in incomplete.items()}
        subsets = {subset: _below(path, paths) for subset, paths in files.items() if subset not in incomplete}
        sums = {file: hash_contents(path / file) for file in sorted(set().union(*subsets.values()))}
        located[name] = LocatedSet(path=path, subsets=subsets, sha256=sums, missing=missing, source=source)
        if missing:
            what = shortened(sorted(set().union(*missing.values())))
            if len(missing) == len(files) > MOST_NAMES:
                # The names of a few would suggest that the others exist.
                what = "all files are"
            logger.warning(
                "Evaluation set %s: %d of %d subsets cannot be scored: %s missing in %s. Get them from %s",
                name,
                len(missing),
                len(files),
                what,
                path,
                source,
            )
    return located


def _below(path: Path, files: Sequence[Path]) -> tuple[str, ...]:
    """Return names of files below a folder, empty for the path itself; a file elsewhere keeps its complete path."""
    names = []
    for file in files:
        if file == path:
            names.append("")
        elif file.is_relative_to(path):
            names.append(str(file.relative_to(path)))
        else:
            names.append(str(file))
    return tuple(names)


def read_sets(located: LocatedSets, tasks: Mapping[str, Task]) -> dict[str, LocatedSet]:
    """Read every located subset as its task does, and move those that cannot be read to `faults`."""
    return {name: _without_faults(located_set, tasks[name]) for name, located_set in located.items()}


def _without_faults(located: LocatedSet, task: Task) -> LocatedSet:
    faults: dict[str, str] = {}
    for subset, paths in task.files().items():
        try:
            if subset in located.subsets:
                task.read(subset, paths)
        except EaseError as error:
            faults[subset] = str(error)
    # One damaged file may serve many subsets: one warning for each fault.
    for fault in dict.fromkeys(faults.values()):
        subsets = [subset for subset, message in faults.items() if message == fault]
        logger.warning("Evaluation set %s: %s cannot be scored. %s", task.name, shortened(subsets), fault)
    readable = {subset: files for subset, files in located.subsets.items() if subset not in faults}
    sums = {file: located.sha256[file] for file in sorted(set().union(*readable.values()))}
    return located.model_copy(update={"subsets": readable, "sha256": sums, "faults": faults})


def shortened(names: Sequence[str]) -> str:
    """List names; of many names, list the first ones and the number of the others."""
    first = ", ".join(name or "the file" for name in names[:MOST_NAMES])
    if len(names) <= MOST_NAMES:
        return first
    return f"{first} and {len(names) - MOST_NAMES} more"


def located_parameters(tasks: TaskParameters, located: LocatedSets) -> dict[str, dict[str, Any]]:
    """Return the parameters of the located tasks with paths and readable subsets; refuse changed or deleted files."""
    parameters: dict[str, dict[str, Any]] = {}
    for name, located_set in located.items():
        if name not in tasks:
            # An earlier run located it, and the project's configuration has changed since.
            continue
        check_address(name, tasks[name], located_set)
        _check_unchanged(name, located_set)
        parameters[name] = {**tasks[name], "path": str(located_set.path)}
        configured = configured_subsets(tasks[name])
        readable = [
            subset
            for subset in (*located_set.subsets, *located_set.missing)
            if subset not in located_set.faults and (configured is None or subset in configured)
        ]
        # Without a fault, the subsets stay as configured, by which scores and training runs are identified.
        if located_set.faults and set(readable) & set(located_set.subsets):
            parameters[name]["subsets"] = tuple(readable)
    return parameters


def check_address(name: str, parameters: Mapping[str, Any], located: LocatedSet) -> None:
    """Refuse parameters that name other files than those located: the old files would be scored."""
    address = str(parameters.get("path", ""))
    difference = ""
    if located.address and address != located.address:
        difference = f"`tasks.{name}.path` is {address}, and its set was located at {located.address}"
    elif "kind" in parameters:
        files = build_task(name, {**parameters, "path": str(located.path)}).files()
        changed = [
            subset
            for subset, paths in files.items()
            if subset in located.subsets and _below(located.path, paths) != located.subsets[subset]
        ]
        if changed:
            difference = f"`tasks.{name}` names other files of {shortened(changed)} than those located"
    if difference:
        raise EaseError(
            f"{difference}. This run does not locate sets: first run the pipeline `acquire_evaluation` with the same "
            "--params."
        )


def _check_unchanged(name: str, located: LocatedSet) -> None:
    # Scores are cached by the recorded checksums, which must therefore be those of the files to be read.
    for file, sha256 in located.sha256.items():
        path = located.path / file
        if not path.exists() or hash_contents(path) != sha256:
            raise EaseError(
                f"{path} of the evaluation set {name!r} is not what was located: its contents have changed. "
                "Restore the file, or run the pipeline `acquire_evaluation` again."
            )


def require_sets(references: Sequence[str], located: LocatedSets, tasks: TaskParameters) -> None:
    """Require complete, readable data of the development tasks, which select the model."""
    for name, parameters in select_parameters(references, tasks).items():
        subsets = configured_subsets(parameters)
        located_set = _located(name, located)
        # Only subsets that are scored must be there: a set may be incomplete otherwise.
        faults = [fault for subset, fault in located_set.faults.items() if subsets is None or subset in subsets]
        if faults:
            raise EaseError(f"The development task {name!r} cannot be scored: {faults[0]}")
        incomplete = [files for subset, files in located_set.missing.items() if subsets is None or subset in subsets]
        missing = sorted(set().union(*incomplete))
        if missing:
            raise EaseError(f"The development task {name!r} {_lacks(missing, located_set, 'dev_tasks')}")


def require_named_set(reference: str, option: str, located: LocatedSets) -> None:
    """Require data of a task that the user names by an option; the scoring reports data that cannot be read."""
    name, _, named_subset = reference.partition(":")
    located_set = _located(name, located)
    if scorable([reference], located) or located_set.faults:
        return
    incomplete = [files for subset, files in located_set.missing.items() if named_subset in ("", subset)]
    missing = sorted(set().union(*incomplete))
    if not missing:
        raise EaseError(f"`{option}` names {reference}. {no_set(name)}")
    raise EaseError(f"`{option}` names {reference}, which {_lacks(missing, located_set, option)}")


def _lacks(files: Sequence[str], located: LocatedSet, option: str) -> str:
    return f"lacks {shortened(files)} in {located.path}: get them from {located.source}, or name other `{option}`."


def check_scorable(references: Sequence[str], located: LocatedSets) -> None:
    """Require data of at least one of the tasks that score a sweep's variants."""
    if not scorable(references, located):
        raise EaseError(
            f"There are no data of {', '.join(references)}, which are to score the variants: get them, or name others "
            "in `test_tasks`."
        )


def read_located(data: Mapping[str, Any]) -> dict[str, LocatedSet]:
    """Validate located sets that were saved as JSON."""
    return {name: LocatedSet.model_validate(values) for name, values in data.items()}


def scorable(references: Sequence[str], located: LocatedSets) -> list[str]:
    """Return the references with at least one subset that can be scored."""
    with_data = []
    for reference in references:
        name, _, subset = reference.partition(":")
        subsets = _located(name, located).subsets
        if subsets and subset in ("", *subsets):
            with_data.append(reference)
    return with_data


def _located(name: str, located: LocatedSets) -> LocatedSet:
    if name not in located:
        raise EaseError(
            f"The evaluation set {name!r} is not located yet: run the pipeline `acquire_evaluation` with the same "
            "--params."
        )
    return located[name]
