"""Readers of the Parquet tables of a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from numpy.typing import NDArray

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
    values = pa.array([], _value_type(source.schema.field(name).type))
    for batch in source.to_batches(columns=[name]):
        column = batch.column(name)
        found = (pc.list_flatten(column) if pa.types.is_nested(column.type) else column).drop_null().unique()
        values = pa.concat_arrays([values, found]).unique()
    return np.sort(values.to_numpy(zero_copy_only=False))


def _value_type(column: pa.DataType) -> pa.DataType:
    return column.value_type if pa.types.is_nested(column) else column


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
