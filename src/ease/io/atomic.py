"""Atomic writes: a file or folder gets its name when it is complete and on disk."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ease.io.addresses import is_remote, upload
from ease.io.files import report_write_errors
from ease.io.locks import file_lock, remove_abandoned_scratch, scratch_folder, temporary_folder


@contextmanager
def atomic_path(target: Path, flush: bool = True) -> Iterator[Path]:
    """Yield a free path to write a file or a folder to, and rename the result to `target` when the block ends.

    An older file or folder is replaced; if the block fails, it stays. Of two processes, the last one's result is kept.
    What a killed process has left is removed by the next one that writes there. A file for a remote target is written
    on this machine and uploaded. Without `flush`, a power failure may leave the target incomplete until
    `flush_to_disk` is called.
    """
    if is_remote(target):
        with temporary_folder() as folder:
            yield folder / target.name
            upload(folder / target.name, target)
        return
    with report_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        finish_replacement(target)
        remove_abandoned_scratch(target.parent)
        with scratch_folder(target.parent, f".{target.name}") as scratch:
            partial = scratch / target.name
            yield partial
            if flush:
                flush_to_disk(partial)
            if not partial.is_dir():
                os.replace(partial, target)
                return
            # A system cannot replace a folder that has contents: move the old one aside first.
            with file_lock(target.parent):
                # Left by a process killed after this one began.
                _restore(target)
                if os.path.lexists(target):
                    os.replace(target, _old(target))
                os.replace(partial, target)
                _restore(target)


def finish_replacement(target: Path) -> None:
    """Finish the replacement of a folder that a kill has interrupted."""
    if os.path.lexists(_old(target)):
        with file_lock(target.parent):
            _restore(target)


def _restore(target: Path) -> None:
    """Put the old folder back if the new one is not there yet, else remove the old one."""
    old = _old(target)
    if os.path.lexists(old) and not os.path.lexists(target):
        os.replace(old, target)
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink(missing_ok=True)


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder that replaces `target` when the block ends, as `atomic_path` does."""
    with atomic_path(target) as folder:
        folder.mkdir()
        yield folder


@contextmanager
def atomic_shared_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder that becomes `target`, unless another process that writes the same content was faster."""
    with scratch_folder(target.parent, f".{target.name}") as scratch:
        folder = scratch / target.name
        folder.mkdir()
        yield folder
        with report_write_errors(target.parent):
            flush_to_disk(folder)
            try:
                folder.replace(target)
            except OSError:
                # The faster process has written the same content.
                if not target.is_dir():
                    raise


def write_text_atomically(target: Path, text: str) -> None:
    """Write a text file in UTF-8, local or remote."""
    with atomic_path(target) as partial:
        partial.write_text(text, encoding="utf-8")


def remove_folder(folder: Path) -> None:
    """Remove a folder so that a kill cannot leave a part of it under its name."""
    doomed = folder.with_name(f".{folder.name}.removed")
    shutil.rmtree(doomed, ignore_errors=True)
    if folder.exists():
        os.replace(folder, doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def flush_to_disk(path: Path) -> None:
    """Prepare a file, or a folder with its contents, for its rename: set permissions by the umask and call fsync.

    Some libraries write files that only their owner may read. Without fsync, a power failure could leave the new name
    without its content.
    """
    folder = path.parent
    contents: list[Path] = []
    if path.is_dir():
        folder = path
        contents = list(path.rglob("*"))
    # What the umask, or the folder's access list, gives to a new file.
    probe = folder / f".{uuid.uuid4().hex}"
    probe.touch()
    permissions = probe.stat().st_mode & 0o666
    probe.unlink()
    # The folder last: its entries are on disk only when it is flushed itself.
    for part in (*contents, path):
        if part.is_file() and part.stat().st_mode & permissions != permissions:
            part.chmod(part.stat().st_mode | permissions)
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
