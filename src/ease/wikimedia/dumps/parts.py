"""Parts of tables on disk: Parquet files in a folder that appears whole or not at all."""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ease.errors import EaseError
from ease.io.addresses import RemoteFile, is_remote, kind_of, report_store_errors, upload
from ease.io.atomic import atomic_shared_folder
from ease.io.files import report_write_errors
from ease.io.locks import remove_abandoned_scratch

logger = logging.getLogger(__name__)

COUNTS_FILE = "counts.json"
_ROWS_PER_GROUP = 50_000
_CHARACTERS_PER_GROUP = 16_000_000
_BYTES_PER_GROUP = 64 << 20


def part_name(version: int, *rows_depend_on: object) -> str:
    """Name a part by the version of the code that makes it and a hash of everything else that its rows depend on."""
    digest = hashlib.blake2b(repr(rows_depend_on).encode(), digest_size=16).hexdigest()
    return f"{version}-{digest}"


@contextmanager
def whole_folder(final: Path) -> Iterator[Path]:
    """Yield a folder that becomes `final` when the block ends; one that another process was faster to write stays.

    A remote `final` is written to a temporary folder of this machine, whose files are uploaded, the counts last: a part
    without counts is incomplete.

    Raises:
        EaseError: If the place is not writable or full.
    """
    if not is_remote(final):
        with atomic_shared_folder(final) as folder:
            yield folder
        return
    with report_write_errors(Path(tempfile.gettempdir())):
        temporary = tempfile.TemporaryDirectory(prefix="ease-part.")
    with temporary:
        yield Path(temporary.name)
        if not is_whole(final):
            files = sorted(
                Path(temporary.name).iterdir(), key=lambda file: (file.name == COUNTS_FILE, file.name)
            )
            for file in files:
                upload(file, final / file.name)


def is_whole(part: Path) -> bool:
    """Whether a part is there: a local folder has its name only when it is whole, a remote one has its counts last."""
    return kind_of(part / COUNTS_FILE) == "file" if is_remote(part) else part.exists()


def remove_leftovers(folder: Path) -> None:
    """Remove the parts that killed runs left half written; a remote folder shows no partial parts."""
    if not is_remote(folder):
        remove_abandoned_scratch(folder)


def write_counts(folder: Path, counts: dict[str, Any]) -> None:
    """Write what a part's making counted."""
    with report_write_errors(folder):
        (folder / COUNTS_FILE).write_bytes(
            orjson.dumps(counts, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        )


def check_truncated(path: Path, truncated: bool, policy: str) -> None:
    """Refuse a file that is cut at its end, or warn, as the option `truncated` says.

    Raises:
        EaseError: If it is cut and the policy is "drop".
    """
    if truncated and policy == "drop":
        raise EaseError(
            f"{path} is truncated: download it again, or set `truncated` to keep what was read of it."
        )
    if truncated:
        logger.warning(
            "%s is truncated: it ends before its end; what was read before is kept (`truncated`)", path
        )


def read_counts(folder: Path) -> dict[str, Any]:
    """Read what a part's making counted."""
    with report_store_errors(folder):
        return orjson.loads((folder / COUNTS_FILE).read_bytes())


def open_table(file: Path) -> pq.ParquetFile:
    """Open a part's table; of a remote one only what is asked for is read."""
    return pq.ParquetFile(RemoteFile(file, cache_type="none") if is_remote(file) else file)


class TableWriter:
    """Writes rows to a Parquet file in groups of bounded size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._characters = 0
        self._waiting: list[pa.Table] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._file = path.open("wb")
        self._parquet = pq.ParquetWriter(self._file, schema, compression="zstd")

    def append(self, row: tuple[Any, ...], characters: int = 0) -> None:
        """Add a row, in the order of the schema.

        Args:
            row: One value for each column; structs in lists are tuples.
            characters: The row's text, so that long ones make smaller groups.
        """
        self._rows.append(row)
        self._characters += characters
        if len(self._rows) >= _ROWS_PER_GROUP or self._characters >= _CHARACTERS_PER_GROUP:
            self._flush()

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Add rows that are already columns; small tables wait for others, as many groups would make reading slow."""
        if not table.num_rows:
            return
        self._waiting.append(pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table)
        self._waiting_rows += table.num_rows
        self._waiting_bytes += table.nbytes
        if self._waiting_rows >= _ROWS_PER_GROUP or self._waiting_bytes >= _BYTES_PER_GROUP:
            self._write_waiting()

    def _write_waiting(self) -> None:
        if self._waiting:
            table = pa.concat_tables(self._waiting)
            self._waiting.clear()
            self._waiting_rows = self._waiting_bytes = 0
            with report_write_errors(self._path):
                self._parquet.write_table(table, row_group_size=table.num_rows)

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [_as_array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._write_waiting()
        self._rows.clear()
        self._characters = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                if self._rows:
                    self._flush()
                self._write_waiting()
                with report_write_errors(self._path):
                    self._parquet.close()
                    self._file.flush()
        finally:
            # After a fault, pyarrow would try to write the file's end once more when the writer is collected.
            self._parquet.is_open = False
            self._file.close()


def _as_array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column; lists of tuples become lists of structs, three times as fast as lists of dictionaries would."""
    if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
        return pa.array(column, type=kind)
    fields = list(kind.value_type)
    parts = list(zip(*chain.from_iterable(column), strict=True)) or [()] * len(fields)
    arrays = [pa.array(part, type=field.type) for part, field in zip(parts, fields, strict=True)]
    offsets = pa.array(accumulate(map(len, column), initial=0), type=pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=fields), type=kind)
