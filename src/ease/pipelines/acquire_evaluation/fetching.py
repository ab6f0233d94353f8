"""Download evaluation sets from their publishers, as single files or as members of archives."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ease.errors import EaseError
from ease.io.archives import unpack
from ease.io.atomic import write_text_atomically
from ease.io.downloads import Client, DownloadOptions, RemoteFile, download_all
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import remove_abandoned_scratch, scratch_folder, writing
from ease.io.models import StrictModel
from ease.pipelines.acquire_evaluation.sources import Source

logger = logging.getLogger(__name__)

SUMS = "SHA256SUMS"
"""File of the checksums of downloaded files, in the evaluation folder, in the format of `sha256sum`."""

_ARCHIVES = ".archives"
_CHANGED = (
    "is not the published file (sha256 {found}, not {expected}): move it away to have it fetched, or keep it"
)


class FetchedSet(StrictModel):
    """The downloaded, present and failed files of a task, by their paths below the evaluation folder."""

    licence: str
    fetched: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    failed: Mapping[str, str] = {}
    """With the reasons."""


class WantedFile(NamedTuple):
    """One file of a task: its path below the evaluation folder, and where it is published."""

    path: str
    sha256: str | None
    url: str
    member: str = ""
    most_bytes: int = 0


def fetch_evaluation_sets(
    tasks: Sequence[str], sources: Mapping[str, Source], folder: Path, options: DownloadOptions
) -> dict[str, FetchedSet]:
    """Download missing files of tasks; a failed download does not stop the others.

    Existing files stay untouched. A file without a known checksum is recorded in SHA256SUMS when first seen, and
    compared with that checksum afterwards.

    Args:
        tasks: Names of tasks; tasks without a source are skipped.
        sources: Sources by task, as `read_sources` returns them.
        folder: The evaluation folder.
        options: How to download.

    Raises:
        EaseError: If the folder cannot be written to, or the disk is full.
    """
    sums = _read_sums(folder)
    wanted = {
        task: [file._replace(sha256=file.sha256 or sums.get(file.path)) for file in list_files(sources[task])]
        for task in dict.fromkeys(tasks)
        if task in sources
    }
    every = {file.path: file for files in wanted.values() for file in files}
    failed, missing = {}, []
    for path, file in every.items():
        if not (folder / path).exists():
            missing.append(file)
        elif file.sha256 and (found := hash_contents(folder / path)) != file.sha256:
            failed[path] = f"{folder / path} " + _CHANGED.format(found=found, expected=file.sha256)
    if missing:
        with Client(options) as client:
            failed |= _fetch_files([file for file in missing if not file.member], folder, client)
            failed |= _fetch_members([file for file in missing if file.member], folder, client)
    seen = {path: hash_contents(folder / path) for path in every if path not in failed and path not in sums}
    if seen:
        with writing(folder):  # other runs and projects may share the folder
            sums = _read_sums(folder)
            lines = [f"{sha256}  {path}\n" for path, sha256 in sorted((seen | sums).items())]
            write_text_atomically(folder / SUMS, "".join(lines))
    fetched = {file.path for file in missing} - failed.keys()
    return {
        task: _report(task, sources[task].licence, [file.path for file in files], fetched, failed)
        for task, files in wanted.items()
    }


def list_files(source: Source) -> list[WantedFile]:
    """Return the files of a source."""
    single = [
        WantedFile(f"{group.folder}/{name}", sha256, f"{group.address}{name}")
        for group in source.files
        for name, sha256 in group.sha256.items()
    ]
    packed = [
        WantedFile(member.path, member.sha256, archive.url, name, archive.most_bytes)
        for archive in source.archives
        for name, member in archive.members.items()
    ]
    return single + packed


def _fetch_files(files: Sequence[WantedFile], folder: Path, client: Client) -> dict[str, str]:
    """Download files; return the failed ones with the reasons."""
    remote = [
        RemoteFile(file.url, folder / file.path, {"sha256": file.sha256} if file.sha256 else {})
        for file in files
    ]
    failed = download_all(remote, client, "evaluation sets").failed
    return {file.path: str(failed[folder / file.path]) for file in files if folder / file.path in failed}


def _fetch_members(files: Sequence[WantedFile], folder: Path, client: Client) -> dict[str, str]:
    """Download each archive once for all tasks, and unpack the wanted members; return the failed ones."""
    failed: dict[str, str] = {}
    places = {file.url: hashlib.sha256(file.url.encode()).hexdigest()[:16] for file in files}
    archives = {url: RemoteFile(url, folder / _ARCHIVES / name) for url, name in places.items()}
    outcome = download_all(list(archives.values()), client, "archives of evaluation sets")
    for url, archive in archives.items():
        members = [file for file in files if file.url == url]
        try:
            if fault := outcome.failed.get(archive.path):
                raise fault
            failed |= _take_members(archive.path, members, folder)
        except EaseError as error:
            failed |= {file.path: str(error).replace(str(archive.path), url) for file in members}
        archive.path.unlink(missing_ok=True)
    with suppress(OSError):  # an interrupted download stays there
        (folder / _ARCHIVES).rmdir()
    return failed


def _take_members(archive: Path, files: Sequence[WantedFile], folder: Path) -> dict[str, str]:
    """Unpack members into a temporary folder, and move those with the right checksum to their places."""
    failed = {}
    remove_abandoned_scratch(archive.parent)
    with report_write_errors(folder), scratch_folder(archive.parent, archive.name) as temporary:
        places = {file.member: temporary / str(number) for number, file in enumerate(files)}
        lacking = unpack(archive, places, max(file.most_bytes for file in files))
        for file in files:
            place = places[file.member]
            if file.member in lacking:
                failed[file.path] = f"{file.url} has no member {file.member}."
            elif file.sha256 and (found := hash_contents(place)) != file.sha256:
                failed[file.path] = (
                    f"{file.url}: {file.member} has the sha256 {found}, but should have {file.sha256}."
                )
            else:
                (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(place, folder / file.path)
    return failed


def _read_sums(folder: Path) -> dict[str, str]:
    try:
        text = (folder / SUMS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {path: sha256 for sha256, path in re.findall(r"^([0-9a-f]{64}) [ *](.+)$", text, re.MULTILINE)}


def _report(
    task: str, licence: str, paths: Sequence[str], fetched: set[str], failed: Mapping[str, str]
) -> FetchedSet:
    """Sort the files of a task, and log the downloaded files with their licence, and the failed ones."""
    found = FetchedSet(
        licence=licence,
        fetched=tuple(path for path in paths if path in fetched),
        present=tuple(path for path in paths if path not in fetched and path not in failed),
        failed={path: failed[path] for path in paths if path in failed},
    )
    if found.fetched:
        logger.info("Evaluation set %s: %d files fetched; licence: %s", task, len(found.fetched), licence)
    if found.failed:
        path, reason = next(iter(found.failed.items()))
        logger.warning(
            "Evaluation set %s: %d of its files could not be fetched; the first, %s: %s",
            *(task, len(found.failed), path, reason),
        )
    return found
