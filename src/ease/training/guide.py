"""What a guide knows of the training pairs: its embeddings of their sentences, and of each entity."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.evaluation.metrics import unit_or_zero_rows
from ease.io.atomic import atomic_path
from ease.methods.base import Entities, GuideVectors
from ease.training.prepared_pairs import READ_ROWS
from ease.training.teacher_embeddings import Embeddings


class Guide(NamedTuple):
    """A guide's embeddings of all pairs; an entity's embedding is the mean of its sentences'."""

    sentences: Embeddings
    """(pairs, dimension)"""
    entities: NDArray[np.float32]
    """(entities, dimension), of length 1; zeros for an entity without a pair"""

    def add_to(self, entities: Entities, rows: NDArray[np.int64]) -> Entities:
        """Return a batch's entities with the guide's embeddings.

        Args:
            entities: Of some pairs.
            rows: These pairs' rows.
        """
        own, hard_negatives = entities.positives.numpy(), entities.hard_negatives.numpy()
        vectors = (self.sentences[rows], self.entities[own], self.entities[hard_negatives])
        return entities._replace(
            guide=GuideVectors(*(torch.from_numpy(np.asarray(one, np.float32)) for one in vectors))
        )


def write_entity_embeddings(
    sentences: Embeddings, entities: NDArray[np.int64], count: int, target: Path
) -> None:
    """Write the mean embedding of each entity's sentences.

    Args:
        sentences: The guide's embeddings, (pairs, dimension).
        entities: The entity row of each pair, (pairs,).
        count: Number of entities.
        target: The file, written atomically.
    """
    with atomic_path(target) as partial:
        sums = np.lib.format.open_memmap(partial, "w+", np.float32, (count, sentences.shape[1]))
        for start in range(0, len(entities), READ_ROWS):
            block = slice(start, start + READ_ROWS)
            np.add.at(sums, entities[block], sentences[block].astype(np.float32))
        for start in range(0, count, READ_ROWS):
            block = slice(start, start + READ_ROWS)
            sums[block] = unit_or_zero_rows(sums[block])
        sums.flush()


def map_guide(
    sentences: Embeddings, entities: NDArray[np.int64], count: int, target: Path, accelerator: Accelerator
) -> Guide:
    """Map a guide's embeddings of sentences and entities; the first process writes those of entities.

    Args:
        sentences: (pairs, dimension).
        entities: The entity row of each pair, (pairs,).
        count: Number of entities.
        target: The file.
        accelerator: The processes, all of which must call this function.
    """
    if accelerator.is_main_process:
        write_entity_embeddings(sentences, entities, count, target)
    accelerator.wait_for_everyone()
    return Guide(sentences, np.load(target, mmap_mode="r"))


def check_guided(method: str, guided: bool) -> None:
    """Refuse a guide for a method that has no entities as candidates, or no entity table.

    Raises:
        EaseError: With the remedy.
    """
    if not guided:
        raise EaseError(
            f"Method {method!r} does not read a guide: set `guide.encoder` to null, or train `ease_plus` "
            "with an `entity_weight` above 0."
        )
