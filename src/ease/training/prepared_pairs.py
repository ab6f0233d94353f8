"""Training pairs prepared as token ids and entity rows in a file of fixed-width rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.encoders.prompts import prompt_named
from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.methods.base import SENTENCE, Derive
from ease.methods.components.losses import NO_ENTITY
from ease.training.inputs import (
    FURTHER,
    LANGUAGE,
    SUBJECT,
    UsedEntities,
    distinct,
    entity_columns,
    open_pair_table,
    used_entities,
)

logger = logging.getLogger(__name__)

READ_ROWS = 8192
"""Pairs tokenised at a time"""


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
        fields: list[Any] = [("entity", "<i8"), ("hard_negative", "<i8")]
        if self.further:
            fields.append((FURTHER, "<i8", (self.further,)))
        if self.subjects:
            fields.append((SUBJECT, "<i8"))
        if self.languages:
            fields.append((LANGUAGE, "<i2"))
        for name in self.columns:
            text = [("tokens", "<i4", (self.max_tokens,)), ("length", "<i4"), ("present", "?")]
            fields.append((name, text))
        return np.dtype(fields)


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

    Args:
        pairs: Parquet with the layout's text columns, in which optional texts may be null; with a vocabulary also
            the layout's columns of entities; optionally pair_id.
        vocabulary: Parquet with row and entity. None: no entities.
        encoder: The encoder whose tokenizer is used.
        layout: The columns of the file, which is written atomically.
        target: The file.
        derived: Functions that make missing columns and missing texts from the sentences.

    Raises:
        EaseError: If a column, a required text or an entity is missing, or there are no pairs.
    """
    derived = derived or {}
    needed = [name for name in layout.columns if name not in derived]
    of_entities = () if vocabulary is None else entity_columns(bool(layout.further), layout.subjects)
    of_language = (LANGUAGE,) if layout.languages else ()
    source = open_pair_table(pairs, (*needed, *of_entities, *of_language))
    languages = distinct(source, LANGUAGE) if layout.languages else None
    stored_columns = [name for name in layout.columns if name in source.schema.names]
    places = pair_places(source)
    entities = None if vocabulary is None else used_entities(pairs, vocabulary, of_entities)
    columns = dict.fromkeys([SENTENCE, *stored_columns, *of_entities, *of_language])
    with atomic_path(target) as partial:
        with partial.open("wb") as empty:
            reserve(empty.fileno(), len(places) * layout.type.itemsize)
        stored = np.memmap(partial, layout.type, mode="r+")
        start = 0
        for batch in source.to_batches(columns=list(columns), batch_size=READ_ROWS):
            rows = places[start : start + batch.num_rows]
            prepared = np.zeros(batch.num_rows, dtype=layout.type)
            prepared["entity"] = prepared["hard_negative"] = NO_ENTITY
            for name in of_entities:
                prepared[name] = _find(batch[name], entities, layout.further)
            if languages is not None:
                prepared[LANGUAGE] = pc.index_in(batch[LANGUAGE], pa.array(languages)).to_numpy()
            for name in layout.columns:
                texts = _read_texts(name, batch, rows, derived)
                missing = sum(text is None for text in texts)
                if missing and name in layout.required:
                    what = (
                        "sentences"
                        if name == SENTENCE
                        else f"texts of column {name!r}, which the method requires,"
                    )
                    raise EaseError(f"Training pairs {pairs}: {missing} {what} are missing.")
                _prepare_texts(prepared[name], texts, encoder)
            stored[rows] = prepared
            start += batch.num_rows
        stored.flush()
    if layout.further and entities is not None:
        logger.info(
            "%d of %d pairs have more than %d other entities in their sentence; the seed chooses %d of them",
            source.count_rows(filter=pc.list_value_length(pc.field(FURTHER)) > layout.further),
            *(len(places), layout.further, layout.further),
        )


def reserve(file: int, size: int) -> None:
    """Allocate a file: a full disk raises an error here, and would crash the process inside a memory map."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:  # macOS
        os.truncate(file, size)


def open_pairs(prepared: Path, layout: Layout) -> NDArray[np.void]:
    """Map a file that `prepare_pairs` wrote."""
    return np.memmap(prepared, layout.type, mode="r")


def pair_places(source: pads.Dataset) -> NDArray[np.int64]:
    """Return the row of each pair in the prepared file, its rank by pair_id."""
    if "pair_id" not in source.schema.names:
        return np.arange(source.count_rows())
    ids = source.to_table(columns=["pair_id"])["pair_id"].to_numpy()
    places = np.empty(len(ids), dtype=np.int64)
    places[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    return places


def _read_texts(
    name: str, batch: pa.RecordBatch, rows: NDArray[np.int64], derived: Mapping[str, Derive]
) -> Sequence[str | None]:
    """Read a column, deriving missing texts from the sentences."""
    stored = batch[name].to_pylist() if name in batch.schema.names else [None] * batch.num_rows
    if name not in derived or None not in stored:
        return stored
    made = derived[name](batch[SENTENCE].to_pylist(), rows)
    return [other if text is None else text for text, other in zip(stored, made, strict=True)]


def _prepare_texts(rows: NDArray[np.void], texts: Sequence[str | None], encoder: SentenceTransformer) -> None:
    """Tokenise a column with the encoder's prompt; a missing text becomes an empty text that is not present."""
    longest, prompt = rows["tokens"].shape[1], default_prompt(encoder)
    tokens = encoder.tokenizer(
        [prompt + (text or "") for text in texts],
        truncation=True,
        max_length=longest,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    rows["length"] = [len(ids) for ids in tokens]
    rows["present"] = [text is not None for text in texts]
    used = np.arange(longest) < rows["length"][:, None]
    stored = np.zeros(used.shape, dtype=np.int32)
    stored[used] = np.concatenate(tokens)
    rows["tokens"] = stored


def _find(column: pa.Array, entities: UsedEntities | None, count: int) -> NDArray[np.int64]:
    """Return the rows of a column's entities in the training's table, (n,).

    Of lists, which are in seeded order, the first `count` are found: (n, count).
    """
    assert entities is not None
    if not pa.types.is_nested(column.type):
        found = np.full(len(column), NO_ENTITY)
        found[column.is_valid().to_numpy(zero_copy_only=False)] = entities.find(column.drop_null().to_numpy())
        return found
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    row = np.repeat(np.arange(len(column)), lengths)
    place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = place < count
    found = np.full((len(column), count), NO_ENTITY)
    found[row[kept], place[kept]] = entities.find(pc.list_flatten(column).to_numpy()[kept])
    return found


def default_prompt(encoder: SentenceTransformer) -> str:
    """Return the text that `encode` puts before each sentence; empty without a default prompt.

    Raises:
        EaseError: If the pooling excludes the prompt, which a training on tokens cannot.
    """
    prompt = prompt_named(encoder.prompts, encoder.default_prompt_name)
    if prompt and any(getattr(module, "include_prompt", True) is False for module in encoder):
        raise EaseError(
            f"The encoder's pooling excludes its prompt {prompt!r}, which a training does not support: save it with "
            "`include_prompt` true, or give a `pooling`."
        )
    return prompt


def prompt_tokens(encoder: SentenceTransformer) -> int:
    """Return the number of tokens of the default prompt, by which a text may be longer than a sentence without it."""
    prompt = default_prompt(encoder)
    return len(encoder.tokenizer(prompt, add_special_tokens=False)["input_ids"]) if prompt else 0
