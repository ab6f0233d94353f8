"""Files and folders on disk: hashed, written whole or not at all, with faults told in words."""

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


def flush(path: Path) -> None:
    """Wait until a file, or a folder with all that it holds, is on disk: a rename cannot outrun the content then."""
    for part in (*(path.rglob("*") if path.is_dir() else ()), path):
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def hash_contents(path: Path) -> str:
    """SHA-256 of a file, or of a folder's files with their names."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listed = [f"{file.relative_to(path).as_posix()} {hash_contents(file)}" for file in files]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def write_text_whole(path: Path, text: str) -> None:
    """Write a text file aside and rename it.

    Raises:
        EaseError: If it cannot be written.
    """
    aside = path.with_name(f".{path.name}.part")
    with write_faults_named(path):
        aside.write_text(text, encoding="utf-8")
        flush(aside)
        os.replace(aside, path)


@contextmanager
def folder_written_whole(folder: Path) -> Iterator[Path]:
    """Give a folder that gets its final name, and replaces an older one, when all is on disk.

    Raises:
        EaseError: If it cannot be written.
    """
    aside = folder.with_name(f".{folder.name}.part")
    with write_faults_named(folder):
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        yield aside
        flush(aside)
        remove_folder(folder)
        os.replace(aside, folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder in such a way that a kill leaves nothing of it under its name."""
    doomed = folder.with_name(f".{folder.name}.removed")
    shutil.rmtree(doomed, ignore_errors=True)
    if folder.exists():
        os.replace(folder, doomed)
        shutil.rmtree(doomed, ignore_errors=True)


@contextmanager
def write_faults_named(place: Path) -> Iterator[None]:
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
