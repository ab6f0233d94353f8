"""Training pairs and entity embeddings: reading their files, and preparing token ids in a file of fixed-width rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.encoders.prompts import prompt_named
from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.io.contents import explain_fault
from ease.methods.base import SENTENCE, Derive
from ease.methods.components.losses import NO_ENTITY

logger = logging.getLogger(__name__)

ENTITY_COLUMNS = ("entity", "hard_negative")
LANGUAGE_COLUMN = "language"
FURTHER = "further_entities"
"""The other entities of a pair's sentence, which are further positives"""
SUBJECT = "subject"
"""The subject of a pair's page, a further positive"""
NEGATIVE_COLUMNS = ("hard_negative", "negative")
"""Hard negatives of pairs and of training texts"""
READ_ROWS = 8192
"""Pairs tokenised at a time"""
BLOCK_ROWS = 65_536
"""Rows of embeddings read at a time."""


def entity_columns(further: bool, subjects: bool) -> tuple[str, ...]:
    """Return the columns with entities: own entity and hard negative, and the optional further ones and subject."""
    columns = list(ENTITY_COLUMNS)
    if further:
        columns.append(FURTHER)
    if subjects:
        columns.append(SUBJECT)
    return tuple(columns)


def has_hard_negatives(pairs: Path) -> bool:
    """Return whether any training pair has a hard negative, which is a text or an entity."""
    source = pads.dataset(pairs, format="parquet")
    columns = [name for name in NEGATIVE_COLUMNS if name in source.schema.names]
    return any(source.filter(pads.field(name).is_valid()).head(1).num_rows for name in columns)


