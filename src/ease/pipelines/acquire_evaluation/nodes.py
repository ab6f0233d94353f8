"""Locate evaluation sets, or download them from their publishers as single files or as members of archives."""

from __future__ import annotations

import logging
import lzma
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from ease.errors import EaseError
from ease.evaluation.scoring import check_references, select_parameters, select_tasks, task_name
from ease.evaluation.sets import LocatedSet, locate_sets, read_sets, scorable
from ease.evaluation.tasks import TaskParameters, build_task
from ease.evaluation.tasks.base import missing_files
from ease.io.atomic import atomic_path
from ease.io.downloads import Client, DownloadOptions, RemoteFile, Unreachable, download
from ease.io.files import hash_contents, report_write_errors
from ease.io.locks import scratch_folder
from ease.pipelines.acquire_evaluation.published_files import PublishedFile, Source, read_sources
from ease.pipelines.options import SAMPLE, AcquireOptions, EvaluateOptions, EvaluationSetOptions
from ease.pipelines.setting import Setting

logger = logging.getLogger(__name__)

_SILENCE = 60.0
"""Seconds for which a host that did not answer is not asked again: the settings of a run ask in turn."""
_silent_since: dict[str, float] = {}
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)


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
    every = {file.path: file for files in missing.values() for file in files}
    failed: dict[str, str] = {}
    if every:
        with report_write_errors(folder):
            failed = _fetch_missing(list(every.values()), folder, options)
    faults = {}
    for task, files in missing.items():
        faults[task] = own = {file.path: failed[file.path] for file in files if file.path in failed}
        if new := len(files) - len(own):
            licence = sources[task].licence
            logger.info("Evaluation set %s: %d files fetched; licence: %s", task, new, licence)
        for path, reason in [*own.items()][:1]:
            logger.warning(
                "Evaluation set %s: %d of its files could not be fetched; the first, %s: %s",
                task,
                len(own),
                path,
                reason,
            )
    return faults


def _fetch_missing(files: Sequence[PublishedFile], folder: Path, options: DownloadOptions) -> dict[str, str]:
    """Download files, each archive once for all its members; return the failed ones with the reasons."""

    def fetch(url: str, wanted: Sequence[PublishedFile]) -> dict[str, str]:
        host = urlsplit(url).netloc
        if time.monotonic() - _silent_since.get(host, -inf) < _SILENCE:
            reason = f"{url} was not requested, as {host} does not answer. Is this machine on the network?"
            return {file.path: reason for file in wanted}
        known = None if wanted[0].member else wanted[0].sha256
        with scratch_folder(folder, "fetched") as scratch:
            remote = RemoteFile(url, scratch / "file", {"sha256": known} if known else {})
            try:
                download(remote, client)
            except EaseError as error:
                if isinstance(error, Unreachable):
                    _silent_since[host] = time.monotonic()
                return {file.path: str(error) for file in wanted}
            try:
                return _keep(remote.path, wanted, folder)
            except _BROKEN as error:
                reason = f"{url} is not an archive, or is broken ({error})."
                return {file.path: reason for file in wanted}

    folder.mkdir(parents=True, exist_ok=True)
    address = attrgetter("url")
    groups = [(url, list(found)) for url, found in groupby(sorted(files, key=address), key=address)]
    with Client(options) as client, ThreadPoolExecutor(options.connections) as pool:
        failed = list(pool.map(fetch, *zip(*groups, strict=True)))
    return {path: reason for reasons in failed for path, reason in reasons.items()}


def _keep(fetched: Path, wanted: Sequence[PublishedFile], folder: Path) -> dict[str, str]:
    """Move a downloaded file, or members of a downloaded archive, to their places; return the failed ones."""
    if not wanted[0].member:
        with atomic_path(folder / wanted[0].path) as place:
            shutil.move(fetched, place)
        return {}
    failed = {}
    with zipfile.ZipFile(fetched) if zipfile.is_zipfile(fetched) else tarfile.open(fetched) as archive:
        for file in wanted:
            try:
                source = _open_member(archive, file.member)
            except KeyError:
                failed[file.path] = f"{file.url} has no file {file.member}."
                continue
            unpacked = fetched.with_name("member")
            with source, unpacked.open("wb") as target:
                shutil.copyfileobj(source, target)
            if file.sha256 and (found := hash_contents(unpacked)) != file.sha256:
                failed[file.path] = f"{file.url}: {file.member} has the sha256 {found}, but should have {file.sha256}."
                continue
            with atomic_path(folder / file.path) as place:
                shutil.move(unpacked, place)
    return failed


