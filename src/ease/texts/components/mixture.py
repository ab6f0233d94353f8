"""Sources of training texts, and their mixture by weights and languages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pydantic import Field

from ease.entities.hashing import as_int64, draw
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.io.lazy import ibis
from ease.io.models import StrictModel
from ease.io.text_tables import Column, find_columns, read_columns, read_header

if TYPE_CHECKING:
    import ibis.expr.types as ir

logger = logging.getLogger(__name__)


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


BATCH_ROWS = 8192
"""Rows held in memory while a file is read."""


@dataclass(frozen=True)
class Workspace:
    """A connection and a folder of Parquet files, which the caller removes."""

    connection: Any
    """An Ibis connection to DuckDB, which spills to disk"""
    folder: Path
    pairs: ir.Table | None = None
    """The setting's training pairs, on their own connection; None if there are none"""
    _numbers: Iterator[int] = field(default_factory=count)

    def store(self, rows: Iterable[Sequence[Any]], schema: pa.Schema) -> ir.Table:
        """Write rows in batches to a file, and return it as a table."""
        return self.store_batches(_batches(rows, schema), schema)

    def store_batches(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> ir.Table:
        """Write batches to a file, and return it as a table."""
        path = self.folder / f"{next(self._numbers)}.parquet"
        with report_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with pq.ParquetWriter(path, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch.cast(schema))
        return self.connection.read_parquet(str(path))


def open_workspace(
    folder: Path, memory_limit: str | None = None, threads: int | None = None, pairs: ir.Table | None = None
) -> Workspace:
    """Return a workspace with its own DuckDB, which spills into the folder; the caller removes the folder.

    Args:
        folder: Folder for files.
        memory_limit: In DuckDB's notation, such as `4GB`; None for its default.
        threads: Number of threads; None for all cores.
        pairs: The setting's training pairs, on any engine.
    """
    limits = {"memory_limit": memory_limit, "threads": threads}
    given = {name: value for name, value in limits.items() if value is not None}
    connection = ibis.duckdb.connect(":memory:", temp_directory=str(folder / "spill"), **given)
    return Workspace(connection, folder, pairs)


def _batches(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH_ROWS)):
        columns = zip(*batch, strict=True)
        arrays = [pa.array(values, type=kind) for values, kind in zip(columns, schema.types, strict=True)]
        yield pa.record_batch(arrays, schema=schema)


def file_kind(path: Path) -> str:
    """Return the extension of a file's name, without that of its compression: csv, tsv, and parquet for a folder."""
    if path.is_dir():
        return "parquet"
    return Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.removeprefix(".").lower()


