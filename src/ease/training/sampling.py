"""The order of the training pairs: which pairs form the batch of each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ease.errors import EaseError
from ease.io.models import StrictModel

Indices = NDArray[np.int64]


class BatchOptions(StrictModel):
    """How the pairs of a batch are chosen; the default is a random order of all pairs in every epoch."""

    sentences_per_entity: int = Field(
        1,
        ge=1,
        description="sentences of an entity in a batch; where it is above 1, of different languages, and sentences "
        "whose entity has no other language are left out if the rest fills a batch",
    )
    language_exponent: float = Field(
        1.0,
        ge=0,
        le=1,
        description="α: a language with n pairs is drawn in proportion to n^α; 1: as the pairs are",
    )
    languages: Literal["mixed", "single"] = Field(
        "mixed", description="mixed: batches of any languages; single: each batch is of one language"
    )

    @property
    def reads_entities(self) -> bool:
        """Whether the order depends on the pairs' entities."""
        return self.sentences_per_entity > 1

    @property
    def reads_languages(self) -> bool:
        """Whether the order depends on the pairs' languages."""
        return self.sentences_per_entity > 1 or self.language_exponent != 1 or self.languages == "single"


def pair_indices(
    pairs: NDArray[np.void] | int,
    batch_size: int,
    seed: int,
    start: int = 0,
    options: BatchOptions | None = None,
) -> Iterator[Indices]:
    """Yield the pairs of each step, endlessly, in a new seeded order every epoch.

    An epoch drops incomplete batches, because a contrastive loss depends on the batch size. Seed and step determine a
    batch, so that a training can resume at any step.

    Args:
        pairs: Prepared pairs, or their number if the options do not depend on them.
        batch_size: Pairs per step, over all processes.
        seed: Seed of the order.
        start: Steps already done.
        options: How batches are chosen.

    Raises:
        EaseError: If batches are of one language, and no language fills a batch.
    """
    options = options or BatchOptions()
    if not (options.reads_entities or options.reads_languages):
        yield from _in_random_order(pairs if isinstance(pairs, int) else len(pairs), batch_size, seed, start)
    if isinstance(pairs, int):
        raise TypeError("These options choose pairs by their entities and languages.")
    left, epoch = start, 0
    while True:
        batches = _epoch(pairs, batch_size, np.random.default_rng([seed, epoch]), options)
        if not batches:
            raise EaseError(f"No language has the {batch_size} pairs of a batch: lower `batch_size`.")
        yield from batches[left:]
        left, epoch = max(0, left - len(batches)), epoch + 1


def _in_random_order(count: int, batch_size: int, seed: int, start: int) -> Iterator[Indices]:
    """Yield batches of a new permutation of all pairs in each epoch."""
    batches = count // batch_size
    epoch, position = divmod(start, batches)
    while True:
        order = np.random.default_rng([seed, epoch]).permutation(count)
        for number in range(position, batches):
            yield order[number * batch_size : (number + 1) * batch_size]
        epoch, position = epoch + 1, 0


def _epoch(
    pairs: NDArray[np.void], batch_size: int, random: np.random.Generator, options: BatchOptions
) -> list[Indices]:
    """Return the batches of one epoch."""
    entities = np.asarray(pairs["entity"])
    languages = np.asarray(pairs["language"]) if options.reads_languages else np.zeros_like(entities)
    weights = _weights(languages, options.language_exponent)
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
        order = _grouped(part, entities, languages, random, options, batch_size)
        ends = range(batch_size, len(order) + 1, batch_size)  # the last incomplete batch is dropped
        batches += [order[end - batch_size : end] for end in ends]
    return batches if mixed else [batches[place] for place in random.permutation(len(batches))]


def _weights(keys: Indices, exponent: float) -> NDArray[np.float64]:
    """Return each row's weight, so that keys with n rows have the weight n^exponent together."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    weights: NDArray[np.float64] = counts[inverse].astype(np.float64) ** (exponent - 1)
    return weights


def _grouped(
    drawn: Indices,
    entities: Indices,
    languages: Indices,
    random: np.random.Generator,
    options: BatchOptions,
    batch_size: int,
) -> Indices:
    """Order drawn pairs so that the pairs of a group have one entity and different languages.

    Groups of one language teach less than their steps would (docs/ease_plus.md); without a batch of others, all stay.
    """
    size = options.sentences_per_entity
    if size == 1 or not len(drawn):
        return drawn
    # An entity's pairs take turns over its languages; `drawn` is in random order, which stable sorting keeps.
    by_language = drawn[np.lexsort((languages[drawn], entities[drawn]))]
    turn = _rank([entities[by_language], languages[by_language]])
    order = by_language[np.lexsort((turn, entities[by_language]))]
    group = np.cumsum(_rank([entities[order]]) % size == 0) - 1
    places = random.permutation(group[-1] + 1)[group]
    spoken = languages[order]
    first = spoken[np.flatnonzero(np.diff(group, prepend=-1))]
    mixed = (np.bincount(group, spoken != first[group]) > 0)[group]
    if np.count_nonzero(mixed) >= batch_size:
        order, places = order[mixed], places[mixed]
    return order[np.argsort(places, kind="stable")]


def _rank(keys: list[Indices]) -> Indices:
    """Return each row's place among its neighbours with the same keys."""
    changes = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    starts = np.flatnonzero(np.concatenate([[True], changes]))
    lengths = np.diff(np.append(starts, len(keys[0])))
    return np.arange(len(keys[0])) - np.repeat(starts, lengths)
