"""Entities nearest to a text: rows of a trained entity table, or means of the sentences that link to an entity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from scipy.sparse import csr_array

from ease.errors import EaseError
from ease.io.atomic import atomic_folder, atomic_path
from ease.io.files import read_json
from ease.io.parquet import read_parquet
from ease.lazy import ibis
from ease.search.index import INDEX_SENTENCES, MEMORY_MEGABYTES, ROW_GROUP, Index, ParquetRows
from ease.similarity.neighbours import nearest_neighbours
from ease.similarity.vectors import normalize_rows, unit_or_zero_rows
from ease.training.entity_files import PARTS, PROJECTION, ROWS, TABLE, has_entities

VECTOR_ROWS = 65_536
"""Rows of the table projected, or of the means normalised, at once"""


class EntityVectors:
    """Unit vectors of entities, mapped from the disk."""

    def __init__(self, vectors: Path, rows: Callable[[NDArray[np.int64]], list[dict[str, Any]]], source: str) -> None:
        """Open the file of vectors.

        Args:
            vectors: (entities, dimension), float32.
            rows: Returns the entity and, where known, a title for each row number.
            source: Where the vectors come from, as a sentence for the page.
        """
        self._vectors: NDArray[np.float32] = np.load(vectors, mmap_mode="r")
        self._rows = rows
        self.source = source

    def __len__(self) -> int:
        return len(self._vectors)

    def nearest(self, embedding: NDArray[np.floating], k: int) -> list[tuple[dict[str, Any], float]]:
        """Return the rows of the k entities with the highest cosine, and the cosines."""
        unit = normalize_rows(embedding[None], "queries")
        neighbours = nearest_neighbours(unit, self._vectors, k, unit_rows=True)
        return list(zip(self._rows(neighbours.rows[0]), neighbours.cosines[0].tolist(), strict=True))


def open_entities(encoder: Path, vocabulary: list[Path], index: Index) -> EntityVectors | None:
    """Return the entities of a saved encoder; the first call writes their vectors into the folder of its index.

    If the encoder was trained without an entity table, each entity is the mean of the sentences that link to it. The
    result is None if that index is not complete or has no links.

    Raises:
        EaseError: If the vocabulary of the entity table is missing, or is another one.
    """
    if not has_entities(encoder):
        return _open_means(index)
    parts = encoder / PARTS
    with safe_open(parts, framework="np") as tensors:
        numbers = tensors.get_tensor(ROWS).astype(np.int64)
    target = index.folder / "trained_entities.npy"
    if not target.exists():
        _project(parts, target)
    if not vocabulary:
        raise EaseError(f"The entity vocabulary of {parts} is missing: run the pipeline `entity_pairs`.")
    by_row = pq.read_table(vocabulary, columns=["row", "entity"]).sort_by("row")
    if len(numbers) and numbers.max() >= len(by_row):
        raise EaseError(f"{parts} was trained with another entity vocabulary than {vocabulary[0]}: train again.")
    entities = by_row.select(["entity"]).take(numbers)
    source = "Entities as the model learnt them."
    return EntityVectors(target, lambda rows: entities.take(rows).to_pylist(), source)


def _project(parts: Path, target: Path) -> None:
    """Write the rows of the table, projected into the space of the encoder and scaled to length 1, float32."""
    method = read_json(parts.parent / "method.json") or {}
    nonlinear = method.get("options", {}).get("projection") == "tanh"
    with safe_open(parts, framework="pt") as tensors, atomic_path(target) as partial:
        weight = tensors.get_tensor(f"{PROJECTION}weight").float()
        bias = torch.zeros(len(weight))
        if f"{PROJECTION}bias" in tensors.keys():
            bias = tensors.get_tensor(f"{PROJECTION}bias").float()
        # A slice, since a table of a large vocabulary may not fit into memory.
        table = tensors.get_slice(TABLE)
        shape = (table.get_shape()[0], len(weight))
        vectors = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=shape)
        for start in range(0, len(vectors), VECTOR_ROWS):
            projected = table[start : start + VECTOR_ROWS].float() @ weight.T + bias
            if nonlinear:
                projected = projected.tanh()
            vectors[start : start + VECTOR_ROWS] = unit_or_zero_rows(projected.numpy())
        vectors.flush()


def _open_means(index: Index) -> EntityVectors | None:
    """Return the means of sentences as entities; None if the index is not complete or has no links."""
    folder = index.folder / "mean_entities"
    if not folder.exists():
        if index.embedded() < len(index.sentences):
            return None
        with atomic_folder(folder) as partial:
            _write_means(index, partial)
    entities = ParquetRows(folder / "entities.parquet")
    if not len(entities):
        return None
    source = "Each entity is the mean of the sentences that link to it."
    return EntityVectors(folder / "vectors.npy", entities.rows, source)


def _write_means(index: Index, folder: Path) -> None:
    """Write the linked entities, each with a title of its links, in ascending order, and their sentences' means.

    Memory holds the numbers of the entities, and a block of the index with the sums of its entities.
    """
    engine = ibis.duckdb.connect(memory_limit=f"{MEMORY_MEGABYTES}MB", temp_directory=str(index.folder / "spill"))
    table = read_parquet(engine, [index.folder / INDEX_SENTENCES])
    linked = table.select(entity=table.entities.unnest(), title=table.titles.unnest())
    titles = linked.group_by("entity").agg(title=linked.title.min()).order_by("entity")
    titles.to_parquet(folder / "entities.parquet", row_group_size=ROW_GROUP)
    engine.disconnect()
    entities = pq.read_table(folder / "entities.parquet", columns=["entity"])["entity"].to_numpy()
    blocks = index.vectors()
    shape = (len(entities), blocks[0].shape[1])
    sums = np.lib.format.open_memmap(folder / "vectors.npy", mode="w+", dtype=np.float32, shape=shape)
    for start in index.blocks:
        vectors = blocks[start]
        lists = index.sentences.column("entities", start, start + len(vectors))
        # A sentence may link to an entity by two titles.
        pairs = np.unique(np.stack([pc.list_flatten(lists), pc.list_parent_indices(lists)]), axis=1)
        block_entities, places = np.unique(pairs[0], return_inverse=True)
        links = csr_array((np.ones(len(places), np.float32), (places, pairs[1])), (len(block_entities), len(vectors)))
        sums[np.searchsorted(entities, block_entities)] += links @ vectors
    # The sums need no division: vectors of length 1 have the direction of the means.
    for start in range(0, len(sums), VECTOR_ROWS):
        sums[start : start + VECTOR_ROWS] = unit_or_zero_rows(sums[start : start + VECTOR_ROWS])
    sums.flush()


class EntityLink(NamedTuple):
    """An entity that a sentence links to, or that is near to a text."""

    entity: int
    """Wikidata's number; a negative hash of the title without Wikidata"""
    label: str
    """Name in the reader's language, if the entity has one"""
    cosine: float | None = None
    """Cosine with the text that the entity is near to"""
    translated: bool = True
    """False if the entity is known to have no title in the reader's language, so that the label is in another"""


