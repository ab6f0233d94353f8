"""The trained entity table and its projection as files of their own, with the entities' labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import safe_open
from safetensors.numpy import save_file

from ease.errors import EaseError
from ease.io.files import read_json

PARTS = Path("training", "parts.safetensors")
"""File of a saved encoder with the trained parameters beside it, which has these tensors"""
TABLE = "method.table.weight"
PROJECTION = "method.projection."
ROWS = "vocabulary_rows"

TENSORS = "entities.safetensors"
LABELS = "labels.parquet"


def has_entities(encoder: Path) -> bool:
    """Return whether an encoder was saved with an entity table."""
    if not (encoder / PARTS).is_file():
        return False
    with safe_open(encoder / PARTS, framework="np") as parts:
        return {TABLE, ROWS} <= set(parts.keys())


def write_entity_table(encoder: Path, vocabulary: pd.DataFrame, folder: Path) -> int:
    """Write the entity table and the projection of an encoder, and the entity of each row.

    `entities.safetensors` has `embeddings` (entities, size), and `projection.weight` (dimension, size) and where the
    method has one `projection.bias` (dimension,), in single precision. Its metadata has `nonlinearity`: `tanh` if the
    projection ends with one, else `none`. `labels.parquet` has row, entity, label and link_count.

    `vocabulary` is the entity vocabulary of the encoder's training: row, entity, label, link_count.

    Returns:
        The number of entities.
    """
    with safe_open(encoder / PARTS, framework="np") as parts:
        tensors: dict[str, Any] = {"embeddings": parts.get_tensor(TABLE)}
        for name in parts.keys():
            if name.startswith(PROJECTION):
                tensors[name.removeprefix("method.")] = parts.get_tensor(name)
        rows = parts.get_tensor(ROWS)
    entities = vocabulary.set_index("row")
    if len(rows) != len(tensors["embeddings"]) or not np.isin(rows, entities.index.to_numpy()).all():
        raise EaseError(
            f"The entity table of {encoder} was trained with another entity vocabulary: train the encoder again."
        )
    options = (read_json((encoder / PARTS).with_name("method.json")) or {}).get("options", {})
    metadata = {"nonlinearity": "none"}
    if options.get("projection") == "tanh":
        metadata["nonlinearity"] = "tanh"
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(part) for name, part in tensors.items()}, folder / TENSORS, metadata)
    labels = entities.loc[rows, ["entity", "label", "link_count"]].reset_index(drop=True)
    labels.insert(0, "row", np.arange(len(rows)))
    pq.write_table(pa.Table.from_pandas(labels, preserve_index=False), folder / LABELS, compression="zstd")
    return len(rows)
