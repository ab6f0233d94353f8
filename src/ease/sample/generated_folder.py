"""Folders of generated files: named by a hash of their parameters, written atomically, reused if complete."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import babel
from pydantic import BaseModel

from ease.errors import EaseError
from ease.io.atomic import atomic_shared_folder
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import remove_abandoned_scratch
from ease.wikimedia.languages import check_languages

logger = logging.getLogger(__name__)

_MANIFEST = "manifest.json"


def generate_folder(
    parent: Path,
    name: str,
    languages: Sequence[str],
    available: Sequence[str],
    options: BaseModel,
    version: int,
    write: Callable[[Path], None],
) -> Path:
    """Return a folder of generated files; write the files unless a complete folder exists.

    The folder's name ends with a hash of everything that the files depend on. `write` gets an empty folder; `available`
    are the languages that have templates, `version` is that of the generating code.

    Raises:
        EaseError: A language has no templates, or the folder is not writable.
    """
    check_languages(languages)
    if missing := [language for language in languages if language not in available]:
        raise EaseError(
            f"The {name} has no templates for {', '.join(missing)}: choose from {', '.join(available)}, or use your "
            "own dumps."
        )
    content = {"languages": sorted(languages), "options": options.model_dump()}
    key = json.dumps({**content, "babel": babel.__version__}, sort_keys=True)
    digest = hashlib.blake2b(key.encode(), digest_size=6).hexdigest()
    folder = parent / f"{name}-{version}-{digest}"
    if _is_complete(folder):
        logger.debug("The %s in %s is complete", name, folder)
        return folder
    with report_write_errors(parent):
        remove_abandoned_scratch(parent)
        with atomic_shared_folder(folder) as new:
            write(new)
            files = [path for path in sorted(new.rglob("*")) if path.is_file()]
            checksums = {path.relative_to(new).as_posix(): hash_contents(path) for path in files}
            manifest = json.dumps({**content, "checksums": checksums}, indent=2)
            (new / _MANIFEST).write_text(manifest, encoding="utf-8")
            if folder.exists() and not _is_complete(folder):
                shutil.rmtree(folder)
    logger.info("Wrote the %s in %d languages to %s", name, len(languages), folder)
    return folder


def _is_complete(folder: Path) -> bool:
    """Return whether all files have the checksums of the manifest."""
    try:
        checksums = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))["checksums"]
        return all(hash_contents(folder / name) == checksum for name, checksum in checksums.items())
    except (OSError, ValueError, KeyError):
        return False
