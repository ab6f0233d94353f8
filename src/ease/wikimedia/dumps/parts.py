"""Write the part files of shards in parallel: options, workers, tables, and which parts are up to date."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from pydantic import Field
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.addresses import is_remote, kind_of, open_remote, report_store_errors, upload
from ease.io.atomic import atomic_shared_folder
from ease.io.files import report_write_errors
from ease.io.locks import remove_abandoned_scratch, temporary_folder
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


_ROUNDS = 4
"""Tasks per Spark slot in one job. Results arrive job by job, and each job waits for its slowest task."""

MapShards = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Applies a function to tasks, in any number of processes, and yields results as they are finished."""


def joblib_map(workers: int | None) -> MapShards:
    """Map in local processes; None uses one per core, 1 uses the current process."""

    def apply(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        processes = min(workers, len(tasks)) if workers else -1
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
_BYTES_PER_GROUP = 64 << 20


class TableWriter:
    """Writes rows to a Parquet file in groups of bounded size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pa.Table] = []
        self._table_rows = self._table_bytes = 0
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
        self._tables.append(pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table)
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
        self._table_rows = self._table_bytes = 0

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
_LOGGED_FAULTS = 20  # Largest number of skipped pages of a language in the log

Counts = dict[str, Any]
Source = TypeVar("Source")


def part_name(version: int, *rows_depend_on: object) -> str:
    """Name a part by its code version and a hash of everything else that its rows depend on."""
    digest = hashlib.blake2b(repr(rows_depend_on).encode(), digest_size=16).hexdigest()
    return f"{version}-{digest}"


def make_part(part: Path, write: Callable[[Path], Counts]) -> Counts:
    """Write a part as `make_parts` does, in this process; `write` fills a folder and returns counts."""
    _remove_leftovers({part.parent})
    if not _is_complete(part):
        _write_part(part, write)
    return read_counts(part)


def make_parts(
    sources: Mapping[Path, Source],
    write: Callable[[Source, Path], Counts],
    size: Callable[[Source], int],
    map_shards: MapShards,
    progress: str,
) -> dict[Path, Counts]:
    """Write the missing parts in parallel, and return the counts of all parts.

    `sources` says what each part is made from; `write` fills a folder from a source, in another process, and returns
    the counts. `size` counts the bytes of a source, for the bar `progress`.

    Raises EaseError as `write` does, or if a part cannot be written. Finished parts are kept.
    """
    folders = {part.parent for part in sources}
    _remove_leftovers(folders)
    missing = [(part, partial(write, source)) for part, source in sources.items() if not _is_complete(part)]
    logger.info("%s: %d of %d parts are missing", progress, len(missing), len(sources))
    if missing:
        total = sum(map(size, sources.values()))
        done = total - sum(size(sources[part]) for part, _ in missing)
        with tqdm(total=total, initial=done, unit="B", unit_scale=True, desc=progress, disable=None) as bar:
            for part, error in map_shards(_attempt_part, missing):
                if error:
                    raise EaseError(error)
                bar.update(size(sources[part]))
    _remove_leftovers(folders)  # of tasks that Spark lost and ran again
    return {part: read_counts(part) for part in sources}


def _attempt_part(task: tuple[Path, Callable[[Path], Counts]]) -> tuple[Path, str | None]:
    """Write one part; return it with the user's error as text, since Spark wraps exceptions in pages of traceback."""
    try:
        _write_part(*task)
    except EaseError as error:
        return task[0], str(error)
    return task[0], None


def _write_part(part: Path, write: Callable[[Path], Counts]) -> None:
    """Write a folder that becomes the part if this ends without an error.

    If another process finishes the same part first, its folder stays. The files of a remote part are uploaded from a
    local temporary folder, the counts last: a remote part without counts is incomplete.
    """
    with temporary_folder() if is_remote(part) else atomic_shared_folder(part) as folder:
        if is_remote(part):
            (folder := folder / part.name).mkdir()
        counts = write(folder)
        with report_write_errors(folder):
            (folder / _COUNTS_FILE).write_bytes(orjson.dumps(counts, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        if is_remote(part) and not _is_complete(part):
            for file in sorted(folder.iterdir(), key=lambda file: (file.name == _COUNTS_FILE, file.name)):
                upload(file, part / file.name)


def _is_complete(part: Path) -> bool:
    """Whether a part exists: a local folder is renamed when complete, a remote one gets its counts last."""
    return kind_of(part / _COUNTS_FILE) == "file" if is_remote(part) else part.exists()


def _remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove the partial parts of killed runs; a remote folder has none."""
    for folder in folders:
        if not is_remote(folder):
            remove_abandoned_scratch(folder)


def read_counts(folder: Path) -> Counts:
    """Read the counts of a part."""
    with report_store_errors(folder):
        return orjson.loads((folder / _COUNTS_FILE).read_bytes())


def choose_parts(
    files: Mapping[DumpFile, Sequence[Path]], reports: Mapping[Path, Counts], policy: str
) -> tuple[list[list[Path]], Counts]:
    """Return the parts of the files that the option `truncated` keeps, and the counts `faults` and `dumps`.

    The reports of the parts have `truncated`, and as `faults` messages about skipped pages; the first are logged.
    """
    used, dumps, faults = list[list[Path]](), list[Counts](), list[str]()
    for dump, parts in files.items():
        dumps.append(_report_file(dump, any(reports[part]["truncated"] for part in parts), policy))
        if dumps[-1]["used"]:
            used.append(list(parts))
            faults += [f"{dump.path.name}: {fault}" for part in parts for fault in reports[part]["faults"]]
    for fault in faults[:_LOGGED_FAULTS]:
        logger.warning("%s", fault)
    return used, {"faults": faults, "dumps": dumps}


def _report_file(dump: DumpFile, truncated: bool, policy: str) -> Counts:
    """Return a dump file's name and date, and whether it is truncated and used by the option `truncated`."""
    keep = policy == "keep"
    if truncated:
        action = "the rows before the cut are kept" if keep else "all its rows are dropped"
        logger.warning("%s is truncated: %s (option `truncated`)", dump.path, action)
    used = keep or not truncated
    return {"file": dump.path.name, "date": dump.dump_date, "truncated": truncated, "used": used}


def describe_file(path: Path, counts: Counts, policy: str) -> Counts:
    """Return the counts of a file with its name and date, and log them; raises EaseError if the file is dropped."""
    logger.info("%s: %s", path, counts)
    report = _report_file(DumpFile(path, "", dump_date(path)), counts["truncated"], policy)
    if not report.pop("used"):
        raise EaseError(f"{path} is truncated: download it again, or set `truncated` to keep the rows before the cut.")
    return counts | report


@contextmanager
def open_table(file: Path) -> Iterator[pq.ParquetFile]:
    """Open a part's table; only the requested columns of a remote table are read."""
    with report_store_errors(file):
        source = open_remote(file, cache_type="none") if is_remote(file) else file
        with pq.ParquetFile(source) as table:
            yield table
