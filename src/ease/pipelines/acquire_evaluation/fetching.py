"""Download evaluation sets from their publishers."""

from __future__ import annotations

import logging
import shutil
import tarfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.io.contents import HEAD_BYTES, PARQUET, explain_fault, foreign_content
from ease.io.downloads import Client, DownloadOptions, RemoteFile, Unreachable, download
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import remove_abandoned_scratch, scratch_folder
from ease.pipelines.acquire_evaluation.published_files import PublishedFile, Source, read_sources

logger = logging.getLogger(__name__)

_SILENCE = 60.0
"""Seconds for which a host that did not answer is not asked again: the settings of a run ask in turn."""
_silent_since: dict[str, float] = {}
_MAX_MEMBER_BYTES = 1 << 30
"""Of a file in an archive: the largest published set has a tenth; an archive of a few MB may unpack to terabytes."""
_COPY_BYTES = 1 << 20


def fetchable(task: str) -> set[str]:
    """Return the files of a task, below the evaluation folder, that can be downloaded."""
    sources = read_sources()
    if task not in sources:
        return set()
    return {file.path for file in sources[task].published()}


def fetch_evaluation_sets(
    tasks: Sequence[str], sources: Mapping[str, Source], folder: Path, options: DownloadOptions
) -> dict[str, dict[str, str]]:
    """Download missing files of tasks; return the reasons of failures by task and by path below the folder.

    A failed download does not stop the others, and existing files stay untouched.
    """
    missing = {
        task: [file for file in sources[task].published() if not (folder / file.path).exists()]
        for task in dict.fromkeys(tasks)
        if task in sources
    }
    # Tasks share files.
    distinct = {file.path: file for files in missing.values() for file in files}
    reasons: dict[str, str] = {}
    if distinct:
        with report_write_errors(folder):
            reasons = _fetch_files(list(distinct.values()), folder, options)
    faults = {}
    for task, files in missing.items():
        faults[task] = {file.path: reasons[file.path] for file in files if file.path in reasons}
        _log_task(task, len(files), faults[task], sources[task].licence)
    return faults


def _log_task(task: str, missing: int, faults: Mapping[str, str], licence: str) -> None:
    """Log how many of a task's missing files were downloaded; of those that were not, the first one's reason."""
    if missing > len(faults):
        logger.info("Evaluation set %s: %d files fetched; licence: %s", task, missing - len(faults), licence)
    if faults:
        path, reason = next(iter(faults.items()))
        logger.warning(
            "Evaluation set %s: %d of its files could not be fetched; the first, %s: %s",
            task,
            len(faults),
            path,
            reason,
        )


def _fetch_files(files: Sequence[PublishedFile], folder: Path, options: DownloadOptions) -> dict[str, str]:
    """Download files, each archive once for all its members; return the failed ones with the reasons."""
    folder.mkdir(parents=True, exist_ok=True)
    remove_abandoned_scratch(folder)
    address = attrgetter("url")
    groups = [list(group) for _, group in groupby(sorted(files, key=address), key=address)]
    with Client(options) as client, ThreadPoolExecutor(options.connections) as pool:
        faults = list(pool.map(lambda group: _fetch_address(group, folder, client), groups))
    return {path: reason for by_path in faults for path, reason in by_path.items()}


def _fetch_address(files: Sequence[PublishedFile], folder: Path, client: Client) -> dict[str, str]:
    """Download the files of one address: a single file, or members of an archive; return the reasons of failures."""
    url = files[0].url
    host = urlsplit(url).netloc
    if time.monotonic() - _silent_since.get(host, -inf) < _SILENCE:
        reason = f"{url} was not requested, as {host} does not answer. Is this machine on the network?"
        return {file.path: reason for file in files}
    checksums = {}
    # The checksum of a member is checked after unpacking; that of its archive is not known.
    if files[0].sha256 and not files[0].member:
        checksums["sha256"] = files[0].sha256
    with scratch_folder(folder, "fetched") as scratch:
        remote = RemoteFile(url, scratch / "file", checksums)
        try:
            download(remote, client)
            return _keep(remote.path, files, folder)
        except EaseError as error:
            if isinstance(error, Unreachable):
                _silent_since[host] = time.monotonic()
            return {file.path: str(error) for file in files}
        except OSError as error:
            # The system's errors, such as of a full disk, stop all downloads; those of gzip and bz2 have no number.
            if error.errno is not None:
                raise
            return dict.fromkeys((file.path for file in files), _broken(remote, error))
        except Exception as error:
            # The libraries raise many types: of encryption, unknown compressions, links in a circle.
            return dict.fromkeys((file.path for file in files), _broken(remote, error))


def _broken(remote: RemoteFile, error: Exception) -> str:
    return f"{remote.url} is not an archive, or is broken ({explain_fault(remote.path, error)[:200]})."


def _other_content(path: Path, name: str) -> str:
    """Return what a file is in place of the set's file of a name, such as a page about an error; else an empty text."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if name.endswith(".parquet") and head.startswith(PARQUET):
        return ""
    return foreign_content(head)


def _keep(download_path: Path, files: Sequence[PublishedFile], folder: Path) -> dict[str, str]:
    """Move a downloaded file, or members of a downloaded archive, to their places; return the failed ones."""
    if not files[0].member:
        if other := _other_content(download_path, files[0].path):
            return {files[0].path: f"{files[0].url} is {other}."}
        with atomic_path(folder / files[0].path) as place:
            shutil.move(download_path, place)
        return {}
    faults = {}
    with _open_archive(download_path) as archive:
        for file in files:
            try:
                source = _open_member(archive, file.member)
            except KeyError:
                faults[file.path] = f"{file.url} has no file {file.member}."
                continue
            unpacked = download_path.with_name("member")
            limit = min(_MAX_MEMBER_BYTES, shutil.disk_usage(folder).free // 2)
            with source:
                if not _copy(source, unpacked, limit):
                    faults[file.path] = f"{file.url}: {file.member} unpacks to more than {limit:,} bytes."
                    continue
            sha256 = hash_contents(unpacked)
            if file.sha256 and sha256 != file.sha256:
                faults[file.path] = f"{file.url}: {file.member} has the sha256 {sha256}, but should have {file.sha256}."
                continue
            if other := _other_content(unpacked, file.path):
                faults[file.path] = f"{file.url}: {file.member} is {other}."
                continue
            with atomic_path(folder / file.path) as place:
                shutil.move(unpacked, place)
    return faults


def _copy(source: IO[bytes], path: Path, limit: int) -> bool:
    """Write a stream to a file; return False, without the file, if the stream has more bytes than a limit."""
    size = 0
    with path.open("wb") as target:
        while block := source.read(_COPY_BYTES):
            size += len(block)
            if size > limit:
                path.unlink()
                return False
            target.write(block)
    return True


def _open_archive(path: Path) -> zipfile.ZipFile | tarfile.TarFile:
    if zipfile.is_zipfile(path):
        return zipfile.ZipFile(path)
    return tarfile.open(path)


def _open_member(archive: zipfile.ZipFile | tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a file of an archive; raises KeyError if it has no such file. Links do not lead out of the archive."""
    if isinstance(archive, zipfile.ZipFile):
        return archive.open(name)
    # Some tar programs write names as `./name`.
    member_name = f"./{name}"
    if name in archive.getnames():
        member_name = name
    member = archive.extractfile(member_name)
    if member is None:
        raise KeyError(name)
    return member
