"""Write the part files of shards in parallel: options, workers, tables, and which parts are up to date."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from ease.errors import EaseError
from ease.io.addresses import is_remote, kind_of, open_remote, report_store_errors, upload
from ease.io.atomic import atomic_shared_folder
from ease.io.files import report_write_errors
from ease.io.locks import remove_abandoned_scratch, temporary_folder
from ease.io.progress import ProgressBar
from ease.options import StrictModel
from ease.wikimedia.dumps.files import DumpFile, dump_date
from ease.wikimedia.dumps.pages import DEFAULT_MAX_PAGE_BYTES, DEFAULT_MAX_PAGE_SECONDS
from ease.wikimedia.wikitext.sentences import SplitterEngine

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)


class IngestOptions(StrictModel):
    """How dumps are read."""

    splitter: SplitterEngine = Field(
        "polyglot",
        description="sentence splitter; icu finds the same boundaries without polyglot, which is under GPLv3",
    )
    truncated: Literal["keep", "drop"] = Field(
        "keep", description="whether to keep the readable beginning of a truncated file, or to drop the file"
    )
    max_page_bytes: int = Field(DEFAULT_MAX_PAGE_BYTES, ge=1000, description="pages with more bytes of XML are skipped")
    max_page_seconds: float = Field(
        DEFAULT_MAX_PAGE_SECONDS, gt=0, description="pages that take more seconds of CPU time to parse are skipped"
    )
    bytes_per_shard: int = Field(32 << 20, ge=1, description="bytes of a dump file in one shard")
    workers: int | None = Field(None, ge=1, description="processes that parse; null uses one per core")


# Tasks per Spark slot in one job. Results arrive job by job, and each job waits for its slowest task.
_ROUNDS = 4

MapShards = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Applies a function to tasks, in any number of processes, and yields each result when its task is finished."""


def joblib_map(workers: int | None) -> MapShards:
    """Map in local processes; None uses one per core, 1 uses the current process."""
    # Imported here: joblib imports psutil, which takes 0.15 s.
    from joblib import Parallel, delayed

    def apply(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        processes = -1
        if workers:
            processes = min(workers, len(tasks))
        # One task at a time, since shards differ much in their time.
        parallel = Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1)
        return parallel(delayed(function)(task) for task in tasks)

    return apply


