"""Batches of prepared pairs: text columns in padded or packed chunks, and rows of entities."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from accelerate.utils import recursively_apply, send_to_device
from numpy.typing import NDArray
from torch import Tensor

from ease.methods.base import SENTENCE, Entities, Texts
from ease.methods.components.losses import NO_ENTITY
from ease.training.inputs import ENTITY_COLUMNS, FURTHER, NEGATIVE_COLUMNS, SUBJECT
from ease.training.packing import Packed, pack


class Padded(NamedTuple):
    """Texts padded to the longest text."""

    tokens: Tensor
    """(rows, width)"""
    mask: Tensor | None
    """(rows, width); None if nothing is padded"""


class Column(NamedTuple):
    """One text column of a batch, split into chunks of similar length."""

    chunks: list[Padded | Packed]
    """Sorted by length"""
    places: Tensor
    """(n,), the position of each text in the concatenated chunks"""
    present: Tensor
    """(n,), false if the row has no text; an empty text is encoded instead"""


class Batch(NamedTuple):
    """The rows of one process in one step."""

    columns: Mapping[str, Column]
    """By the name of the text column"""
    entities: Entities | None
    texts: Mapping[str, Texts]
    """Unsplit columns, for methods that read tokens"""
    teacher: Tensor | None = None
    """(n, teacher dimension), the teacher's embeddings of the sentences"""


def make_batch(
    rows: NDArray[np.void],
    padding: int,
    chunks: int,
    columns: Sequence[str] = (SENTENCE,),
    token_columns: Sequence[str] = (),
    *,
    with_entities: bool,
    packed: bool = False,
    masked: bool = False,
) -> Batch:
    """Split each text column of prepared pairs into chunks of similar length, which are padded or packed.

    A column is named once for each view; `token_columns` are not split. With `masked`, a chunk has a mask even if
    nothing is padded.
    """
    cut = {
        name: _cut(rows[name], padding, chunks, columns.count(name), packed, masked)
        for name in dict.fromkeys(columns)
    }
    whole = {name: _pad(rows[name], padding) for name in token_columns}
    entities = None
    if with_entities:
        own, negatives, further, subjects = (
            torch.from_numpy(rows[name].copy()) if name in (rows.dtype.names or ()) else None
            for name in (*ENTITY_COLUMNS, FURTHER, SUBJECT)
        )
        assert own is not None
        assert negatives is not None
        entities = Entities(own, negatives, further, subjects)
    return Batch(cut, entities, whole)


def used_rows(rows: NDArray[np.void], hard_negatives: bool) -> NDArray[np.int64]:
    """Return the rows of the entity table that the prepared pairs of all processes refer to, sorted, (u,)."""
    columns = [name for name in (*ENTITY_COLUMNS, FURTHER, SUBJECT) if name in (rows.dtype.names or ())]
    read = [rows[name].ravel() for name in columns if hard_negatives or name not in NEGATIVE_COLUMNS]
    different = np.unique(np.concatenate(read))
    found: NDArray[np.int64] = different[different != NO_ENTITY]
    return found


def _cut(
    texts: NDArray[np.void], padding: int, chunks: int, views: int, packed: bool, masked: bool
) -> Column:
    """Sort a column by length and split it into padded or packed chunks."""
    order = np.argsort(texts["length"], kind="stable")
    parts: list[Padded | Packed] = []
    for part in np.array_split(order, min(chunks, len(order))):
        if packed:
            parts.append(pack(texts[part]["tokens"], texts[part]["length"], views))
            continue
        tokens, mask = _pad(texts[part], padding)
        parts.append(Padded(tokens, None if bool(mask.all()) and not masked else mask))
    places = torch.empty(len(order), dtype=torch.long)
    places[torch.from_numpy(order)] = torch.arange(len(order))
    return Column(parts, places, torch.from_numpy(texts["present"].copy()))


def _pad(texts: NDArray[np.void], padding: int) -> Texts:
    """Truncate the tokens to the longest text, and mask the padding of the others."""
    lengths = texts["length"]
    mask = np.arange(lengths.max()) < lengths[:, None]  # (n, width)
    tokens = np.where(mask, texts["tokens"][:, : mask.shape[1]], padding)
    return Texts(torch.from_numpy(tokens).long(), torch.from_numpy(mask).long())


T = TypeVar("T")

AHEAD = 2
"""Batches that wait for their step"""


def make_ahead(batches: Iterator[T], device: torch.device, ahead: int = AHEAD) -> Generator[T, None, None]:
    """Yield the same batches on a device, in the same order; the next ones are made meanwhile.

    Batches are tensors in tuples, lists and dictionaries of any depth; `ahead` of them wait for their step. A batch
    that cannot be made raises its error in its turn. The thread ends with the iterator.
    """
    end = object()

    def make() -> Any:
        batch = next(batches, end)
        # A GPU reads pinned memory while the host continues.
        return recursively_apply(torch.Tensor.pin_memory, batch) if device.type == "cuda" else batch

    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        coming = deque(thread.submit(make) for _ in range(ahead))
        while (batch := coming.popleft().result()) is not end:
            coming.append(thread.submit(make))
            yield send_to_device(batch, device, non_blocking=True)
