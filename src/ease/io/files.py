"""Hashes of files and folders, checks before writing, and readable errors of writing."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from ease.errors import EaseError

_WRITE_FAULTS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG),
}


def hash_contents(path: Path) -> str:
    """SHA-256 of a file, or of a folder's files with their names."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listed = [f"{file.relative_to(path).as_posix()} {hash_contents(file)}" for file in files]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


@contextmanager
def report_write_errors(place: Path) -> Iterator[None]:
    """Turn a full disk or a missing permission into a message.

    Raises:
        EaseError: With the place, the system's words and what to do.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        if isinstance(error, OSError) and error.errno not in _WRITE_FAULTS:
            raise
        fault = error.strerror if isinstance(error, OSError) else error
        raise EaseError(
            f"Cannot write to {place} ({fault}): make room there, or choose a folder that you may write to. "
            "What was finished is kept: the same command then goes on from it."
        ) from error


def check_writable(place: Path) -> None:
    """Check that a folder may be made or written to, without making it.

    Raises:
        EaseError: Naming what is in the way.
    """
    there = _nearest(place)
    number = (
        errno.ENOTDIR if not there.is_dir() else 0 if os.access(there, os.W_OK | os.X_OK) else errno.EACCES
    )
    if number:
        raise EaseError(
            f"Cannot write to {there} ({os.strerror(number)}): choose a folder that you may write to."
        )


def check_free_space(folder: Path, needed: int) -> None:
    """Check that a disk has room.

    Args:
        folder: On that disk; need not exist yet.
        needed: Bytes.

    Raises:
        EaseError: Naming both sizes.
    """
    free = shutil.disk_usage(_nearest(folder)).free
    if free < needed:
        raise EaseError(
            f"The disk of {folder} has {free / 1e9:.1f} GB free, and this run needs about {needed / 1e9:.1f} GB: make "
            "room there, or set `data` in conf/local/globals.yml to a folder on another disk."
        )


def _nearest(place: Path) -> Path:
    """Return the path itself, or the innermost folder around it that exists."""
    return next(path for path in (place, *place.absolute().parents) if path.exists())