def open_pair_table(pairs: Path, columns: Sequence[str] = (), what: str = "Training pairs") -> pads.Dataset:
    """Open training pairs, or another table, a Parquet file or a folder of them, for reading in batches."""
    if not pairs.exists():
        raise EaseError(f"{what} {pairs}: there is no such file or folder.")
    try:
        source = pads.dataset(pairs, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise EaseError(f"{what} {pairs}: not Parquet: {explain_fault(pairs, error)}") from error
    names = source.schema.names
    if missing := [name for name in columns if name not in names]:
        raise EaseError(f"{what} {pairs} lack the column(s) {', '.join(missing)}; they have {', '.join(names)}.")
    if not source.count_rows():
        raise EaseError(f"{what} {pairs}: no row is left: loosen the filters that made them.")
    return source


def distinct(source: pads.Dataset, name: str) -> NDArray[Any]:
    """Return the distinct values of a column, or of a column of lists, sorted."""
    values = source.to_table(columns=[name])[name]
    if pa.types.is_nested(values.type):
        values = pc.list_flatten(values)
    return np.sort(values.drop_null().unique().to_numpy(zero_copy_only=False))


def pair_places(source: pads.Dataset) -> NDArray[np.int64]:
    """Return the row of each pair in the prepared file, its rank by pair_id."""
    if "pair_id" not in source.schema.names:
        return np.arange(source.count_rows())
    ids = source.to_table(columns=["pair_id"])["pair_id"]
    return pc.rank(ids, tiebreaker="first").to_numpy().astype(np.int64) - 1


class UsedEntities(NamedTuple):
    """The entities of training pairs, a subset of the vocabulary.

    Row i of the training run's table is row `vocabulary_rows[i]` of the vocabulary.
    """

    ids: NDArray[np.int64]
    """Sorted"""
    rows: NDArray[np.int64]
    """The row in the training run's table for each id"""
    vocabulary_rows: NDArray[np.int64]
    """Ascending"""
    total: int
    """Entities of the vocabulary"""

    def find(self, column: pa.Array, count: int) -> NDArray[np.int64]:
        """Return the rows of a column's entities in the training run's table, (n,).

        Of lists, which are in seeded order, the first `count` are found: (n, count).
        """
        ids = column
        shape: tuple[int, ...] = (-1,)
        if pa.types.is_nested(column.type):
            # Shorter lists are filled with nulls.
            ids = pc.list_slice(column, 0, count, return_fixed_size_list=True).values
            shape = (-1, count)
        rows = np.full(len(ids), NO_ENTITY)
        is_valid = ids.is_valid().to_numpy(zero_copy_only=False)
        rows[is_valid] = self.rows[np.searchsorted(self.ids, ids.drop_null().to_numpy())]
        return rows.reshape(shape)


def used_entities(pairs: Path, vocabulary: Path, columns: Sequence[str] = ENTITY_COLUMNS) -> UsedEntities:
    """Return the entities that columns of training pairs refer to; a column may hold lists.

    Raises:
        EaseError: If a pair has no entity, its hard negative is its own entity, or an entity is not in the vocabulary.
    """
    names = ["row", "entity"]
    table = open_pair_table(vocabulary, names, "Entity vocabulary").to_table(columns=names)
    vocabulary_rows, vocabulary_ids = (column.to_numpy() for column in table.sort_by("entity").columns)
    source = open_pair_table(pairs, columns)
    if missing := source.count_rows(filter=pads.field("entity").is_null()):
        raise EaseError(f"Training pairs {pairs}: {missing} entities are missing.")
    if "hard_negative" in columns:
        is_own_entity = pads.field("entity") == pads.field("hard_negative")
        comparison = source.scanner(columns={"is_own_entity": is_own_entity}).to_table()
        row = pc.index(comparison["is_own_entity"], True).as_py()
        if row >= 0:
            raise EaseError(
                f"Training pairs {pairs}: the hard negative of row {row} is the pair's own entity: give another, or "
                "null."
            )
    ids = np.empty(0, dtype=np.int64)
    for name in columns:
        column_ids = distinct(source, name)
        if (unknown := np.setdiff1d(column_ids, vocabulary_ids, assume_unique=True)).size:
            raise EaseError(
                f"Training pairs {pairs}: {name.replace('_', ' ')} {unknown[0]} is not in the entity vocabulary; "
                "the pairs and the vocabulary are of different runs, or the vocabulary was cut."
            )
        ids = np.union1d(ids, column_ids)
    id_rows = vocabulary_rows[np.searchsorted(vocabulary_ids, ids)]
    # In the order of the vocabulary's rows, so that the embeddings' file is read from its beginning to its end.
    read_rows = np.sort(id_rows)
    return UsedEntities(ids, np.searchsorted(read_rows, id_rows), read_rows, len(vocabulary_ids))


def read_table(path: Path, rows: NDArray[np.int64] | None = None, *, total: int | None = None) -> Tensor:
    """Read entity embeddings from a safetensors file with one matrix, in single precision.

    Memory is bounded by the rows that are read, which are ascending; `total` is the vocabulary's number of rows.
    """
    try:
        with safe_open(path, framework="pt") as tensors:
            shapes = {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}
            if [len(shape) for shape in shapes.values()] != [2]:
                raise EaseError(f"Entity embeddings {path}: expected one matrix, found {shapes}.")
            ((name, (height, width)),) = shapes.items()
            if total not in (None, height):
                raise EaseError(
                    f"{path} has {height} rows, and the vocabulary {total} entities: row i of the embeddings is "
                    "entity i of the vocabulary, so make both in one run."
                )
            matrix = tensors.get_slice(name)
            if rows is None:
                rows = np.arange(height)
            table = torch.empty(len(rows), width)
            for start in range(0, height, BLOCK_ROWS):
                first, last = np.searchsorted(rows, [start, start + BLOCK_ROWS])
                table[first:last] = matrix[start : start + BLOCK_ROWS][rows[first:last] - start]
    except (OSError, SafetensorError) as error:
        raise EaseError(f"Entity embeddings {path} are not a safetensors file: {error}") from error
    return table


class Layout(NamedTuple):
    """Columns of a prepared row."""

    max_tokens: int
    columns: tuple[str, ...] = (SENTENCE,)
    """Text columns"""
    required: tuple[str, ...] = (SENTENCE,)
    """Columns in which every row must have a text"""
    further: int = 0
    """Further entities of a sentence, at most"""
    subjects: bool = False
    """Whether a row has its page's subject"""
    languages: bool = False
    """Whether a row has the number of its language"""

    @property
    def type(self) -> np.dtype[np.void]:
        """The NumPy type of a row: entity rows, and for each text its tokens, padded with zeros, and its length."""
        fields: list[Any] = [(name, "<i8") for name in ENTITY_COLUMNS]
        if self.further:
            fields.append((FURTHER, "<i8", (self.further,)))
        if self.subjects:
            fields.append((SUBJECT, "<i8"))
        if self.languages:
            fields.append((LANGUAGE_COLUMN, "<i2"))
        text = [("tokens", "<i4", (self.max_tokens,)), ("length", "<i4"), ("present", "?")]
        return np.dtype([*fields, *((name, text) for name in self.columns)])


def prepare_pairs(
    pairs: Path,
    vocabulary: Path | None,
    encoder: SentenceTransformer,
    layout: Layout,
    target: Path,
    derived: Mapping[str, Derive] | None = None,
) -> None:
    """Tokenise the pairs into a file of fixed-width rows, which the processes map into memory.

    The rows are ordered by `pair_id`, regardless of their order in the table.

    The pairs are Parquet with the layout's text columns, in which optional texts may be null, and with a vocabulary
    (row, entity) also its columns of entities. Functions in `derived` make missing columns and missing texts from the
    sentences.
    """
    derived = derived or {}
    labels: list[str] = []
    if vocabulary is not None:
        labels += entity_columns(bool(layout.further), layout.subjects)
    if layout.languages:
        labels.append(LANGUAGE_COLUMN)
    source = open_pair_table(pairs, [*(name for name in layout.columns if name not in derived), *labels])
    number_labels = _label_numbering(source, pairs, vocabulary, labels, layout)
    places = pair_places(source)
    available = [name for name in layout.columns if name in source.schema.names]
    columns = list(dict.fromkeys([SENTENCE, *available, *labels]))
    with atomic_path(target) as partial:
        with partial.open("wb") as empty:
            reserve(empty.fileno(), len(places) * layout.type.itemsize)
        stored = np.memmap(partial, layout.type, mode="r+")
        start = 0
        for batch in source.to_batches(columns=columns, batch_size=READ_ROWS):
            rows = places[start : start + batch.num_rows]
            start += batch.num_rows
            prepared = np.zeros(batch.num_rows, dtype=layout.type)
            number_labels(batch, prepared)
            for name in layout.columns:
                texts = _read_texts(batch, name, rows, derived.get(name))
                if name in layout.required and (missing := texts.count(None)):
                    raise EaseError(
                        f"Training pairs {pairs}: {missing} texts of column {name!r}, which the method requires, are "
                        "missing."
                    )
                _tokenise(prepared[name], texts, encoder)
            stored[rows] = prepared
        stored.flush()
    if FURTHER in labels:
        logger.info(
            "%d of %d pairs have more than %d other entities in their sentence; the seed chooses %d of them",
            source.count_rows(filter=pc.list_value_length(pc.field(FURTHER)) > layout.further),
            len(places),
            layout.further,
            layout.further,
        )


def _label_numbering(
    source: pads.Dataset, pairs: Path, vocabulary: Path | None, labels: Sequence[str], layout: Layout
) -> Callable[[pa.RecordBatch, NDArray[np.void]], None]:
    """Return a function that fills the numbers of a batch's entities and languages into its prepared rows."""
    entity_labels = [name for name in labels if name != LANGUAGE_COLUMN]
    entities = languages = None
    if layout.languages:
        languages = pa.array(distinct(source, LANGUAGE_COLUMN))
    if vocabulary is not None:
        entities = used_entities(pairs, vocabulary, entity_labels)

    def number_labels(batch: pa.RecordBatch, prepared: NDArray[np.void]) -> None:
        prepared["entity"] = prepared["hard_negative"] = NO_ENTITY
        if entities is not None:
            for name in entity_labels:
                prepared[name] = entities.find(batch[name], layout.further)
        if languages is not None:
            prepared[LANGUAGE_COLUMN] = pc.index_in(batch[LANGUAGE_COLUMN], languages).to_numpy()

    return number_labels


def _read_texts(batch: pa.RecordBatch, name: str, rows: NDArray[np.int64], derive: Derive | None) -> list[str | None]:
    """Return a column's texts; a missing column or text is derived from the sentences, or stays None."""
    texts: list[str | None] = [None] * batch.num_rows
    if name in batch.schema.names:
        texts = batch[name].to_pylist()
    if derive is not None and None in texts:
        for place, text in enumerate(derive(batch[SENTENCE].to_pylist(), rows)):
            if texts[place] is None:
                texts[place] = text
    return texts


def _tokenise(rows: NDArray[np.void], texts: Sequence[str | None], encoder: SentenceTransformer) -> None:
    """Tokenise a column with the encoder's prompt; a missing text becomes an empty text that is not present."""
    longest = rows["tokens"].shape[1]
    prompt = default_prompt(encoder)
    tokens = encoder.tokenizer(
        [prompt + (text or "") for text in texts],
        truncation=True,
        max_length=longest,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    rows["length"] = [len(ids) for ids in tokens]
    rows["present"] = [text is not None for text in texts]
    stored = np.zeros((len(rows), longest), dtype=np.int32)
    stored[np.arange(longest) < rows["length"][:, None]] = np.concatenate(tokens)
    rows["tokens"] = stored


def reserve(file: int, size: int) -> None:
    """Allocate a file: a full disk raises an error here, and would crash the process inside a memory map."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:  # macOS
        os.truncate(file, size)


def open_pairs(prepared: Path, layout: Layout) -> NDArray[np.void]:
    """Map a file that `prepare_pairs` wrote."""
    return np.memmap(prepared, layout.type, mode="r")


def default_prompt(encoder: SentenceTransformer) -> str:
    """Return the text that `encode` puts before each sentence; empty without a default prompt."""
    prompt = prompt_named(encoder.prompts, encoder.default_prompt_name)
    if prompt and any(getattr(module, "include_prompt", True) is False for module in encoder):
        raise EaseError(
            f"The encoder's pooling excludes its prompt {prompt!r}, which training does not support: save it with "
            "`include_prompt` true, or give a `pooling`."
        )
    return prompt


def prompt_tokens(encoder: SentenceTransformer) -> int:
    """Return the number of tokens of the default prompt, by which a text may be longer than a sentence without it."""
    prompt = default_prompt(encoder)
    if not prompt:
        return 0
    return len(encoder.tokenizer(prompt, add_special_tokens=False)["input_ids"])
