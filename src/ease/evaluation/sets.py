"""Evaluation sets on disk: which files exist, which are missing or unreadable, and checksums that detect changes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ease.errors import EaseError
from ease.evaluation.scoring import TaskOptions, chosen_tasks, task_name, task_options
from ease.evaluation.tasks import get_task, missing_files, no_set
from ease.io.files import hash_contents
from ease.options import StrictModel

logger = logging.getLogger(__name__)

MOST = 4  # names that a message lists


class LocatedSet(StrictModel):
    """The files of a task's data with their checksums, the missing files and the unreadable subsets."""

    path: Path
    subsets: Mapping[str, tuple[str, ...]]
    """Files of each complete subset, relative to `path`; the file name `""` is `path` itself."""
    sha256: Mapping[str, str]
    """Checksum of each file."""
    missing: Mapping[str, tuple[str, ...]] = {}  # missing files of each incomplete subset
    faults: Mapping[str, str] = {}  # error message of each complete subset that cannot be read

    def version(self, subset: str) -> str:
        """SHA-256 of a subset's data; of all data for another name, such as an average."""
        files = self.subsets.get(subset, tuple(sorted(self.sha256)))
        return hashlib.sha256(" ".join(self.sha256[file] for file in files).encode()).hexdigest()


Located = Mapping[str, LocatedSet]  # located sets by the names of their tasks


def locate_sets(references: Sequence[str], options: TaskOptions) -> dict[str, LocatedSet]:
    """Find and hash the files of the named tasks, and log missing files and where to download them."""
    chosen, located = chosen_tasks(references, options), dict[str, LocatedSet]()
    for name, own in chosen.items():
        files, path = get_task(name).files(task_options(name, chosen)), Path(own["path"])
        lacking = missing_files(files)
        missing = {subset: _below(path, paths) for subset, paths in lacking.items()}
        subsets = {subset: _below(path, paths) for subset, paths in files.items() if subset not in lacking}
        sums = {file: hash_contents(path / file) for file in sorted(set().union(*subsets.values()))}
        located[name] = LocatedSet(path=path, subsets=subsets, sha256=sums, missing=missing)
        if missing:
            what = shortened(sorted(set().union(*missing.values())))
            if len(missing) == len(files) > MOST:
                what = "all files are"  # a few of them would seem to be all that is missing
            logger.warning(
                "Evaluation set %s: %d of %d subsets cannot be scored: %s missing in %s. Get them from %s",
                name,
                len(missing),
                len(files),
                what,
                path,
                get_task(name).SOURCE,
            )
    return located


def _below(path: Path, files: Sequence[Path]) -> tuple[str, ...]:
    """Return names of files below a folder, empty for the path itself; a file elsewhere keeps its complete path."""
    names = (str(file.relative_to(path) if file.is_relative_to(path) else file) for file in files)
    return tuple("" if name == "." else name for name in names)


def read_sets(located: Located, references: Sequence[str], options: TaskOptions) -> dict[str, LocatedSet]:
    """Read every located subset as its task does, and move those that cannot be read to `faults`."""
    chosen, read = chosen_tasks(references, options), {}
    for name, found in located.items():
        task, validated, faults = get_task(name), task_options(name, chosen), dict[str, str]()
        for subset, paths in task.files(validated).items():
            try:
                if subset in found.subsets:
                    task.read(validated, subset, paths)
            except EaseError as error:
                faults[subset] = str(error)
        for fault in dict.fromkeys(faults.values()):
            bad = shortened([subset for subset, own in faults.items() if own == fault])
            logger.warning("Evaluation set %s: %s cannot be scored. %s", name, bad, fault)
        subsets = {subset: files for subset, files in found.subsets.items() if subset not in faults}
        sums = {file: found.sha256[file] for file in sorted(set().union(*subsets.values()))}
        read[name] = found.model_copy(update={"subsets": subsets, "sha256": sums, "faults": faults})
    return read


