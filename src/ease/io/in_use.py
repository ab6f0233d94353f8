"""A lock on the data folder, shared by runs and held alone by what removes data."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ease.errors import EaseError
from ease.io.files import write_faults_named

_LOCK = ".in_use"


def shared(data: Path) -> IO[bytes]:
    """Lock the folder for one of several runs, after a removal has ended; the lock lasts while the file is open.

    Raises:
        EaseError: If the folder cannot be written.
    """
    lock = _open(data)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


@contextmanager
def exclusive(data: Path) -> Iterator[None]:
    """Lock the folder against all runs.

    Raises:
        EaseError: If a run is at work, or the folder cannot be written.
    """
    with _open(data) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise EaseError(
                f"A run is at work in {data}: wait until it has ended, then repeat the command."
            ) from error
        yield


def _open(data: Path) -> IO[bytes]:
    with write_faults_named(data):
        data.mkdir(parents=True, exist_ok=True)
        return (data / _LOCK).open("ab")
