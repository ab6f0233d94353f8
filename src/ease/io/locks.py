"""Locks on files and folders: the system releases them when their process ends, even by a kill.

The package filelock offers neither shared locks nor locks that a child process inherits, hence `flock` itself.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import platform
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from ease.errors import EaseError
from ease.io.files import report_write_errors

logger = logging.getLogger(__name__)

LOCK_FILE = "lock"
"""File in a locked folder that carries the lock and names its holder."""

SCRATCH = ".scratch-"
"""Precedes the machine and a random number in the name of a scratch folder"""
OTHER_MACHINES_SCRATCH = 24 * 3600
"""Seconds without a change after which another machine's scratch folder is abandoned, unless it is locked"""
_MACHINE = platform.node()


class FolderLock(NamedTuple):
    """A lock that this process holds."""

    folder: Path
    descriptor: int
    """A process that inherits this descriptor shares the lock, which then lasts until both have ended"""


def try_lock(file: IO[bytes] | int, *, shared: bool = False, wait: bool = False, without_locks: bool = True) -> bool:
    """Lock an open file, and return whether no other holder prevents it.

    If the file system has no locks, return `without_locks`.
    """
    operation = fcntl.LOCK_EX
    if shared:
        operation = fcntl.LOCK_SH
    if not wait:
        operation |= fcntl.LOCK_NB
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        return False
    except OSError as error:
        # NFS cannot lock what is open for reading; a worker's process would repeat the message.
        if error.errno != errno.EBADF and parent_process() is None:
            _log_once(
                f"The file system has no locks ({error.strerror}): two runs at once, or a removal of data during a "
                "run, are not noticed"
            )
        return without_locks
    return True


# Every lock of a run meets the same file system.
_log_once = cache(logger.warning)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Wait for the exclusive lock of an existing file or folder, and hold it until the block ends.

    File systems without locks for what is open for reading, such as NFS, have no effect.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try_lock(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Wait until no other run writes in a folder, which is created if missing, and keep others from it."""
    with report_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder):
        yield


def lock_data_for_run(data: Path) -> IO[bytes]:
    """Wait for a removal to end, then lock the data folder against others; the lock lasts while the file is open."""
    lock = _open_data_lock(data)
    try_lock(lock, shared=True, wait=True)
    return lock


@contextmanager
def lock_data_for_removal(data: Path) -> Iterator[None]:
    """Lock the data folder against all runs; raises EaseError if one is active."""
    with _open_data_lock(data) as lock:
        if not try_lock(lock):
            raise EaseError(f"A run is active in {data}: wait until it has ended, then repeat the command.")
        yield


def _open_data_lock(data: Path) -> IO[bytes]:
    with report_write_errors(data):
        data.mkdir(parents=True, exist_ok=True)
        with _report_folder(data / ".in_use"):
            return (data / ".in_use").open("ab")


@contextmanager
def _report_folder(path: Path) -> Iterator[None]:
    """Turn the error of a folder in a lock file's place into a readable one."""
    try:
        yield
    except IsADirectoryError as error:
        raise EaseError(f"{path} is a folder where a lock file belongs: move or remove it.") from error


@contextmanager
def folder_lock(folder: Path) -> Iterator[FolderLock]:
    """Lock a folder, made if missing, until the block ends; raises EaseError if another run holds the lock."""
    with report_write_errors(folder), _report_folder(folder / LOCK_FILE):
        lock = _acquire(folder)
    if lock is None:
        # The holder removes its lock file with the folder.
        holder = "which is just ending"
        with suppress(FileNotFoundError):
            holder = (folder / LOCK_FILE).read_text(encoding="utf-8")
        raise EaseError(
            f"Another run is at work in {folder} ({holder}): wait for it or stop it, or choose another folder."
        )
    try:
        yield lock
    finally:
        os.close(lock.descriptor)


def check_unlocked(folder: Path) -> None:
    """Raise EaseError if another run holds the lock of a folder, which need not exist."""
    # A lock would make the folder.
    if (folder / LOCK_FILE).exists():
        with folder_lock(folder):
            pass


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder, or may hold it: on a file system without locks."""
    # Whatever else has the lock's name is not a lock.
    with suppress(FileNotFoundError, IsADirectoryError), (folder / LOCK_FILE).open("rb") as lock:
        return not try_lock(lock, shared=True, without_locks=False)
    return False


@contextmanager
def scratch_folder(parent: Path, name: str) -> Iterator[Path]:
    """Create a new locked folder that no other run uses, and remove it when the block ends.

    `parent` holds the scratch folders of all runs; the folder's name begins with `name`.
    """
    with report_write_errors(parent):
        lock = None
        # Another run may take the new folder for an abandoned one before it is locked.
        while lock is None:
            lock = _acquire(parent / f"{name}{SCRATCH}{_MACHINE}-{uuid.uuid4().hex[:12]}")
    try:
        yield lock.folder
    finally:
        # Removed while it is locked: another run that found it unlocked would also remove it.
        shutil.rmtree(lock.folder, ignore_errors=True)
        os.close(lock.descriptor)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder in the system's folder for temporary files."""
    with TemporaryDirectory(prefix="ease-") as folder:
        yield Path(folder)


def remove_abandoned_scratch(parent: Path) -> None:
    """Remove the scratch folders in `parent` that no process uses: see `is_abandoned_scratch`."""
    for folder in parent.glob(f"*{SCRATCH}*"):
        # OSError: another run has just removed it, or another user owns it.
        with suppress(OSError):
            # A file system without locks would show every folder as abandoned.
            if _is_out_of_use(folder) and (lock := _acquire(folder, without_locks=False)):
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock.descriptor)


def is_abandoned_scratch(folder: Path) -> bool:
    """Return whether a scratch folder is unlocked and, if it belongs to another machine, unchanged for a day."""
    return folder.is_dir() and _is_out_of_use(folder) and not is_locked(folder)


def _is_out_of_use(folder: Path) -> bool:
    """Return whether an unlocked scratch folder counts as abandoned."""
    machine = folder.name.rpartition(SCRATCH)[2].rpartition("-")[0]
    if machine == _MACHINE:
        return True
    # Not every file system shows the locks of other machines. A container is also a machine, of a new name each time.
    newest = max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
    return time.time() - newest > OTHER_MACHINES_SCRATCH


def _acquire(folder: Path, *, without_locks: bool = True) -> FolderLock | None:
    """Lock a folder, or return None if another process, or another part of this one, holds the lock."""
    path = folder / LOCK_FILE
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        # FileNotFoundError: the former holder has just removed the folder.
        with suppress(FileNotFoundError), ExitStack() as unless_kept:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            unless_kept.callback(os.close, descriptor)
            if not try_lock(descriptor, without_locks=without_locks):
                return None
            # The lock counts only if the file still has its name: the former holder may have removed it meanwhile.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"process {os.getpid()} on {_MACHINE}".encode(), 0)
                unless_kept.pop_all()
                return FolderLock(folder, descriptor)
