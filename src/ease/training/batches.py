"""Batches of prepared pairs: their order, text columns in padded or packed chunks, and rows of entities."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
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
    batch, so that a training run can resume at any step.

    `start` is the number of steps already done.
    """
    options = options or BatchOptions()
    epoch = 0
    steps_to_skip = start
    if not options.reads_languages:
        # Epochs of a random order all have the same number of batches. The others have to be computed one by one,
        # because their number of batches depends on the draws.
        epoch, steps_to_skip = divmod(start, len(pairs) // batch_size)
    while True:
        random = np.random.default_rng([seed, epoch])
        batches: Sequence[Indices] | Indices
        if options.reads_languages:
            batches = _batches_by_language(pairs, batch_size, random, options)
        else:
            batches = _cut(random.permutation(len(pairs)), batch_size)
        if not len(batches):
            raise EaseError(f"No language has the {batch_size} pairs of a batch: lower `batch_size`.")
        yield from batches[steps_to_skip:]
        steps_to_skip = max(0, steps_to_skip - len(batches))
        epoch += 1


def drawn_pairs(
    pairs: NDArray[np.void], steps: int, batch_size: int, seed: int, options: BatchOptions
) -> NDArray[np.bool_]:
    """Return which pairs a training run of so many steps reads: (pairs,)."""
    is_drawn = np.zeros(len(pairs), bool)
    for indices in islice(pair_indices(pairs, batch_size, seed, 0, options), steps):
        is_drawn[indices] = True
        if is_drawn.all():
            break
    return is_drawn


def _cut(order: Indices, batch_size: int) -> Indices:
    """Cut an order into batches, (batches, batch size), without the last incomplete one."""
    complete = len(order) // batch_size * batch_size
    return order[:complete].reshape(-1, batch_size)


def _batches_by_language(
    pairs: NDArray[np.void], batch_size: int, random: np.random.Generator, options: BatchOptions
) -> list[Indices]:
    """Return the batches of one epoch, whose order depends on the pairs' languages or entities."""
    entities = np.asarray(pairs["entity"])
    languages = np.asarray(pairs["language"])
    order = _draw(languages, random, options.language_exponent)
    if options.languages == "mixed":
        parts = [order]
    else:
        parts = [order[languages[order] == language] for language in np.unique(languages)]
    batches: list[Indices] = []
    for part in parts:
        if options.sentences_per_entity > 1 and len(part):
            part = _group_by_entity(part, entities, languages, random, options.sentences_per_entity, batch_size)
        batches.extend(_cut(part, batch_size))
    if options.languages == "single":
        # Otherwise one language would follow the other.
        batches = [batches[place] for place in random.permutation(len(batches))]
    return batches


def _draw(languages: Indices, random: np.random.Generator, exponent: float) -> Indices:
    """Return pairs in a random order, in which a language with n of them occurs in proportion to n^exponent."""
    _, inverse, counts = np.unique(languages, return_inverse=True, return_counts=True)
    # Each of a language's n pairs has the weight n^exponent / n.
    weights = counts[inverse].astype(np.float64) ** (exponent - 1)
    if not np.ptp(weights):
        return random.permutation(len(languages))
    # Systematic sampling: the expected numbers of draws add up along a random order, and each integer passed is a
    # draw. A pair is drawn as often as expected, rounded up or down; independent draws would often repeat it.
    order = random.permutation(len(languages))
    passed = np.floor(np.cumsum(weights[order]) * len(languages) / weights.sum() + random.random())
    draws = np.diff(passed, prepend=0).astype(np.int64)
    return random.permutation(np.repeat(order, draws))


def _group_by_entity(
    pairs: Indices, entities: Indices, languages: Indices, random: np.random.Generator, size: int, batch_size: int
) -> Indices:
    """Order pairs so that the `size` pairs of a group have one entity and different languages.

    Groups of one language teach less than their steps would (docs/ease_plus.md), and are dropped; only if the others
    do not fill a batch, all stay.

    Args:
        pairs: In random order.
        entities: Of all pairs, not only of these.
        languages: Of all pairs.
        random: Draws the order of the groups.
        size: Pairs of a group; an entity's last group may be smaller.
        batch_size: Pairs of a batch.
    """
    # An entity's pairs take turns over its languages, so that neighbours differ in language: first one pair of each
    # language, then the second of each, and so on. Sorting is stable, so it keeps the random order within a language.
    by_language = pairs[np.lexsort((languages[pairs], entities[pairs]))]
    turn = _count_within_runs(entities[by_language], languages[by_language])
    order = by_language[np.lexsort((turn, entities[by_language]))]
    # A group begins at every `size`-th pair of an entity; `group` has the number of each pair's group.
    begins = _count_within_runs(entities[order]) % size == 0
    group = np.cumsum(begins) - 1
    place = random.permutation(group[-1] + 1)[group]
    # A group is mixed if any of its pairs has another language than its first pair.
    language = languages[order]
    differs = language != language[begins][group]
    is_mixed = (np.bincount(group, differs) > 0)[group]
    if np.count_nonzero(is_mixed) >= batch_size:
        order = order[is_mixed]
        place = place[is_mixed]
    return order[np.argsort(place, kind="stable")]


def _count_within_runs(*keys: Indices) -> Indices:
    """Number the rows of each run of equal keys from 0."""
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


class TextColumn(NamedTuple):
    """One text column of a batch, split into chunks of similar length."""

    chunks: list[Padded | Packed]
    """Sorted by length"""
    places: Tensor
    """(n,), the position of each text in the concatenated chunks"""
    present: Tensor
    """(n,), false if the row has no text; an empty text is encoded instead"""


class Batch(NamedTuple):
    """The rows of one process in one step."""

    columns: Mapping[str, TextColumn]
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

    Args:
        rows: Prepared pairs.
        padding: The id of padding tokens.
        chunks: Chunks of a column, at most.
        columns: The text column of each view; a column is named once for each of its views.
        token_columns: Columns that are not split.
        with_entities: Whether the pairs have entities.
        packed: Whether several texts share a row.
        masked: Whether a padded chunk has a mask even if nothing is padded.
    """
    text_columns: dict[str, TextColumn] = {}
    for name in dict.fromkeys(columns):
        texts = rows[name]
        order = np.argsort(texts["length"], kind="stable")
        parts: list[Padded | Packed] = []
        for part in np.array_split(order, min(chunks, len(order))):
            if packed:
                parts.append(pack(texts[part]["tokens"], texts[part]["length"], columns.count(name)))
                continue
            tokens, mask = _pad(texts[part], padding)
            if mask.all() and not masked:
                parts.append(Padded(tokens, None))
            else:
                parts.append(Padded(tokens, mask))
        present = torch.from_numpy(texts["present"].copy())
        text_columns[name] = TextColumn(parts, torch.from_numpy(np.argsort(order)), present)
    entities = None
    if with_entities:
        entities = Entities(*(_optional_column(rows, name) for name in (*ENTITY_COLUMNS, FURTHER, SUBJECT)))
    return Batch(text_columns, entities, {name: _pad(rows[name], padding) for name in token_columns})


def _optional_column(rows: NDArray[np.void], name: str) -> Any:
    """Return a column of entities as a tensor; None if the method does not read it."""
    if name not in (rows.dtype.names or ()):
        return None
    return torch.from_numpy(rows[name].copy())


def used_rows(rows: NDArray[np.void], hard_negatives: bool) -> NDArray[np.int64]:
    """Return the rows of the entity table that the prepared pairs of all processes refer to, sorted, (u,)."""
    columns = [name for name in (*ENTITY_COLUMNS, FURTHER, SUBJECT) if name in (rows.dtype.names or ())]
    entity_rows = [rows[name].ravel() for name in columns if hard_negatives or name not in NEGATIVE_COLUMNS]
    distinct_rows: Indices = np.unique(np.concatenate(entity_rows))
    return distinct_rows[distinct_rows != NO_ENTITY]


def _pad(texts: NDArray[np.void], padding: int) -> Texts:
    """Truncate the tokens to the longest text, and mask the padding of the others."""
    lengths = texts["length"]
    mask = np.arange(lengths.max()) < lengths[:, None]  # (n, width)
    # The file pads with zeros, which may be the id of another token.
    tokens = np.where(mask, texts["tokens"][:, : mask.shape[1]], padding)
    return Texts(torch.from_numpy(tokens).long(), torch.from_numpy(mask).long())


StepBatch = TypeVar("StepBatch")

BATCHES_AHEAD = 2
"""Batches that wait for their step"""


def make_ahead(
    batches: Iterator[StepBatch], device: torch.device, ahead: int = BATCHES_AHEAD
) -> Generator[StepBatch, None, None]:
    """Yield the same batches on a device, in the same order; the next ones are made meanwhile.

    Batches are tensors in tuples, lists and dictionaries of any depth; `ahead` of them wait for their step. A batch
    that cannot be made raises its error in its turn. The thread ends with the iterator.
    """
    end = object()

    def make() -> Any:
        batch = next(batches, end)
        if device.type != "cuda":
            return batch
        # A GPU reads pinned memory while the host continues.
        return recursively_apply(torch.Tensor.pin_memory, batch)

    # A single thread advances the iterator in order.
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        coming = deque(thread.submit(make) for _ in range(ahead))
        while (batch := coming.popleft().result()) is not end:
            coming.append(thread.submit(make))
            yield send_to_device(batch, device, non_blocking=True)
