"""Code that several kinds of training texts share: options, the workspace, readers of tables, and random pairs."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from ease.entities.hashing import draw
from ease.errors import EaseError
from ease.io.contents import explain_fault
from ease.io.files import report_write_errors
from ease.io.text_tables import Column, find_columns, read_columns, read_rows
from ease.lazy import ibis, ir
from ease.options import StrictModel

TEXT_COLUMNS = ("sentence", "positive", "negative")
"""The columns of texts; only the sentence is never null."""
BATCH_ROWS = 8192
"""Rows held in memory while a file is read"""


class SourceTexts(NamedTuple):
    """Texts read from a source."""

    table: ir.Table
    """Columns key (a distinct integer that orders the rows), sentence and, in some kinds, positive and negative"""
    counts: Mapping[str, int]
    """Numbers of read rows, and of dropped rows by reason"""

    def without_repetitions(self) -> SourceTexts:
        """Return the first text with each sentence; the repeated texts are counted."""
        first = self.table.group_by("sentence").agg(key=self.table.key.min())
        table = self.table.semi_join(first, "key")
        repeated = int(self.table.count().execute()) - int(table.count().execute())
        return SourceTexts(table, {**self.counts, "repeated": repeated})


class SourceOptions(StrictModel):
    """Options of one source of training texts; each kind's subclass adds its own."""

    title: ClassVar[str]
    """Name of the texts in the model card"""
    reads_pairs: ClassVar[bool] = False
    """Whether the texts are the setting's pairs; texts from neither pairs nor `places` are made by this project"""

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
        """All files and folders that must exist before a run: `places`, and a folder's file for each language."""
        return self.places

    @abstractmethod
    def read(self, workspace: Workspace, seed: int) -> SourceTexts:
        """Return the texts, stored in the workspace.

        Args:
            workspace: Folder and DuckDB for the texts.
            seed: Seed of random choices.

        Raises:
            EaseError: If the source cannot be read.
        """


class FileOptions(SourceOptions):
    """A source in one file or folder."""

    path: Path = Field(description="the file or folder")

    @property
    def places(self) -> tuple[Path, ...]:
        """The file or folder."""
        return (self.path,)


class Workspace:
    """A folder of Parquet files, which the caller removes, and a DuckDB of its own, which spills into the folder."""

    def __init__(
        self, folder: Path, memory_limit: str | None = None, threads: int | None = None, pairs: ir.Table | None = None
    ) -> None:
        """Connect to DuckDB.

        Args:
            folder: Folder of the files; created if missing.
            memory_limit: In DuckDB's notation, such as `4GB`.
            threads: Threads of DuckDB.
            pairs: The setting's training pairs, on any engine.
        """
        limits = {"memory_limit": memory_limit, "threads": threads}
        settings = {name: value for name, value in limits.items() if value is not None}
        self.connection = ibis.duckdb.connect(":memory:", temp_directory=str(folder / "spill"), **settings)
        self.folder = folder
        self.pairs = pairs
        self._numbers = count()

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


def store_texts(rows: Iterable[tuple[int, Sequence[str]]], names: Sequence[str], workspace: Workspace) -> SourceTexts:
    """Store the stripped texts of rows with their numbers as keys.

    A row with a blank text is dropped and counted; only a negative may be blank, and becomes null.
    """
    counts = Counter({"read": 0, "blank": 0})

    def complete_rows() -> Iterator[tuple[int | str | None, ...]]:
        for number, fields in rows:
            counts["read"] += 1
            texts = [field.strip() for field in fields]
            if all(text or name == "negative" for text, name in zip(texts, names, strict=True)):
                yield number, *(text or None for text in texts)
            else:
                counts["blank"] += 1

    schema = pa.schema([("key", pa.int64()), *((name, pa.string()) for name in names)])
    return SourceTexts(workspace.store(complete_rows(), schema), counts)


def check_distinct(places: Sequence[object]) -> None:
    """Refuse the same column or file for two texts of a row, which would then be equal."""
    twice = [str(place) for number, place in enumerate(places) if place in places[:number]]
    if twice:
        raise EaseError(f"{twice[0]} is given twice, and both texts would be equal: give each its own column or file.")


def file_kind(path: Path) -> str:
    """Return a file's extension in lower case, without that of its compression; `parquet` for a folder."""
    if path.is_dir():
        return "parquet"
    return Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.removeprefix(".").lower()


def read_text_fields(path: Path, columns: Sequence[Column]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (row number, fields of some columns) for each row of a Parquet, csv or else unquoted tab-separated file."""
    if file_kind(path) == "parquet":
        return _parquet_fields(path, [str(column) for column in columns])
    delimiter = _delimiter(path)
    return read_columns(path, columns, delimiter, quoted=delimiter == ",")


def _delimiter(path: Path) -> str:
    if file_kind(path) == "csv":
        return ","
    return "\t"


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names in the first line of a text table."""
    delimiter = _delimiter(path)
    for _, names in read_rows(path, delimiter, quoted=delimiter == ","):
        if names:
            return tuple(names)
    raise EaseError(f"{path} is empty: give a file with a header.")


def _parquet_fields(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    import pyarrow.dataset as pads  # which imports pandas

    try:
        source = pads.dataset(path, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{path} is not Parquet: {explain_fault(path, error)}") from error
    find_columns(path, names, source.schema.names)
    number = count(1)
    for batch in source.to_batches(columns=names, batch_size=BATCH_ROWS):
        try:
            # A null is a blank text, as in text tables.
            texts = [[value or "" for value in batch[name].cast(pa.string()).to_pylist()] for name in names]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise EaseError(f"{path}: {', '.join(names)} hold no texts: {error}") from error
        yield from ((next(number), fields) for fields in zip(*texts, strict=True))


def check_file_languages(column: ir.StringColumn, languages: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the sorted languages of a file; raises EaseError if one of `languages` is not among them."""
    present = tuple(sorted(column.name("language").as_table().distinct()["language"].to_pyarrow().to_pylist()))
    absent = [language for language in languages if language not in present]
    if absent:
        # A file that names no languages has the empty one alone.
        choices = ", ".join(filter(None, present))
        advice = "it names no languages; leave `languages` null"
        if choices:
            advice = f"it has {choices}; choose from these"
        raise EaseError(f"{path} has nothing in {', '.join(absent)}: {advice}.")
    return present


def random_pairs(table: ir.Table, seed: int, draws: tuple[int, int], within: Sequence[str] = ()) -> ir.Table:
    """Return each sentence with the positive of a random row; a row that meets itself is dropped.

    Args:
        table: Columns key, sentence and positive.
        seed: Seed of the orders.
        draws: Identifiers of the two draws.
        within: Columns in which both rows of a pair are equal.

    Returns:
        Columns key, sentence and positive: the sentence of one row and the positive of another row.
    """
    # Two random orders are joined by place: every text occurs once on either side, which independent draws of
    # positives would not give.
    left, right = (
        ibis.row_number().over(group_by=list(within), order_by=[draw(seed, table.key, ibis.literal(number)), table.key])
        for number in draws
    )
    ordered = table.mutate(left=left, right=right)
    sentences = ordered.select(*within, "key", "sentence", place="left")
    positives = ordered.select(*within, "positive", other="key", place="right")
    paired = sentences.inner_join(positives, [*within, "place"])
    return paired.filter(paired.key != paired.other).select("key", "sentence", "positive")
