"""Files of a project and beside the code, hashes, checks of disks, and readable errors of writing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from safetensors import SafetensorError

from ease.errors import EaseError

GLOBALS = "conf/base/globals.yml"
# Errors of the disk, whichever file they name, and errors that depend on the path.
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_PATH_ERRORS = {errno.EACCES, errno.EPERM, errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG}


def read_data_file(package: str, name: str) -> Any:
    """Return the content of a YAML file in a package, such as `ease.wikimedia` and `languages.yml`."""
    return read_yaml(files(package).joinpath(name).read_bytes())


def read_yaml(content: bytes) -> Any:
    """Return YAML's values, by libyaml where PyYAML has it."""
    # PyYAML's loader in Python is several times slower, and every start reads YAML.
    return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def read_globals(project: Path) -> dict[str, Any]:
    """Return the globals of a project's environments `base` and `local`."""
    if not (project / GLOBALS).is_file():
        raise EaseError(f"{project} has no {GLOBALS}: run this command in the project's folder.")
    values: dict[str, Any] = {}
    for environment in ("base", "local"):
        file = project / "conf" / environment / "globals.yml"
        if file.is_file():
            try:
                values |= yaml.safe_load(file.read_text(encoding="utf-8")) or {}
            except (yaml.YAMLError, UnicodeError) as error:
                raise EaseError(explain_yaml_error(file, error)) from None
    return values


def explain_yaml_error(file: Path, error: Exception) -> str:
    """Return one line on what is wrong in a YAML file; a tab has no visible sign in the parser's words."""
    message = f"{file}: {' '.join(str(error).split())}"
    if re.search(r"^[ \t]*\t", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
        message += ". A line begins with a tab, which YAML does not allow: indent by blanks"
    return message


def make_or(goal: str, command: str, project: Path = Path()) -> str:
    """Return `make GOAL` for a checkout, or its command for a project without a Makefile."""
    if (project / "Makefile").is_file():
        return f"make {goal}"
    return command


def read_json(file: Path) -> Any:
    """Return the content of a JSON file; None if the file is missing or broken."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def hash_contents(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder's files with their names."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    # Sorted, since file systems list a folder in different orders.
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    lines = [f"{file.relative_to(path).as_posix()} {hash_contents(file)}" for file in inside]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@contextmanager
def report_write_errors(place: Path) -> Iterator[None]:
    """Turn a full disk or a missing permission into a readable error; errors of other files are left to the caller."""
    try:
        yield
    except Exception as error:
        fault = _fault_of_writing(error, place)
        if fault is None:
            raise
        raise EaseError(
            f"Cannot write to {place} ({fault}): make room there, or choose a folder that you may write to. "
            "Finished work is kept: run the same command again to resume."
        ) from error


def _fault_of_writing(error: Exception, place: Path) -> str | None:
    """Return the message of an error of the disk, or one that names the place, a folder above, or a file beside it."""
    if isinstance(error, OSError) and error.errno is not None:
        names_folder_above = error.filename is not None and place.is_relative_to(error.filename)
        names_place = names_folder_above or str(place.parent) in str(error)
        if error.errno in _DISK_ERRORS or (error.errno in _PATH_ERRORS and names_place):
            return error.strerror
        return None
    if isinstance(error, SafetensorError):
        # Its other errors are of reading a broken file.
        if "while serializing" in str(error):
            return str(error)
        return None
    # `shutil.copytree` joins the errors of its files; the library tokenizers raises a plain exception.
    if isinstance(error, shutil.Error) or type(error) is Exception:
        return next((words for words in map(os.strerror, sorted(_DISK_ERRORS)) if words in str(error)), None)
    return None


def check_writable(folder: Path) -> None:
    """Check that a folder can be created or written to, without creating it."""
    existing = _innermost_existing(folder)
    if not existing.is_dir():
        code = errno.ENOTDIR
    elif not os.access(existing, os.W_OK | os.X_OK):
        code = errno.EACCES
    else:
        return
    raise EaseError(f"Cannot write to {existing} ({os.strerror(code)}): choose a folder that you may write to.")


def free_space(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, which need not exist yet."""
    return shutil.disk_usage(_innermost_existing(folder)).free


def check_free_space(folder: Path, needed: int) -> None:
    """Check that the disk of a folder, which need not exist yet, has as many bytes free as needed."""
    free = free_space(folder)
    if free < needed:
        raise EaseError(
            f"The disk of {folder} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed: make room "
            "there, or choose a folder on another disk (`data` in conf/local/globals.yml)."
        )


def _innermost_existing(path: Path) -> Path:
    return next(place for place in (path, *path.absolute().parents) if place.exists())
