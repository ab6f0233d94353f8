"""Work folders of a run, locked until the run ends: Kedro saves a result only after its node has returned."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from pathlib import Path

from ease.io.locks import FolderLock, folder_lock, remove_abandoned_scratch, scratch_folder

_held = ExitStack()


def lock_for_run(folder: Path) -> FolderLock:
    """Lock until the end of this run a folder that later runs resume from.

    Raises:
        EaseError: If another run holds the lock, or the folder cannot be written.
    """
    return _held.enter_context(folder_lock(folder))


def scratch_for_run(work: str | Path, name: str) -> Path:
    """Create a folder for this run, which is removed when the run ends; remove the folders of killed runs."""
    remove_abandoned_scratch(Path(work))
    return _held.enter_context(scratch_folder(Path(work), name))


def release_work() -> None:
    """Remove the run's scratch folders and release its locks."""
    _held.close()


atexit.register(release_work)