def read_fields(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and the chosen columns of each row of a Parquet, csv or (otherwise) unquoted tab-separated file.

    Raises:
        EaseError: If the file cannot be read, a column is missing, or a line has more or fewer fields than the first.
    """
    kind = file_kind(path)
    if kind == "parquet":
        return _parquet_fields(path, [str(column) for column in columns])
    return read_columns(path, columns, "," if kind == "csv" else "\t", quoted=kind == "csv")


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names in the first line of a text table."""
    kind = file_kind(path)
    if names := read_header(path, "," if kind == "csv" else "\t", quoted=kind == "csv"):
        return names
    raise EaseError(f"{path} is empty: give a file with a header.")


def _parquet_fields(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    try:
        source = pads.dataset(path, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{path} is not Parquet: {str(error).splitlines()[0]}") from error
    find_columns(path, names, source.schema.names)
    number = 0
    for batch in source.to_batches(columns=names, batch_size=BATCH_ROWS):
        texts = []
        for name in names:
            try:
                texts.append([value or "" for value in batch[name].cast(pa.string()).to_pylist()])
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise EaseError(f"{path}: column {name} holds {batch[name].type} instead of text.") from error
        for fields in zip(*texts, strict=True):
            number += 1
            yield number, fields


def check_languages(column: ir.StringColumn, wanted: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the sorted languages of a file.

    Raises:
        EaseError: If a wanted language is missing, with the existing ones.
    """
    found = tuple(sorted(column.name("language").as_table().distinct()["language"].to_pyarrow().to_pylist()))
    absent = [language for language in wanted if language not in found]
    if absent:
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
        ibis.row_number().over(
            group_by=[table[name] for name in within],
            order_by=[draw(seed, table.key, ibis.literal(number)), table.key],
        )
        for number in draws
    )
    placed = table.mutate(left=left, right=right)
    sentences = placed.select(*within, "key", "sentence", place="left")
    positives = placed.select(*within, other="key", positive="positive", place="right")
    paired = sentences.inner_join(positives, [*within, "place"])
    return paired.filter(paired.key != paired.other).select("key", "sentence", "positive")


Read = Callable[[SourceOptions, Workspace, int], Source]
"""Reads a source with a seed."""


class Gathered(NamedTuple):
    """The texts of all sources, and a report of each source."""

    table: ir.Table
    """Columns pair_id (0 to n - 1), sentence, positive, negative (both may be null), ordered by pair_id"""
    report: list[dict[str, Any]]
    """For each source its kind, place, counts of read and dropped rows, and the rows taken"""


def gather(
    readers: Sequence[tuple[SourceOptions, Read]], workspace: Workspace, seed: int, rows: int | None
) -> Gathered:
    """Read the sources and mix them, ordered by source and key.

    Raises:
        EaseError: If there is no source, or a source has fewer texts than are to be drawn.
    """
    if not readers:
        raise EaseError("`data` names no source of training texts: give at least one.")
    tables: list[ir.Table] = []
    report: list[dict[str, Any]] = []
    for number, (options, read) in enumerate(readers):
        source = read(options, workspace, seed)
        table = source.table.mutate(ticket=draw(seed, ibis.literal(number), source.table.key))
        available = int(table.count().execute())
        _check_available(options, available, source.counts)
        tables.append(table)
        places = " and ".join(map(str, options.places))
        report.append({"kind": options.kind, "place": places, **source.counts, "available": available})
    quotas = _quotas([options for options, _ in readers], [line["available"] for line in report], rows)
    parts = []
    for number, (table, quota, line) in enumerate(zip(tables, quotas, report, strict=True)):
        # If all rows are taken, they need not be sorted by ticket.
        parts.append(
            _with_all_columns(table if quota == line["available"] else _lowest(table, quota), number)
        )
        line["taken"] = quota
        counted = ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in line.items() if value != ""
        )
        logger.info("Training texts: %s", counted)
    mixed = reduce(lambda left, right: left.union(right), parts)
    pair_id = as_int64(ibis.row_number().over(order_by=[mixed.source, mixed.key]))
    return Gathered(mixed.select(*COLUMNS, pair_id=pair_id).relocate("pair_id").order_by("pair_id"), report)


def _check_available(options: SourceOptions, available: int, counts: Mapping[str, int]) -> None:
    place = " and ".join(map(str, options.places)) or "the setting's own"
    counted = ", ".join(f"{name} {count}" for name, count in counts.items())
    if not available:
        raise EaseError(f"Training texts of kind {options.kind!r} ({place}): none is left ({counted}).")
    if options.rows and available < options.rows:
        raise EaseError(
            f"Training texts of kind {options.kind!r} ({place}): `rows` asks for {options.rows}, but there are "
            f"{available} ({counted}): lower it, or set it to null for all."
        )


def _quotas(sources: Sequence[SourceOptions], available: Sequence[int], rows: int | None) -> list[int]:
    """Return the number of rows to draw from each source.

    Raises:
        EaseError: If only some sources have a weight, or the sources have fewer rows than `rows`.
    """
    sizes = [options.rows or count for options, count in zip(sources, available, strict=True)]
    weighted = [options.weight for options in sources if options.weight is not None]
    if weighted and len(weighted) < len(sources):
        raise EaseError("Some sources in `data` have a `weight` and others none: set it for all or for none.")
    weights = weighted or [float(size) for size in sizes]
    total = sum(weights)
    # Rounding may leave a quotient just below the integer that it should be.
    most = min(int(size * total / weight + 1e-9) for size, weight in zip(sizes, weights, strict=True))
    if not weighted:
        most = sum(sizes)
    if rows is not None and rows > most:
        raise EaseError(
            f"`rows` asks for {rows} training texts, but the sources in `data`, which have "
            f"{', '.join(map(str, sizes))}, give {most} at their weights: lower `rows`, or change the weights."
        )
    return _apportion(rows or most, weights, sizes)


def _apportion(rows: int, weights: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """Apportion rows to sources by the largest remainder."""
    exact = [rows * weight / sum(weights) for weight in weights]
    quotas = [min(int(share + 1e-9), size) for share, size in zip(exact, sizes, strict=True)]
    by_remainder = sorted(range(len(exact)), key=lambda number: (quotas[number] - exact[number], number))
    for number in by_remainder[: rows - sum(quotas)]:
        quotas[number] += 1
    return quotas


def _lowest(table: ir.Table, rows: int) -> ir.Table:
    """Return the rows with the lowest tickets."""
    return table.order_by([table.ticket, table.key]).limit(rows)


def _with_all_columns(table: ir.Table, number: int) -> ir.Table:
    """Add the missing text columns to a source's table, as nulls."""
    texts = {name: table[name] if name in table.columns else ibis.null("string") for name in COLUMNS}
    return table.select(source=ibis.literal(number), key=as_int64(table.key), **texts)