def spark_map(context: SparkContext) -> MapShards:
    """Map on a Spark cluster whose machines can all access the folders of the dumps and the parts."""

    def apply(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        size = max(1, _ROUNDS * context.defaultParallelism)
        for start in range(0, len(tasks), size):
            chunk = tasks[start : start + size]
            yield from context.parallelize(chunk, len(chunk)).map(function).collect()

    return apply


ROWS_PER_GROUP = 50_000
# Groups are buffered in memory by each worker: rows with long texts end a group earlier.
_BYTES_PER_GROUP = 64 << 20


class TableWriter:
    """Writes rows to a Parquet file in groups of bounded size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pa.Table] = []
        self._table_rows = 0
        self._table_bytes = 0
        self._file = path.open("wb")
        self._parquet = pq.ParquetWriter(self._file, schema, compression="zstd")

    def append(self, row: tuple[Any, ...]) -> None:
        """Add a row: one value for each column of the schema."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_PER_GROUP:
            self._flush()

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Add rows in columns; small tables are buffered, since many small groups are slow to read."""
        if not table.num_rows:
            return
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        self._tables.append(table)
        self._table_rows += table.num_rows
        self._table_bytes += table.nbytes
        if self._table_rows >= ROWS_PER_GROUP or self._table_bytes >= _BYTES_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = map(pa.array, zip(*self._rows, strict=True), self._schema.types)
            self._tables.append(pa.Table.from_arrays(list(columns), schema=self._schema))
        if self._tables:
            table = pa.concat_tables(self._tables)
            with report_write_errors(self._path):
                self._parquet.write_table(table, row_group_size=table.num_rows)
        self._rows.clear()
        self._tables.clear()
        self._table_rows = 0
        self._table_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._flush()
                with report_write_errors(self._path):
                    self._parquet.close()
                    self._file.flush()
        finally:
            # Otherwise pyarrow writes the footer again when the writer is garbage-collected after an error.
            self._parquet.is_open = False
            self._file.close()


_COUNTS_FILE = "counts.json"
# Largest number of skipped pages of a language in the log.
_LOGGED_FAULTS = 20

Counts = dict[str, Any]
_PartSource = TypeVar("_PartSource")


def part_name(version: int, *rows_depend_on: object) -> str:
    """Return a part's name: its code version, and a hash of everything else that its rows depend on."""
    digest = hashlib.blake2b(repr(rows_depend_on).encode(), digest_size=16).hexdigest()
    return f"{version}-{digest}"


def make_part(part: Path, write: Callable[[Path], Counts]) -> Counts:
    """Write a part in this process unless it is complete, and return its counts.

    `write` fills a folder and returns the counts. Raises EaseError as `write` does, or if the part cannot be written.
    """
    _remove_leftovers({part.parent})
    if not _is_complete(part):
        _write_part(part, write)
    return read_counts(part)


def make_parts(
    sources: Mapping[Path, _PartSource],
    write: Callable[[_PartSource, Path], Counts],
    size: Callable[[_PartSource], int],
    map_shards: MapShards,
    progress: str,
) -> dict[Path, Counts]:
    """Write the missing parts in parallel, and return the counts of all parts.

    `sources` maps each part to its source. `write` fills a folder from a source, in another process, and returns the
    counts. `size` returns a source's size in bytes, for the progress bar labelled `progress`.

    Raises EaseError as `write` does, or if a part cannot be written. Finished parts are kept.
    """
    folders = {part.parent for part in sources}
    _remove_leftovers(folders)
    missing = [(part, partial(write, source)) for part, source in sources.items() if not _is_complete(part)]
    logger.info("%s: %d of %d parts are missing", progress, len(missing), len(sources))
    if missing:
        total = sum(map(size, sources.values()))
        complete_bytes = total - sum(size(sources[part]) for part, _ in missing)
        with ProgressBar(
            total=total, initial=complete_bytes, unit="B", unit_scale=True, desc=progress, leave=True
        ) as bar:
            for part, error in map_shards(_attempt_part, missing):
                if error:
                    raise EaseError(error)
                bar.update(size(sources[part]))
    # Spark may lose a task and run it again; the first attempt leaves its folder.
    _remove_leftovers(folders)
    return {part: read_counts(part) for part in sources}


def _attempt_part(task: tuple[Path, Callable[[Path], Counts]]) -> tuple[Path, str | None]:
    """Write one part; return the part and the message of a user's error, or None.

    Spark wraps an exception in pages of traceback, so the message travels as a result.
    """
    part, write = task
    try:
        _write_part(part, write)
    except EaseError as error:
        return part, str(error)
    return part, None


def _write_part(part: Path, write: Callable[[Path], Counts]) -> None:
    """Write a folder that becomes the part if this function ends without an error.

    If another process finishes the same part first, that process's folder stays.
    """
    if not is_remote(part):
        with atomic_shared_folder(part) as folder:
            _fill_folder(folder, write)
        return
    with temporary_folder() as scratch:
        folder = scratch / part.name
        folder.mkdir()
        _fill_folder(folder, write)
        if _is_complete(part):
            return
        # The counts come last: a remote part without counts is incomplete.
        for file in sorted(folder.iterdir(), key=lambda file: (file.name == _COUNTS_FILE, file.name)):
            upload(file, part / file.name)


def _fill_folder(folder: Path, write: Callable[[Path], Counts]) -> None:
    counts = write(folder)
    with report_write_errors(folder):
        (folder / _COUNTS_FILE).write_text(json.dumps(counts, indent=2, sort_keys=True), encoding="utf-8")


def _is_complete(part: Path) -> bool:
    """Return whether a part is complete: a local folder is renamed at the end, a remote one gets its counts last."""
    if is_remote(part):
        return kind_of(part / _COUNTS_FILE) == "file"
    return part.exists()


def _remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove the partial parts of killed runs; a remote folder has none."""
    for folder in folders:
        if not is_remote(folder):
            remove_abandoned_scratch(folder)


def read_counts(folder: Path) -> Counts:
    """Return the counts of a part."""
    with report_store_errors(folder):
        counts: Counts = json.loads((folder / _COUNTS_FILE).read_bytes())
        return counts


def choose_parts(
    files: Mapping[DumpFile, Sequence[Path]], reports: Mapping[Path, Counts], policy: str
) -> tuple[list[list[Path]], Counts]:
    """Return the parts that the option `truncated` keeps, by file, and the counts `faults` and `dumps`.

    A part's report has `truncated`, and as `faults` messages about skipped pages; the first messages are logged.
    """
    parts_by_file: list[list[Path]] = []
    dumps: list[Counts] = []
    faults: list[str] = []
    for dump, parts in files.items():
        report = _report_file(dump, any(reports[part]["truncated"] for part in parts), policy)
        dumps.append(report)
        if report["used"]:
            parts_by_file.append(list(parts))
            faults += [f"{dump.path.name}: {fault}" for part in parts for fault in reports[part]["faults"]]
    for fault in faults[:_LOGGED_FAULTS]:
        logger.warning("%s", fault)
    return parts_by_file, {"faults": faults, "dumps": dumps}


def _report_file(dump: DumpFile, truncated: bool, policy: str) -> Counts:
    """Return a dump file's name and date, whether it is truncated, and whether the option `truncated` uses it."""
    keep = policy == "keep"
    if truncated:
        action = "all its rows are dropped"
        if keep:
            action = "the rows before the cut are kept"
        logger.warning("%s is truncated: %s (option `truncated`)", dump.path, action)
    return {"file": dump.path.name, "date": dump.dump_date, "truncated": truncated, "used": keep or not truncated}


def describe_file(path: Path, counts: Counts, policy: str) -> Counts:
    """Return the counts of a file with its name and date; raises EaseError if the file is dropped."""
    report = _report_file(DumpFile(path, "", dump_date(path)), counts["truncated"], policy)
    if not report.pop("used"):
        raise EaseError(f"{path} is truncated: download it again, or set `truncated` to keep the rows before the cut.")
    return counts | report


@contextmanager
def open_table(file: Path) -> Iterator[pq.ParquetFile]:
    """Open a part's table; only the requested columns of a remote table are read."""
    with report_store_errors(file):
        source: Any = file
        if is_remote(file):
            # Without a cache, pyarrow's reads of single columns fetch these bytes alone.
            source = open_remote(file, cache_type="none")
        with pq.ParquetFile(source) as table:
            yield table
