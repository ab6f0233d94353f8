"""Training pairs as token ids and table rows on disk, and the batches drawn from them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.disk import write_faults_named
from ease.errors import EaseError
from ease.losses import NO_ENTITY
from ease.methods import Entities
from ease.training.entities import UsedEntities, used_entities
from ease.training.tables import open_pair_table

READ_ROWS = 8192
"""Pairs tokenised at a time."""


class Batch(NamedTuple):
    """Pairs that one process trains on in one step, on its device."""

    chunks: list[tuple[Tensor, Tensor | None]]
    """Token ids (rows, width) and their mask, null where nothing is padded; sorted by length"""
    places: Tensor
    """(n,), the row of each pair among the rows of all chunks"""
    entities: Entities | None


def pair_type(max_tokens: int) -> np.dtype[np.void]:
    """Layout of a prepared pair: tokens up to its length, then zeros; rows of the training's entity table."""
    fields = [
        ("tokens", "<i4", (max_tokens,)),
        ("length", "<i4"),
        ("entity", "<i8"),
        ("hard_negative", "<i8"),
    ]
    return np.dtype(fields)


def prepare_pairs(
    pairs: Path, vocabulary: Path | None, encoder: SentenceTransformer, max_tokens: int, target: Path
) -> None:
    """Tokenise the pairs once, into a file of fixed-width rows that processes map instead of read.

    The rows are in the order of `pair_id`, whatever engine wrote the table.

    Args:
        pairs: Parquet with sentence and, with a vocabulary, entity and hard_negative; pair_id if it has one.
        vocabulary: Parquet with row and entity; without one, entities are left out.
        encoder: Whose tokenizer to use.
        max_tokens: Longer sentences are cut.
        target: Written aside and renamed.

    Raises:
        EaseError: If a column, a sentence or an entity is missing, or there are no pairs.
    """
    source = open_pair_table(pairs, with_entities=vocabulary is not None)
    places = _places(source)
    entities = None if vocabulary is None else used_entities(pairs, vocabulary)
    aside = target.with_name(f".{target.name}.part")
    layout = pair_type(max_tokens)
    with write_faults_named(target), aside.open("wb") as empty:
        _reserve(empty.fileno(), len(places) * layout.itemsize)
    stored = np.memmap(aside, layout, mode="r+")
    start = 0
    columns = ["sentence"] + ([] if entities is None else ["entity", "hard_negative"])
    for batch in source.to_batches(columns=columns, batch_size=READ_ROWS):
        rows = places[start : start + batch.num_rows]
        stored[rows] = _prepare(batch, entities, encoder, max_tokens, pairs)
        start += batch.num_rows
    stored.flush()
    os.replace(aside, target)


def _reserve(file: int, size: int) -> None:
    """Give a file its size: a full disk is an error here, and a crash when it shows inside a memory map."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:  # macOS
        os.truncate(file, size)


def open_pairs(prepared: Path, max_tokens: int) -> NDArray[np.void]:
    """Map a file that `prepare_pairs` wrote."""
    return np.memmap(prepared, pair_type(max_tokens), mode="r")


def pair_indices(count: int, batch_size: int, seed: int, start: int = 0) -> Iterator[NDArray[np.int64]]:
    """Yield the pairs of each step without end: every epoch a new seeded order of all pairs.

    The pairs that fill no whole batch at the end of an epoch are left out, since the size of the batch is
    part of a contrastive loss; another epoch leaves out others.

    Args:
        count: Number of pairs.
        batch_size: Pairs a step, over all processes.
        seed: The step alone decides on its batch, so a training resumes anywhere.
        start: Steps already done.
    """
    batches = count // batch_size
    epoch, position = divmod(start, batches)
    while True:
        order = np.random.default_rng([seed, epoch]).permutation(count)
        for number in range(position, batches):
            yield order[number * batch_size : (number + 1) * batch_size]
        epoch, position = epoch + 1, 0


def make_batch(rows: NDArray[np.void], padding: int, chunks: int, with_entities: bool) -> Batch:
    """Cut pairs into chunks of similar length, each padded to its longest.

    Args:
        rows: Prepared pairs, (n,).
        padding: Token id of padding.
        chunks: Number of parts.
        with_entities: Whether the method reads entities.
    """
    order = np.argsort(rows["length"], kind="stable")
    parts = []
    for part in np.array_split(order, min(chunks, len(order))):
        lengths = rows["length"][part]
        mask = np.arange(lengths[-1]) < lengths[:, None]  # (rows, width)
        tokens = np.where(mask, rows["tokens"][part, : lengths[-1]], padding)
        whole = bool(mask.all())
        parts.append((torch.from_numpy(tokens).long(), None if whole else torch.from_numpy(mask).long()))
    places = torch.empty(len(order), dtype=torch.long)
    places[torch.from_numpy(order)] = torch.arange(len(order))
    entities = None
    if with_entities:
        entities = Entities(
            torch.from_numpy(rows["entity"].copy()), torch.from_numpy(rows["hard_negative"].copy())
        )
    return Batch(parts, places, entities)


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to a device."""

    def move(values: Tensor) -> Tensor:
        return values.to(device, non_blocking=True)

    chunks = [(move(tokens), None if mask is None else move(mask)) for tokens, mask in batch.chunks]
    entities = None if batch.entities is None else Entities(*(move(ids) for ids in batch.entities))
    return Batch(chunks, move(batch.places), entities)


def _places(source: pads.Dataset) -> NDArray[np.int64]:
    """Row in the prepared file for each pair of the table: its rank by pair_id."""
    if "pair_id" not in source.schema.names:
        return np.arange(source.count_rows())
    ids = source.to_table(columns=["pair_id"])["pair_id"].to_numpy()
    places = np.empty(len(ids), dtype=np.int64)
    places[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    return places


def _prepare(
    batch: pa.RecordBatch,
    entities: UsedEntities | None,
    encoder: SentenceTransformer,
    max_tokens: int,
    pairs: Path,
) -> NDArray[np.void]:
    """Tokenise a batch of pairs and look up its entities."""
    if batch.column("sentence").null_count:
        raise EaseError(
            f"Training pairs {pairs}: {batch.column('sentence').null_count} sentences are missing."
        )
    rows = np.zeros(batch.num_rows, dtype=pair_type(max_tokens))
    tokens = encoder.tokenizer(
        batch.column("sentence").to_pylist(),
        truncation=True,
        max_length=max_tokens,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    rows["length"] = [len(ids) for ids in tokens]
    used = np.arange(max_tokens) < rows["length"][:, None]
    rows["tokens"][used] = np.concatenate(tokens)
    rows["entity"] = rows["hard_negative"] = NO_ENTITY
    if entities is not None:
        rows["entity"] = entities.find(batch.column("entity").to_numpy())
        negatives = batch.column("hard_negative")
        present = negatives.is_valid().to_numpy(zero_copy_only=False)
        rows["hard_negative"][present] = entities.find(negatives.drop_null().to_numpy())
    return rows
