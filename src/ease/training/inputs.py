"""Readers of the Parquet tables of a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ease.errors import EaseError

ENTITY_COLUMNS = ("entity", "hard_negative")
LANGUAGE = "language"
FURTHER, SUBJECT = "further_entities", "subject"
"""Further positives of a pair: the other entities of its sentence, and its page's subject"""
NEGATIVE_COLUMNS = ("hard_negative", "negative")
"""Hard negatives of pairs and of training texts"""


def entity_columns(further: bool, subjects: bool) -> tuple[str, ...]:
    """Return the columns of a training's entities, with further entities of each sentence and its page's subject."""
    return (*ENTITY_COLUMNS, *((FURTHER,) if further else ()), *((SUBJECT,) if subjects else ()))


def has_hard_negatives(pairs: Path) -> bool:
    """Return whether any row of a training's Parquet file has a hard negative, a text or an entity."""
    source = pads.dataset(pairs, format="parquet")
    columns = [name for name in NEGATIVE_COLUMNS if name in source.schema.names]
    return any(source.filter(pads.field(name).is_valid()).head(1).num_rows for name in columns)


def open_pair_table(pairs: Path, columns: Sequence[str]) -> pads.Dataset:
    """Open training pairs, a Parquet file or a folder of them, for reading in batches.

    Raises:
        EaseError: If there are no rows, one of the columns is missing, or the file is not Parquet.
    """
    if not pairs.exists():
        raise EaseError(f"Training pairs {pairs}: there is no such file or folder.")
    try:
        source = pads.dataset(pairs, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"Training pairs {pairs} are not Parquet: {str(error).splitlines()[0]}") from error
    missing = [name for name in columns if name not in source.schema.names]
    if missing:
        raise EaseError(
            f"Training pairs {pairs} lack the column(s) {', '.join(missing)}; "
            f"they have {', '.join(source.schema.names)}."
        )
    if not source.count_rows():
        raise EaseError(f"Training pairs {pairs} have no pair: loosen the filters that made them.")
    return source


def distinct(source: pads.Dataset, name: str) -> NDArray[Any]:
    """Return the distinct values of a column, or of a column of lists, sorted."""
    kind = source.schema.field(name).type
    values = pa.array([], kind.value_type if pa.types.is_nested(kind) else kind)
    for batch in source.to_batches(columns=[name]):
        column = batch.column(name)
        found = (pc.list_flatten(column) if pa.types.is_nested(column.type) else column).drop_null().unique()
        values = pa.concat_arrays([values, found]).unique()
    return np.sort(values.to_numpy(zero_copy_only=False))


def count_rows(table: Path) -> int:
    """Return the number of rows of a Parquet file or folder."""
    try:
        rows: int = pads.dataset(table, format="parquet").count_rows()
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{table} is not Parquet: {str(error).splitlines()[0]}") from error
    return rows


def read_vocabulary(vocabulary: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the vocabulary's entities, sorted, and the row of each."""
    try:
        table = pq.read_table(vocabulary, columns=["row", "entity"])
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"Entity vocabulary {vocabulary}: {str(error).splitlines()[0]}") from error
    if not len(table):
        raise EaseError(f"Entity vocabulary {vocabulary} has no entity.")
    entities, rows = table["entity"].to_numpy(), table["row"].to_numpy()
    order = np.argsort(entities)
    return entities[order], rows[order]


BLOCK_ROWS = 65_536
"""Rows of embeddings read at a time."""


class UsedEntities(NamedTuple):
    """The entities of training pairs, a subset of the vocabulary.

    Row i of the training's table is row `vocabulary_rows[i]` of the vocabulary.
    """

    ids: NDArray[np.int64]
    """Sorted"""
    rows: NDArray[np.int64]
    """The row in the training's table for each id"""
    vocabulary_rows: NDArray[np.int64]
    """Ascending"""

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of ids in the training's table."""
        return self.rows[np.searchsorted(self.ids, ids)]


def used_entities(pairs: Path, vocabulary: Path, columns: Sequence[str] = ENTITY_COLUMNS) -> UsedEntities:
    """Return the entities in columns of training pairs, which may hold lists; `entity` has one in every row.

    Raises:
        EaseError: If an entity is missing or is not in the vocabulary.
    """
    known, rows = read_vocabulary(vocabulary)
    source = open_pair_table(pairs, columns)
    missing = source.count_rows(filter=pads.field("entity").is_null())
    if missing:
        raise EaseError(f"Training pairs {pairs}: {missing} entities are missing.")
    if "hard_negative" in columns:
        equal = source.scanner(columns={"equal": pads.field("entity") == pads.field("hard_negative")})
        row = pc.index(equal.to_table()["equal"], True).as_py()
        if row >= 0:
            raise EaseError(
                f"Training pairs {pairs}: the hard negative of row {row} is the pair's own entity: give another, or "
                "null."
            )
    used = np.empty(0, dtype=np.int64)
    for name in columns:
        found = distinct(source, name)
        unknown = np.setdiff1d(found, known, assume_unique=True)
        if unknown.size:
            raise EaseError(
                f"Training pairs {pairs}: {name.replace('_', ' ')} {unknown[0]} is not in the entity vocabulary; "
                "the pairs and the vocabulary are of different runs, or the vocabulary was cut."
            )
        used = np.union1d(used, found)
    wanted = rows[np.searchsorted(known, used)]
    vocabulary_rows = np.sort(wanted)
    return UsedEntities(used, np.searchsorted(vocabulary_rows, wanted), vocabulary_rows)


def read_table(path: Path, rows: NDArray[np.int64] | None = None, *, total: int | None = None) -> Tensor:
    """Read entity embeddings from a safetensors file with one matrix, in single precision.

    Memory is bounded by the rows that are read, which are ascending; `total` is the vocabulary's number of rows.

    Raises:
        EaseError: If the file is missing, is not one matrix, or has another number of rows.
    """
    try:
        with safe_open(path, framework="pt") as tensors:
            names = list(tensors.keys())
            if len(names) != 1:
                raise EaseError(f"Entity embeddings {path}: expected one tensor, found {len(names)}.")
            stored = tensors.get_slice(names[0])
            shape = stored.get_shape()
            if len(shape) != 2:
                raise EaseError(
                    f"Entity embeddings {path}: expected a matrix, found the shape {tuple(shape)}."
                )
            if total not in (None, shape[0]):
                raise EaseError(
                    f"{path} has {shape[0]} rows, and the vocabulary {total} entities: row i of the embeddings is "
                    "entity i of the vocabulary, so make both in one run."
                )
            wanted = np.arange(shape[0]) if rows is None else rows
            table = torch.empty(len(wanted), shape[1])
            for start in range(0, shape[0], BLOCK_ROWS):
                first, last = np.searchsorted(wanted, [start, start + BLOCK_ROWS])
                table[first:last] = stored[start : start + BLOCK_ROWS][wanted[first:last] - start]
    except (OSError, SafetensorError) as error:
        raise EaseError(f"Entity embeddings {path} are not a safetensors file: {error}") from error
    return table