class EntityLabel(NamedTuple):
    """A label, and whether it is in the reader's language; true where the languages of labels are unknown."""

    text: str
    translated: bool


class EntityLabels:
    """Labels of entities: the title in a language, else the vocabulary's label, else the title of a link."""

    def __init__(self, sitelinks: list[Path], vocabulary: list[Path]) -> None:
        """Keep the files of both tables; either may be empty. They are read when labels are needed."""
        self._sitelinks = sitelinks
        self._vocabulary = vocabulary
        self._cache: dict[tuple[str, int], EntityLabel] = {}

    def find(self, titles: dict[int, str], language: str) -> dict[int, EntityLabel]:
        """Return the label of each entity; `titles` has the title of a link to each."""
        missing = [entity for entity in titles if (language, entity) not in self._cache]
        if missing:
            labels = self._read_labels(missing, language)
            self._cache |= {(language, entity): label for entity, label in labels.items()}
        labels = {}
        for entity, title in titles.items():
            label = self._cache[language, entity]
            # Items of Wikidata have positive numbers; others are hashes, which say nothing to a reader.
            number = "?"
            if entity > 0:
                number = f"Q{entity}"
            labels[entity] = label._replace(text=label.text or title or number)
        return labels

    def _read_labels(self, entities: list[int], language: str) -> dict[int, EntityLabel]:
        """Return the entities' labels from both tables, empty without any."""
        labels: dict[int, str] = dict.fromkeys(entities, "")
        foreign: set[int] = set()
        engine = ibis.duckdb.connect()
        if self._vocabulary:
            table = read_parquet(engine, self._vocabulary)
            rows = table.filter(table.entity.isin(entities))[["entity", "label"]].to_pandas()
            labels |= dict(rows.itertuples(index=False, name=None))
        if self._sitelinks:
            table = read_parquet(engine, self._sitelinks)
            titles = table.filter(table.qid.isin(entities))[["qid", "language", "title"]].to_pandas()
            own_titles = titles[titles["language"] == language]
            labels |= dict(zip(own_titles["qid"], own_titles["title"], strict=True))
            # An entity without any title may have a label in any language.
            foreign = {*titles["qid"]} - {*own_titles["qid"]}
        engine.disconnect()
        return {entity: EntityLabel(label or "", entity not in foreign) for entity, label in labels.items()}
