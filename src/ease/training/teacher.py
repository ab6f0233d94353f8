"""Embeddings of the training sentences by further encoders: a teacher, and a guide that finds false negatives."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from ease.encoders.encoder import embedding_dimension, load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_path
from ease.methods.base import SENTENCE, Entities, GuideVectors
from ease.methods.components.distributed import process_rank
from ease.similarity.encode import Encode
from ease.similarity.vectors import unit_or_zero_rows
from ease.training.options import FrozenEncoder, TeacherOptions
from ease.training.prepared_pairs import LANGUAGE_COLUMN, READ_ROWS, distinct, open_pair_table, pair_places, reserve

logger = logging.getLogger(__name__)

FrozenEmbeddings = NDArray[np.float16]

CACHE = "teacher"
"""Cache folder inside the work folder, if no shared cache is set"""


def frozen_embeddings(
    pairs: Path,
    options: FrozenEncoder,
    start: str,
    target: Path,
    accelerator: Accelerator,
    dimension: int | None = None,
    selection: NDArray[np.bool_] | None = None,
) -> FrozenEmbeddings:
    """Map a file of an encoder's embeddings, one per pair in the order of the prepared pairs.

    The first process writes the file, atomically, if it is missing; an interrupted call resumes from the cache of
    embeddings.

    Args:
        pairs: Training pairs, which have languages if a teacher has `languages`.
        options: A teacher's or a guide's.
        start: The encoder that training starts from.
        target: The file.
        accelerator: Of the training run; its processes wait for the file.
        dimension: The dimension that the encoder must have; None: any.
        selection: The pairs that are read, in the order of the prepared pairs; None: all.

    Returns:
        Shape (pairs, dimension), in half precision; of length 1, or zeros for what is not read or not taught.

    Raises:
        EaseError: If the dimension differs, or no pair has one of the languages.
    """
    if not process_rank() and not target.exists():
        name = options.located(start)
        encoder = load_encoder(name, options.pooling).to(accelerator.device)
        width = embedding_dimension(encoder)
        if dimension not in (None, width):
            raise EaseError(
                f"The teacher {name!r} has {width} dimensions and the encoder {dimension}, which `form: cosine` cannot "
                "compare: set `teacher.form` to `similarity`, or choose another teacher."
            )
        languages = None
        if isinstance(options, TeacherOptions):
            languages = options.languages
        encoding = EncodingOptions(batch_size=options.batch_size, cache=options.cache or target.parent / CACHE)
        encode = encode_with(encoder, encoding, "sentences", name)
        count = open_pair_table(pairs).count_rows()
        if selection is not None:
            count = int(selection.sum())
        logger.info("%s encodes the sentences of %d pairs, of the languages that it teaches", name, count)
        _write_embeddings(pairs, languages, encode, width, target, selection)
    accelerator.wait_for_everyone()
    embeddings: FrozenEmbeddings = np.load(target, mmap_mode="r")
    return embeddings


def _write_embeddings(
    pairs: Path,
    languages: Sequence[str] | None,
    encode: Encode,
    dimension: int,
    target: Path,
    selection: NDArray[np.bool_] | None,
) -> None:
    """Write the embedding of each pair's sentence at the pair's place, atomically.

    Only of some languages, and of the selected pairs, if they are given.
    """
    columns = [SENTENCE]
    if languages is not None:
        columns.append(LANGUAGE_COLUMN)
    source = open_pair_table(pairs, columns)
    if languages is not None:
        _check_languages(languages, distinct(source, LANGUAGE_COLUMN))
    places = pair_places(source)
    with atomic_path(target) as partial:
        stored = np.lib.format.open_memmap(partial, "w+", np.float16, (len(places), dimension))
        with partial.open("r+b") as file:
            reserve(file.fileno(), partial.stat().st_size)
        start = 0
        for batch in source.to_batches(columns=columns, batch_size=READ_ROWS):
            rows = places[start : start + batch.num_rows]
            start += batch.num_rows
            if selection is not None:
                batch = batch.filter(pa.array(selection[rows]))
                rows = rows[selection[rows]]
            if languages is not None:
                # Rows of other languages stay zero, which the loss recognises.
                is_taught = pc.is_in(batch[LANGUAGE_COLUMN], pa.array(languages))
                batch = batch.filter(is_taught)
                rows = rows[is_taught.to_numpy(zero_copy_only=False)]
            if len(rows):
                stored[rows] = unit_or_zero_rows(encode(batch[SENTENCE].to_pylist()))
        stored.flush()


def _check_languages(languages: Sequence[str], available: NDArray[Any]) -> None:
    """Refuse taught languages that no pair has."""
    if absent := set(languages).difference(available):
        raise EaseError(
            f"`teacher.languages`: no pair has the language {', '.join(sorted(absent))}; the languages are "
            f"{', '.join(available)}."
        )


class Guide(NamedTuple):
    """A guide's embeddings of all pairs; an entity's embedding is the mean of its sentences'."""

    sentences: FrozenEmbeddings
    """(pairs, dimension)"""
    entities: NDArray[np.float32]
    """(entities, dimension), of length 1; zeros for an entity without a pair"""

    def add_to(self, entities: Entities, rows: NDArray[np.int64]) -> Entities:
        """Return the entities of a batch, which has these rows of the pairs, with the guide's embeddings."""
        vectors = (
            self.sentences[rows],
            self.entities[entities.positives.numpy()],
            # Pairs without a hard negative have the number -1: the last vector is a placeholder.
            self.entities[entities.hard_negatives.numpy()],
        )
        tensors = (torch.from_numpy(np.asarray(matrix, np.float32)) for matrix in vectors)
        return entities._replace(guide=GuideVectors(*tensors))


def write_entity_embeddings(sentences: FrozenEmbeddings, entities: NDArray[np.int64], count: int, target: Path) -> None:
    """Write, for each of `count` entities, the mean guide embedding of its sentences, of length 1; the write is atomic.

    `sentences` has the guide's embedding of each pair, (pairs, dimension), `entities` each pair's entity row.
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
