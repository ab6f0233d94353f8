"""What kinds of training texts share: options, the workspace, readers of tables, and random pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pydantic import Field

from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.io.text_tables import Column, find_columns, read_columns, read_rows
from ease.lazy import ibis, ir
from ease.options import StrictModel

COLUMNS = ("sentence", "positive", "negative")
"""The columns of texts; only the sentence is never null."""


class SourceOptions(StrictModel):
    """Options of one source of training texts; each kind's `Options` adds its own."""

    title: ClassVar[str]
    """What the model card calls the texts"""
    reads_pairs: ClassVar[bool] = False
    """Whether the texts are the setting's pairs; those of neither pairs nor `places` are made by this project"""

    kind: str = Field(description="the name of a file in ease/texts")
    rows: int | None = Field(None, ge=1, description="rows to draw from this source; null: all")
    weight: float | None = Field(
        None, gt=0, description="share of the mixture relative to the other weights; null: the number of rows"
    )

    @property
    def places(self) -> tuple[Path, ...]:
        """The files or folders of the source; none by default."""
        return ()

    @property
    def required(self) -> tuple[Path, ...]:
        """All files and folders that must exist before a run: `places`, and a folder's files of each language."""
        return self.places


class FileOptions(SourceOptions):
    """A source in one file or folder."""

    path: Path = Field(description="the file or folder")

    @property
    def places(self) -> tuple[Path, ...]:
        """The file or folder."""
        return (self.path,)


class Source(NamedTuple):
    """Texts read from a source."""

    table: ir.Table
    """Columns key (a distinct integer that orders the rows), sentence and, in some kinds, positive and negative"""
    counts: Mapping[str, int]
    """Numbers of read rows, and of dropped rows by reason"""

    def without_repetitions(self) -> Source:
        """Return the first text with each sentence; the others are counted."""
        first = self.table.group_by("sentence").agg(key=self.table.key.min())
        table = self.table.semi_join(first, "key")
        repeated = int(self.table.count().execute()) - int(table.count().execute())
        return Source(table, {**self.counts, "repeated": repeated})


BATCH_ROWS = 8192
"""Rows held in memory while a file is read."""


class Workspace:
    """A folder of Parquet files, which the caller removes, and a DuckDB of its own, which spills into the folder."""

    def __init__(
        self, folder: Path, memory_limit: str | None = None, threads: int | None = None, pairs: ir.Table | None = None
    ) -> None:
        """Connect to DuckDB.

        Args:
            folder: Made if missing.
            memory_limit: In DuckDB's notation, such as `4GB`.
            threads: Threads of DuckDB.
            pairs: The setting's training pairs, on any engine.
        """
        limits = {"memory_limit": memory_limit, "threads": threads}
        given = {name: value for name, value in limits.items() if value is not None}
        self.connection = ibis.duckdb.connect(":memory:", temp_directory=str(folder / "spill"), **given)
        self.folder, self.pairs, self._numbers = folder, pairs, count()

    def store(self, rows: Iterable[Sequence[Any]], schema: pa.Schema) -> ir.Table:
        """Write rows to a file, and return it as a table."""
        remaining = iter(rows)

        def batches() -> Iterator[pa.RecordBatch]:
            while batch := list(islice(remaining, BATCH_ROWS)):
                columns = zip(zip(*batch, strict=True), schema.types, strict=True)
                yield pa.record_batch([pa.array(values, kind) for values, kind in columns], schema=schema)

        return self.store_batches(batches(), schema)

    def store_batches(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> ir.Table:
        """Write batches to a file, and return it as a table."""
        path = self.folder / f"{next(self._numbers)}.parquet"
        with report_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with pq.ParquetWriter(path, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch.cast(schema))
        return self.connection.read_parquet(str(path))


def store_texts(rows: Iterable[tuple[int, Sequence[str]]], names: Sequence[str], workspace: Workspace) -> Source:
    """Store the stripped texts of rows with their numbers as keys; drop rows with a blank text but the negative."""
    counts = Counter({"read": 0, "blank": 0})

    def kept() -> Iterator[tuple[int | str | None, ...]]:
        for number, fields in rows:
            counts["read"] += 1
            texts = [field.strip() for field in fields]
            if all(text or name == "negative" for text, name in zip(texts, names, strict=True)):
                yield number, *(text or None for text in texts)
            else:
                counts["blank"] += 1

    schema = pa.schema([("key", pa.int64()), *((name, pa.string()) for name in names)])
    return Source(workspace.store(kept(), schema), counts)


def file_kind(path: Path) -> str:
    """Return the extension of a file's name, without that of its compression: csv, tsv, and parquet for a folder."""
    if path.is_dir():
        return "parquet"
    return Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.removeprefix(".").lower()


def read_fields(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and the chosen columns of each row of a Parquet, csv or else unquoted tab-separated file."""
    kind = file_kind(path)
    if kind == "parquet":
        return _parquet_fields(path, [str(column) for column in columns])
    return read_columns(path, columns, "," if kind == "csv" else "\t", quoted=kind == "csv")


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names in the first line of a text table."""
    is_csv = file_kind(path) == "csv"
    for _, names in read_rows(path, "," if is_csv else "\t", quoted=is_csv):
        if names:
            return tuple(names)
    raise EaseError(f"{path} is empty: give a file with a header.")


def _parquet_fields(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    try:
        source = pads.dataset(path, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{path} is not Parquet: {str(error).splitlines()[0]}") from error
    find_columns(path, names, source.schema.names)
    number = count(1)
    for batch in source.to_batches(columns=names, batch_size=BATCH_ROWS):
        try:
            texts = [[value or "" for value in batch[name].cast(pa.string()).to_pylist()] for name in names]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise EaseError(f"{path}: {', '.join(names)} hold no texts: {error}") from error
        yield from ((next(number), fields) for fields in zip(*texts, strict=True))


def check_languages(column: ir.StringColumn, wanted: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the sorted languages of a file."""
    found = tuple(sorted(column.name("language").as_table().distinct()["language"].to_pyarrow().to_pylist()))
    if absent := [language for language in wanted if language not in found]:
        named = ", ".join(filter(None, found))
        raise EaseError(
            f"{path} has nothing in {', '.join(absent)}: "
            f"{f'it has {named}; choose from these' if named else 'it names no languages; leave `languages` null'}."
        )
    return found


def random_pairs(table: ir.Table, seed: int, draws: tuple[int, int], within: Sequence[str] = ()) -> ir.Table:
    """Join two random orders of the rows; a row that meets itself is dropped.

    Args:
        table: Columns key, sentence and positive.
        seed: Seed of the orders.
        draws: Identifiers of the two draws.
        within: Columns in which both rows of a pair are equal.

    Returns:
        Columns key, sentence and positive: the sentence of one row and the positive of another.
    """
    left, right = (
        ibis.row_number().over(group_by=list(within), order_by=[draw(seed, table.key, ibis.literal(number)), table.key])
        for number in draws
    )
    placed = table.mutate(left=left, right=right)
    sentences = placed.select(*within, "key", "sentence", place="left")
    positives = placed.select(*within, "positive", other="key", place="right")
    paired = sentences.inner_join(positives, [*within, "place"])
    return paired.filter(paired.key != paired.other).select("key", "sentence", "positive")
