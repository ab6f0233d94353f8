"""Batches of prepared pairs: their order, text columns in padded or packed chunks, and rows of entities."""

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

from ease.errors import EaseError
from ease.methods.base import SENTENCE, Entities, Texts
from ease.methods.components.losses import NO_ENTITY
from ease.training.options import BatchOptions
from ease.training.packing import Packed, pack
from ease.training.prepared_pairs import ENTITY_COLUMNS, FURTHER, NEGATIVE_COLUMNS, SUBJECT

Indices = NDArray[np.int64]


def pair_indices(
    pairs: NDArray[np.void], batch_size: int, seed: int, start: int = 0, options: BatchOptions | None = None
) -> Iterator[Indices]:
    """Yield the pairs of each step, endlessly, in a new seeded order every epoch.

    An epoch drops incomplete batches, because a contrastive loss depends on the batch size. Seed and step determine a
    batch, so that a training can resume at any step.

    `start` is the number of steps already done.
    """
    options = options or BatchOptions()
    in_random_order = not options.reads_languages
    epoch, left = divmod(start, len(pairs) // batch_size) if in_random_order else (0, start)
    while True:
        random = np.random.default_rng([seed, epoch])
        batches: Sequence[Indices] | Indices
        if in_random_order:
            batches = _in_batches(random.permutation(len(pairs)), batch_size)
        else:
            batches = _epoch(pairs, batch_size, random, options)
        if not len(batches):
            raise EaseError(f"No language has the {batch_size} pairs of a batch: lower `batch_size`.")
        yield from batches[left:]
        left, epoch = max(0, left - len(batches)), epoch + 1


def _in_batches(order: Indices, batch_size: int) -> Indices:
    """Cut an order into batches, (batches, batch size), without the last incomplete one."""
    return order[: len(order) // batch_size * batch_size].reshape(-1, batch_size)


def _epoch(
    pairs: NDArray[np.void], batch_size: int, random: np.random.Generator, options: BatchOptions
) -> list[Indices]:
    """Return the batches of one epoch."""
    entities, languages = np.asarray(pairs["entity"]), np.asarray(pairs["language"])
    # Languages with n pairs have the weight n^exponent together.
    _, inverse, counts = np.unique(languages, return_inverse=True, return_counts=True)
    weights = counts[inverse].astype(np.float64) ** (options.language_exponent - 1)
    if np.ptp(weights):
        # Systematic sampling: the expected numbers of draws add up along a random order, and each integer passed is a
        # draw. A pair is drawn as often as expected, rounded up or down; independent draws would often repeat it.
        order = random.permutation(len(pairs))
        passed = np.floor(np.cumsum(weights[order]) * len(pairs) / weights.sum() + random.random())
        drawn = random.permutation(np.repeat(order, np.diff(passed, prepend=0).astype(np.int64)))
    else:
        drawn = random.permutation(len(pairs))
    mixed = options.languages == "mixed"
    parts = [drawn] if mixed else [drawn[languages[drawn] == one] for one in np.unique(languages)]
    batches: list[Indices] = []
    for part in parts:
        if options.sentences_per_entity > 1 and len(part):
            part = _grouped(part, entities, languages, random, options.sentences_per_entity, batch_size)
        batches.extend(_in_batches(part, batch_size))
    return batches if mixed else [batches[place] for place in random.permutation(len(batches))]


def _grouped(
    drawn: Indices, entities: Indices, languages: Indices, random: np.random.Generator, size: int, batch_size: int
) -> Indices:
    """Order drawn pairs so that the `size` pairs of a group have one entity and different languages.

    Groups of one language teach less than their steps would (docs/ease_plus.md); without a batch of others, all stay.
    """
    # An entity's pairs take turns over its languages; `drawn` is in random order, which stable sorting keeps.
    by_language = drawn[np.lexsort((languages[drawn], entities[drawn]))]
    turn = _rank(entities[by_language], languages[by_language])
    order = by_language[np.lexsort((turn, entities[by_language]))]
    group = np.cumsum(_rank(entities[order]) % size == 0) - 1
    places = random.permutation(group[-1] + 1)[group]
    spoken = languages[order]
    first = spoken[np.flatnonzero(np.diff(group, prepend=-1))]
    mixed = (np.bincount(group, spoken != first[group]) > 0)[group]
    if np.count_nonzero(mixed) >= batch_size:
        order, places = order[mixed], places[mixed]
    return order[np.argsort(places, kind="stable")]


def _rank(*keys: Indices) -> Indices:
    """Return each row's place among its neighbours with the same keys."""
    changes = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    starts = np.flatnonzero(np.concatenate([[True], changes]))
    lengths = np.diff(np.append(starts, len(keys[0])))
    return np.arange(len(keys[0])) - np.repeat(starts, lengths)


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
    split: dict[str, Column] = {}
    for name in dict.fromkeys(columns):
        texts = rows[name]
        order = np.argsort(texts["length"], kind="stable")
        parts: list[Padded | Packed] = []
        for part in np.array_split(order, min(chunks, len(order))):
            if packed:
                parts.append(pack(texts[part]["tokens"], texts[part]["length"], columns.count(name)))
            else:
                tokens, mask = _pad(texts[part], padding)
                parts.append(Padded(tokens, mask if masked or not mask.all() else None))
        present = torch.from_numpy(texts["present"].copy())
        split[name] = Column(parts, torch.from_numpy(np.argsort(order)), present)
    entities = None
    if with_entities:
        given = set(rows.dtype.names or ())
        found: list[Any] = [
            torch.from_numpy(rows[name].copy()) if name in given else None
            for name in (*ENTITY_COLUMNS, FURTHER, SUBJECT)
        ]
        entities = Entities(*found)
    return Batch(split, entities, {name: _pad(rows[name], padding) for name in token_columns})


def used_rows(rows: NDArray[np.void], hard_negatives: bool) -> NDArray[np.int64]:
    """Return the rows of the entity table that the prepared pairs of all processes refer to, sorted, (u,)."""
    columns = [name for name in (*ENTITY_COLUMNS, FURTHER, SUBJECT) if name in (rows.dtype.names or ())]
    read = [rows[name].ravel() for name in columns if hard_negatives or name not in NEGATIVE_COLUMNS]
    different: Indices = np.unique(np.concatenate(read))
    return different[different != NO_ENTITY]


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
