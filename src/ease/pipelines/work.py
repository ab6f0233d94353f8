"""Work folders of a run, locked until the run ends: Kedro saves a result only after its node has returned."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from pathlib import Path

from ease.io.atomic import remove_folder
from ease.io.locks import LOCK_FILE, FolderLock, folder_lock, remove_abandoned_scratch, scratch_folder

_held = ExitStack()
_locks: dict[Path, FolderLock] = {}
_finished: list[Path] = []


def lock_for_run(folder: Path) -> FolderLock:
    """Lock until the end of this run a folder that later runs resume from; return the run's lock if it has one."""
    key = folder.absolute()
    if key not in _locks:
        _locks[key] = _held.enter_context(folder_lock(folder))
    return _locks[key]


def remove_after_run(folder: Path) -> None:
    """Remove a folder when this run has succeeded, and so has saved what its nodes returned."""
    _finished.append(folder)


def scratch_for_run(work: str | Path, name: str) -> Path:
    """Create a folder for this run, which is removed when the run ends; remove the folders of killed runs."""
    remove_abandoned_scratch(Path(work))
    return _held.enter_context(scratch_folder(Path(work), name))


def release_work(*, succeeded: bool = False) -> None:
    """Remove the run's scratch folders and, if it has succeeded, its finished ones; release its locks."""
    # After a failed run, what its nodes returned may not be saved: the next run resumes from these folders.
    if succeeded:
        for folder in _finished:
            remove_folder(folder)
    _finished.clear()
    for folder in _locks:
        # Of a step that the run did not reach, or had no need of.
        if folder.is_dir() and [file.name for file in folder.iterdir()] == [LOCK_FILE]:
            remove_folder(folder)
    _locks.clear()
    _held.close()


atexit.register(release_work)
