"""Entities of a table in memory: their numbers, which a training reads, and their initial embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import ArrayLike
from safetensors.numpy import save_file

from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.training.inputs import FURTHER


def number_entities(table: pa.Table, names: Sequence[str]) -> tuple[pa.Table, pa.Array]:
    """Replace entities by their numbers in sorted order.

    Args:
        table: Pairs, with integers or texts for entities.
        names: The columns of entities; those that the table lacks are added without values.

    Returns:
        The table, and the entities, int64 or text, sorted.

    Raises:
        EaseError: If the columns hold other types than integers or texts, or different ones.
    """
    columns = {name: _entities_in(table, name) for name in names}
    kinds = {name: column.values.type for name, column in columns.items() if not _is_null(column.values)}
    if len(set(kinds.values())) > 1:
        different = ", ".join(f"{name!r} holds {kind}" for name, kind in kinds.items())
        raise EaseError(
            f"The columns of entities differ: {different}. Give integers in all of them, or texts."
        )
    entities = pa.chunked_array([columns[name].values for name in kinds]).unique().drop_null().sort()
    for name, (values, offsets) in columns.items():
        numbers = pc.index_in(values.cast(entities.type), entities).cast(pa.int64())
        if offsets is not None:
            numbers = pa.ListArray.from_arrays(offsets, numbers)
        table = table.drop_columns([name] if name in table.column_names else []).append_column(name, numbers)
    return table, entities


def write_initial_entities(
    entities: pa.Array, embeddings: Mapping[Any, ArrayLike] | None, dimension: int, seed: int, folder: Path
) -> dict[str, Path]:
    """Write the vocabulary and the initial embeddings of entities.

    Args:
        entities: The entities, in the order of their numbers.
        embeddings: The embedding of each entity. None: random ones.
        dimension: Of random embeddings.
        seed: Of random embeddings.
        folder: Receives the files.

    Returns:
        The files by their names in a training job.

    Raises:
        EaseError: If an entity has no embedding, or the embeddings differ in length.
    """
    files = {"vocabulary": folder / "vocabulary.parquet", "table": folder / "embeddings.safetensors"}
    initial = _initial(entities.to_pylist(), embeddings, dimension, seed)
    numbers = pa.array(np.arange(len(entities)), pa.int64())
    with atomic_path(files["vocabulary"]) as partial:
        pq.write_table(pa.table({"row": numbers, "entity": numbers}), partial)
    with atomic_path(files["table"]) as partial:
        save_file({"embeddings": initial}, partial)
    return files


def may_be_text(column: pa.DataType) -> bool:
    """Return whether a column may hold texts; one of nulls alone has a type of its own."""
    values = column.value_type if pa.types.is_dictionary(column) else column
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_kind(values) for is_kind in kinds)


class _Entities(NamedTuple):
    """The entities of a column."""

    values: pa.Array
    """int64 or text; null if the column has no values"""
    offsets: pa.Array | None = None
    """(pairs + 1,), the first value of each pair's list; None if the column has no lists"""


def _entities_in(table: pa.Table, name: str) -> _Entities:
    """Return a column's entities; nulls in lists are skipped."""
    given = table[name].combine_chunks() if name in table.column_names else pa.nulls(len(table))
    if name != FURTHER:
        return _Entities(_as_entities(given, name))
    lists = given.cast(pa.list_(pa.null())) if _is_null(given) else given
    values, owners = pc.list_flatten(lists), pc.list_parent_indices(lists)
    counts = np.bincount(owners.filter(values.is_valid()).to_numpy(), minlength=len(table))
    offsets = pa.array(np.concatenate([[0], counts.cumsum()]), pa.int32())
    return _Entities(_as_entities(values.drop_null(), name), offsets)


def _as_entities(values: pa.Array, name: str) -> pa.Array:
    """Convert entities to int64 or text; integers with nulls are floating-point numbers in pandas."""
    wanted = pa.string() if may_be_text(values.type) else pa.int64()
    try:
        return values if _is_null(values) else values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EaseError(
            f"The column {name!r} holds {values.type}: give integers or texts. {error}"
        ) from error


def _is_null(values: pa.Array) -> bool:
    """Return whether a column has nulls alone, so that its type is unknown."""
    return bool(pa.types.is_null(values.type))


def _initial(
    names: list[Any], embeddings: Mapping[Any, ArrayLike] | None, dimension: int, seed: int
) -> np.ndarray:
    """Stack the initial embeddings of entities, (entities, dimension), in single precision."""
    if embeddings is None:
        scale = 1 / np.sqrt(dimension)
        return np.random.default_rng(seed).normal(0, scale, (len(names), dimension)).astype(np.float32)
    lacking = [entity for entity in names if entity not in embeddings]
    if lacking:
        raise EaseError(
            f"{len(lacking)} entities have no embedding in `entity_embeddings`, such as {lacking[0]!r}: add theirs, or "
            "omit the parameter for random ones."
        )
    rows = [np.asarray(embeddings[entity], dtype=np.float32) for entity in names]
    for entity, row in zip(names, rows, strict=True):
        if row.ndim != 1 or row.shape != rows[0].shape:
            raise EaseError(
                f"In `entity_embeddings`, {names[0]!r} has the shape {rows[0].shape} and {entity!r} {row.shape}: give "
                "vectors of one length."
            )
    return np.stack(rows)
