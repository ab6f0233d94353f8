"""Parts of tables: folders of Parquet files that appear complete or not at all, and are reused from run to run."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pyarrow.parquet as pq
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.addresses import is_remote, kind_of, open_remote, report_store_errors, upload
from ease.io.atomic import atomic_shared_folder
from ease.io.files import report_write_errors
from ease.io.locks import remove_abandoned_scratch, temporary_folder
from ease.io.project import make_or
from ease.wikimedia.dumps.files import DumpFile, dump_date
from ease.wikimedia.dumps.mapping import MapShards

logger = logging.getLogger(__name__)

COUNTS_FILE = "counts.json"
_LOGGED_FAULTS = 20
"""Largest number of skipped pages of a language in the log."""

Counts = dict[str, Any]
Source = TypeVar("Source")


def part_name(version: int, *rows_depend_on: object) -> str:
    """Name a part by its code version and a hash of everything else that its rows depend on."""
    digest = hashlib.blake2b(repr(rows_depend_on).encode(), digest_size=16).hexdigest()
    return f"{version}-{digest}"


def make_part(part: Path, write: Callable[[Path], Counts]) -> Counts:
    """Write a part unless it exists: `write` fills a folder and returns counts. Return the kept counts.

    Raises:
        EaseError: From `write`, or the part cannot be written.
    """
    remove_leftovers(part.parent)
    if not is_complete(part):
        _log_other_versions(part)
        with part_folder(part) as folder:
            _write_counts(folder, write(folder))
    return read_counts(part)


def make_parts(
    sources: Mapping[Path, Source],
    write: Callable[[Source, Path], Counts],
    size: Callable[[Source], int],
    map_shards: MapShards,
    progress: str,
) -> dict[Path, Counts]:
    """Write the missing parts in parallel, and return the counts of all parts.

    Args:
        sources: What each part is made from, by the folder of the part.
        write: Fills a folder from a source, and returns the counts; runs in other processes.
        size: Bytes of a source, for the progress bar.
        map_shards: Where `write` runs.
        progress: Label of the progress bar.

    Raises:
        EaseError: From `write`, or a part cannot be written. Finished parts are kept.
    """
    folders = {part.parent for part in sources}
    for folder in folders:
        remove_leftovers(folder)
    missing = [(write, source, part) for part, source in sources.items() if not is_complete(part)]
    logger.info("%s: %d of %d parts are missing", progress, len(missing), len(sources))
    if missing:
        _log_other_versions(missing[0][2])
        total = sum(map(size, sources.values()))
        done = total - sum(size(source) for _, source, _ in missing)
        with tqdm(total=total, initial=done, unit="B", unit_scale=True, desc=progress, disable=None) as bar:
            for part, error in map_shards(_make_one, missing):
                if error:
                    raise EaseError(error)
                bar.update(size(sources[part]))
    for folder in folders:
        remove_leftovers(folder)  # of tasks that Spark lost and ran again
    return {part: read_counts(part) for part in sources}


def _make_one(task: tuple[Callable[[Source, Path], Counts], Source, Path]) -> tuple[Path, str | None]:
    """Write one part; return it with the user's error as text, since Spark wraps exceptions in pages of traceback."""
    write, source, part = task
    try:
        with part_folder(part) as folder:
            _write_counts(folder, write(source, folder))
    except EaseError as error:
        return part, str(error)
    return part, None


def _log_other_versions(missing: Path) -> None:
    """Log the parts of other code versions, which explain why unchanged files are read again."""
    version = missing.name.partition("-")[0]
    folder = missing.parent
    found = folder.iterdir() if not is_remote(folder) and folder.is_dir() else ()
    if other := [path for path in found if not path.name.startswith((".", f"{version}-"))]:
        logger.info(
            "%d parts in %s were made by another version of the code and are not used: `%s` lists them",
            len(other),
            folder,
            make_or("prune", "python -m ease.pruning"),
        )


@contextmanager
def part_folder(final: Path) -> Iterator[Path]:
    """Yield a folder that becomes `final` if the block ends without an error.

    If another process finishes the same part first, its folder stays. For a remote `final`, the files are uploaded from
    a local temporary folder, the counts last: a remote part without counts is incomplete.

    Raises:
        EaseError: If the place is not writable or full.
    """
    if not is_remote(final):
        with atomic_shared_folder(final) as folder:
            yield folder
        return
    with temporary_folder() as scratch:
        folder = scratch / final.name
        folder.mkdir()
        yield folder
        if not is_complete(final):
            for file in sorted(folder.iterdir(), key=lambda file: (file.name == COUNTS_FILE, file.name)):
                upload(file, final / file.name)


def is_complete(part: Path) -> bool:
    """Whether a part exists: a local folder is renamed when complete, a remote one gets its counts last."""
    return kind_of(part / COUNTS_FILE) == "file" if is_remote(part) else part.exists()


def remove_leftovers(folder: Path) -> None:
    """Remove the partial parts of killed runs; a remote folder has none."""
    if not is_remote(folder):
        remove_abandoned_scratch(folder)


def _write_counts(folder: Path, counts: Counts) -> None:
    with report_write_errors(folder):
        (folder / COUNTS_FILE).write_bytes(
            orjson.dumps(counts, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        )


def read_counts(folder: Path) -> Counts:
    """Read the counts of a part."""
    with report_store_errors(folder):
        return orjson.loads((folder / COUNTS_FILE).read_bytes())


def is_used(path: Path, truncated: bool, policy: str) -> bool:
    """Whether the rows of a dump file are used by the option `truncated`; logs a warning if the file is truncated."""
    keep = policy == "keep"
    if truncated:
        action = "the rows before the cut are kept" if keep else "all its rows are dropped"
        logger.warning("%s is truncated: %s (option `truncated`)", path, action)
    return keep or not truncated


def report_file(dump: DumpFile, truncated: bool, policy: str) -> Counts:
    """Return a dump file's name and date, and whether it is truncated and used by the option `truncated`."""
    used = is_used(dump.path, truncated, policy)
    return {"file": dump.path.name, "date": dump.dump_date, "truncated": truncated, "used": used}


def log_faults(faults: Sequence[str]) -> None:
    """Log the first messages about skipped pages."""
    for fault in faults[:_LOGGED_FAULTS]:
        logger.warning("%s", fault)


def describe_file(path: Path, counts: Counts, policy: str) -> Counts:
    """Return the counts of a dump file with its name and date.

    Raises:
        EaseError: The file is truncated and the option `truncated` is "drop".
    """
    if not is_used(path, counts["truncated"], policy):
        raise EaseError(
            f"{path} is truncated: download it again, or set `truncated` to keep the rows before the cut."
        )
    return {**counts, "file": path.name, "date": dump_date(path)}


@contextmanager
def open_table(file: Path) -> Iterator[pq.ParquetFile]:
    """Open a part's table; only the requested columns of a remote table are read."""
    with report_store_errors(file):
        source = open_remote(file, cache_type="none") if is_remote(file) else file
        with pq.ParquetFile(source) as table:
            yield table