def shortened(names: Sequence[str]) -> str:
    """List names; of many names, list the first ones and the number of the others."""
    listed = ", ".join(name or "the file" for name in names[:MOST])
    return listed if len(names) <= MOST else f"{listed} and {len(names) - MOST} more"


def at_paths(options: TaskOptions, located: Located) -> dict[str, Mapping[str, Any]]:
    """Return the options of the located tasks with paths and readable subsets; refuse changed or deleted files."""
    placed: dict[str, Mapping[str, Any]] = {}
    for name, found in located.items():
        for file, sha256 in found.sha256.items():
            path = found.path / file
            if not path.exists() or hash_contents(path) != sha256:
                raise EaseError(
                    f"{path} of the evaluation set {name!r} is not what was located: its contents have changed. "
                    "Restore the file, or run the pipeline `acquire_evaluation` again."
                )
        configured = options[name].get("subsets")
        readable = [
            subset
            for subset in (*found.subsets, *found.missing)
            if subset not in found.faults and (configured is None or subset in configured)
        ]
        restricted = found.faults and set(readable) & set(found.subsets)
        subsets = {"subsets": tuple(readable)} if restricted else {}
        placed[name] = {**options[name], "path": str(found.path), **subsets}
    return placed


def require_sets(references: Sequence[str], located: Located, options: TaskOptions) -> None:
    """Require complete, readable data of the development tasks, which select the model."""
    for name, chosen in chosen_tasks(references, options).items():
        wanted, found = chosen.get("subsets"), _found(name, located)
        if fault := next((fault for s, fault in found.faults.items() if not wanted or s in wanted), None):
            raise EaseError(f"The development task {name!r} cannot be scored: {fault}")
        lacking = {f for subset, fs in found.missing.items() if not wanted or subset in wanted for f in fs}
        if lacking:
            raise EaseError(f"The development task {name!r} {_lacks(name, sorted(lacking), found.path, 'dev_tasks')}")


def require_named_set(reference: str, option: str, located: Located) -> None:
    """Require data of a task that the user names by an option; the scoring reports data that cannot be read."""
    name, _, wanted = reference.partition(":")
    found = _found(name, located)
    if not scorable([reference], located) and not found.faults:
        lacking = {f for subset, fs in found.missing.items() if wanted in ("", subset) for f in fs}
        if not lacking:
            raise EaseError(f"`{option}` names {reference}. {no_set(name)}")
        raise EaseError(f"`{option}` names {reference}, which {_lacks(reference, sorted(lacking), found.path, option)}")


def _lacks(reference: str, files: Sequence[str], folder: Path, others: str) -> str:
    source = get_task(task_name(reference)).SOURCE
    return f"lacks {shortened(files)} in {folder}: get them from {source}, or name other `{others}`."


def check_scorable(references: Sequence[str], located: Located) -> None:
    """Require data of at least one of the tasks that score a sweep's variants."""
    if not scorable(references, located):
        raise EaseError(
            f"There are no data of {', '.join(references)}, which are to score the variants: get them, or name others "
            "in `test_tasks`."
        )


def read_located(data: Mapping[str, Any]) -> dict[str, LocatedSet]:
    """Validate located sets that were saved as JSON."""
    return {name: LocatedSet.model_validate(found) for name, found in data.items()}


def scorable(references: Sequence[str], located: Located) -> list[str]:
    """Return the references with at least one subset that can be scored."""
    parts = [(reference, *reference.partition(":")[::2]) for reference in references]
    known = {name: _found(name, located).subsets for _, name, _ in parts}
    return [whole for whole, name, subset in parts if known[name] and subset in ("", *known[name])]


def _found(name: str, located: Located) -> LocatedSet:
    if name not in located:
        raise EaseError(
            f"The evaluation set {name!r} is not located yet: run the pipeline `acquire_evaluation` with the same "
            "--params."
        )
    return located[name]