def _open_member(archive: zipfile.ZipFile | tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a file of an archive; raises KeyError if it has no such file. Links do not lead out of the archive."""
    if isinstance(archive, zipfile.ZipFile):
        return archive.open(name)
    known = archive.getnames()
    member = archive.extractfile(name if name in known else f"./{name}")
    if member is None:
        raise KeyError(name)
    return member


SAMPLE_SETS = ("parallel", "graded", "graded_dev")
"""The sample's own evaluation sets, addressed as `sample:NAME`."""


def locate_evaluation_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
    evaluate: EvaluateOptions,
    setting: Setting,
) -> dict[str, Any]:
    """Locate, read and hash the files of each task of the setting.

    A task's `path` is the address of its set: a file, a folder, `sample:` with one of `SAMPLE_SETS`, or `audit:` with a
    setting.
    """
    # Trainings and analyses read the setting's own tasks even if other tasks are scored.
    references = (*setting.dev_tasks, *setting.test_tasks, *evaluate.references((), tasks))
    return locate(references, acquire, sets, tasks, evaluate.named)


def locate_baseline_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
    evaluate: EvaluateOptions,
    multilingual: Setting,
    monolingual: Setting,
) -> dict[str, Any]:
    """Locate the evaluation sets of the baselines; see `locate_evaluation_sets`."""
    by_baseline = evaluate.baseline_references([multilingual, monolingual], tasks)
    references = dict.fromkeys(reference for own_references in by_baseline.values() for reference in own_references)
    return locate(tuple(references), acquire, sets, tasks, evaluate.named)


def locate(
    references: Sequence[str],
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: TaskParameters,
    named: Sequence[str] = (),
) -> dict[str, Any]:
    """Locate and read the files of tasks, after downloading missing ones if `fetch` is set; return them as JSON.

    A failed download of a task that the user has `named` is a fault, which fails the run once all else is scored.
    """
    check_references(references, tasks)
    names, failed = list(dict.fromkeys(map(task_name, references))), dict[str, dict[str, str]]()
    if sets.fetch:
        failed = fetch_evaluation_sets(names, read_sources(), sets.folder, acquire.download)
    parameters = dict(tasks)
    for name in names:
        if "path" not in tasks[name]:
            raise EaseError(f"The task {name!r} is to be scored, but `tasks.{name}.path` is not configured.")
        address = str(tasks[name]["path"])
        if address.startswith(SAMPLE):
            path = acquire.sample_file(address, SAMPLE_SETS, "evaluation sets")
        else:
            path = sets.locate(address)
        parameters[name] = {**tasks[name], "path": str(path)}
    selected = select_tasks(references, parameters)
    located = read_sets(locate_sets(selected), selected)
    for reference in named:
        name, _, subset = reference.partition(":")
        if failed.get(name) and not located[name].faults and not scorable([reference], located):
            reason = next(iter(failed[name].values()))
            located[name] = located[name].model_copy(update={"faults": {subset: reason}})
    return {name: found.model_dump(mode="json") for name, found in located.items()}


def check_tasks(references: Sequence[str], tasks: TaskParameters) -> None:
    """Refuse unknown or wrongly configured tasks."""
    select_tasks(references, tasks)


def expected_sets(
    references: Sequence[str], sets: EvaluationSetOptions, tasks: TaskParameters
) -> dict[str, LocatedSet]:
    """Return the sets that a run will have: files that exist, and those that it makes or downloads."""
    expected = {}
    for name, parameters in select_parameters(references, tasks).items():
        address = str(parameters["path"])
        if address.startswith(SAMPLE):
            named = (reference.partition(":")[2] for reference in references if task_name(reference) == name)
            expected[name] = LocatedSet(path=sets.folder, subsets=dict.fromkeys(named, ()), sha256={})
            continue
        task = build_task(name, {**parameters, "path": str(sets.locate(address))})
        files = task.files()
        fetched, missing = fetchable(name) if sets.fetch else set(), {}
        for subset, paths in missing_files(files).items():
            below = (p.relative_to(sets.folder) if p.is_relative_to(sets.folder) else p for p in paths)
            if lacking := tuple(path.as_posix() for path in below if path.as_posix() not in fetched):
                missing[subset] = lacking
        complete = dict.fromkeys(files.keys() - missing, ())
        expected[name] = LocatedSet(
            path=sets.folder, subsets=complete, sha256={}, missing=missing, source=task.options.source
        )
    return expected


def fetchable(task: str) -> set[str]:
    """Return the files of a task, below the evaluation folder, that can be downloaded."""
    sources = read_sources()
    return {file.path for file in sources[task].published()} if task in sources else set()
