"""Writing files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from ease.errors import EaseError

WRITE_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """Give a folder that gets its final name, and replaces an older one, when all is on disk."""
    aside = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    yield aside
    for path in [*aside.rglob("*"), aside]:
        _flush(path)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(aside, folder)
    _flush(folder.parent)


def write_text_whole(path: Path, text: str) -> None:
    """Write a text file aside and rename it."""
    aside = path.with_name(f".{path.name}.part")
    aside.write_text(text, encoding="utf-8")
    _flush(aside)
    os.replace(aside, path)


@contextmanager
def write_faults_named(folder: Path) -> Iterator[None]:
    """Turn a full disk or a missing permission into a message.

    Raises:
        EaseError: With the system's words and what to do.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        if isinstance(error, OSError) and error.errno not in WRITE_FAULTS:
            raise
        raise EaseError(
            f"{folder}: writing failed ({error}); make room, mend its permissions or choose another folder; "
            "then run the same command again; it goes on from the last checkpoint, if there is one."
        ) from error


def _flush(path: Path) -> None:
    """Wait until a file or a folder's entries are on disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
