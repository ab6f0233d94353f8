"""The entities nearest to a text: rows of a model's entity table, by its trained projection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ease.errors import EaseError
from ease.evaluation.search import nearest_neighbours
from ease.io.atomic import atomic_path
from ease.io.files import read_json
from ease.io.lazy import ibis
from ease.io.parquet import read_parquet

TABLE, PROJECTION, ROWS = "method.table.weight", "method.projection", "vocabulary_rows"
BLOCK = 65_536
"""Rows of the table projected at once."""


class ProjectedEntities:
    """The projected entity table of a model, mapped from the disk."""

    def __init__(self, vectors: Path, entities: NDArray[np.int64]) -> None:
        """Open the file of projected vectors, whose row i is entity i."""
        self._vectors: NDArray[np.float32] = np.load(vectors, mmap_mode="r")
        self._entities = entities

    def nearest(self, embedding: NDArray[np.floating], k: int) -> list[tuple[int, float]]:
        """Return the k entities with the highest cosine, and the cosines."""
        found = nearest_neighbours(embedding[None], self._vectors, k)
        return [
            (int(self._entities[row]), float(cosine))
            for row, cosine in zip(found.rows[0], found.cosines[0], strict=True)
        ]


def open_entities(parts: Path, vocabulary: list[Path], folder: Path) -> ProjectedEntities | None:
    """Project the entity table of a model once, and open it; None for a model without such a table.

    Args:
        parts: The parameters trained beside the encoder.
        vocabulary: Files of the entity vocabulary of the training.
        folder: Where the projected table is kept: the model's index.

    Raises:
        EaseError: If the parameters are broken, or of another vocabulary.
    """
    if not parts.is_file():
        return None
    try:
        with safe_open(parts, framework="np") as tensors:
            if not {TABLE, f"{PROJECTION}.weight", ROWS} <= set(tensors.keys()):
                return None
            rows = tensors.get_tensor(ROWS).astype(np.int64)
            target = folder / "entities.npy"
            if not target.exists():
                _project(parts, target)
    except (OSError, SafetensorError) as error:
        raise EaseError(f"{parts} is not a safetensors file: {error}") from error
    if not vocabulary:
        raise EaseError(f"The entity vocabulary of {parts} is missing: run the pipeline `entity_pairs`.")
    known = pq.read_table(vocabulary, columns=["row", "entity"]).sort_by("row")
    if len(rows) and rows.max() >= len(known):
        raise EaseError(
            f"{parts} was trained with another entity vocabulary than {vocabulary[0]}: train again."
        )
    return ProjectedEntities(target, known["entity"].to_numpy()[rows])


def _project(parts: Path, target: Path) -> None:
    """Write the rows of the table, projected into the space of the encoder, float32."""
    method = read_json(parts.parent / "method.json") or {}
    nonlinear = method.get("options", {}).get("projection") == "tanh"
    with safe_open(parts, framework="pt") as tensors:
        weight = tensors.get_tensor(f"{PROJECTION}.weight").float()
        has_bias = f"{PROJECTION}.bias" in tensors.keys()
        bias = tensors.get_tensor(f"{PROJECTION}.bias").float() if has_bias else torch.zeros(len(weight))
        table = tensors.get_slice(TABLE)
        count = table.get_shape()[0]
        with atomic_path(target) as partial:
            vectors = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float32, shape=(count, len(weight))
            )
            for start in range(0, count, BLOCK):
                projected = table[start : start + BLOCK].float() @ weight.T + bias
                vectors[start : start + BLOCK] = (projected.tanh() if nonlinear else projected).numpy()
            vectors.flush()


class Link(NamedTuple):
    """An entity, as a reader sees it."""

    entity: int
    """Wikidata's number; a negative hash of the title without Wikidata"""
    label: str
    """In the reader's language if it has one"""


class Labels:
    """Labels of entities: the title in a language, else the vocabulary's label, else what a link said."""

    def __init__(self, sitelinks: list[Path], vocabulary: list[Path]) -> None:
        """Name the files of both tables; either may be empty. They are read when labels are wanted."""
        self._sitelinks, self._vocabulary = sitelinks, vocabulary
        self._known: dict[tuple[str, int], str] = {}

    def find(
        self, wanted: Iterable[int], language: str, titles: dict[int, str] | None = None
    ) -> dict[int, str]:
        """Return the label of each entity; `titles` are those of links to it."""
        entities = list(dict.fromkeys(wanted))
        self._read([entity for entity in entities if (language, entity) not in self._known], language)
        linked = titles or {}
        return {
            entity: self._known.get((language, entity))
            or linked.get(entity)
            or (f"Q{entity}" if entity > 0 else "?")
            for entity in entities
        }

    def _read(self, entities: list[int], language: str) -> None:
        if not entities:
            return
        found: dict[int, str] = dict.fromkeys(entities, "")
        engine = ibis.duckdb.connect()
        if self._vocabulary:
            table = read_parquet(engine, self._vocabulary).select("entity", "label")
            rows = table.filter(table.entity.isin(entities)).to_pandas()
            found |= dict(zip(rows["entity"].tolist(), rows["label"].tolist(), strict=True))
        if self._sitelinks:
            table = read_parquet(engine, self._sitelinks)
            own = table.filter(table.qid.isin(entities) & (table.language == language)).to_pandas()
            found |= dict(zip(own["qid"].tolist(), own["title"].tolist(), strict=True))
        engine.disconnect()
        self._known |= {(language, entity): label or "" for entity, label in found.items()}
