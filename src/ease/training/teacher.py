"""Embeddings of the training sentences by further encoders: a teacher, and a guide that finds false negatives."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from ease.encoders.encoder import embedding_dimension, load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import unit_or_zero_rows
from ease.io.atomic import atomic_path, partial_path
from ease.io.files import report_write_errors
from ease.methods.base import SENTENCE, Entities, GuideVectors
from ease.methods.components.distributed import process_count, process_rank
from ease.training.options import FrozenEncoder, TeacherOptions
from ease.training.prepared_pairs import LANGUAGE, READ_ROWS, distinct, open_pair_table, pair_places, reserve

logger = logging.getLogger(__name__)

Embeddings = NDArray[np.float16]

CACHE = "teacher"
"""Folder of the cache of a training that shares none, in its work folder"""


def frozen_embeddings(
    pairs: Path,
    options: FrozenEncoder,
    start: str,
    target: Path,
    accelerator: Accelerator,
    dimension: int | None = None,
) -> Embeddings:
    """Map a file of an encoder's embeddings, one per pair in the order of the prepared pairs; make it if missing.

    Every process must call this function; each encodes its share of the sentences. An interrupted call resumes from the
    cache of embeddings.

    `start` is the encoder that the training starts from, and `dimension` the expected one. The pairs have languages if
    a teacher has `languages`. The file is written atomically.

    Returns:
        Shape (pairs, dimension), in half precision; of length 1, or zeros for languages that are not taught.

    Raises:
        EaseError: If the encoder does not load, its dimension is not the expected one, or a language has no pair.
    """
    missing = not target.exists()
    accelerator.wait_for_everyone()  # all processes look before the first one writes
    if not missing:
        mapped: Embeddings = np.load(target, mmap_mode="r")
        return mapped
    name = options.located(start)
    encoder = load_encoder(name, options.pooling).to(accelerator.device)
    found = embedding_dimension(encoder)
    if dimension not in (None, found):
        raise EaseError(
            f"The teacher {name!r} has {found} dimensions and the trained encoder {dimension}, which `form: cosine` "
            f"cannot compare: set `teacher.form` to `similarity`, or choose a teacher with {dimension} dimensions."
        )
    languages = options.languages if isinstance(options, TeacherOptions) else None
    source = open_pair_table(pairs, [SENTENCE, *([] if languages is None else [LANGUAGE])])
    if languages is not None and (absent := set(languages).difference(known := distinct(source, LANGUAGE))):
        raise EaseError(
            f"`teacher.languages`: no pair has the language {', '.join(sorted(absent))}; the languages are "
            f"{', '.join(known)}."
        )
    places = pair_places(source)
    partial, first = partial_path(target), process_rank() == 0
    if first:
        logger.info("%s encodes the sentences of %d pairs", name, len(places))
        with report_write_errors(target):
            np.lib.format.open_memmap(partial, "w+", np.float16, (len(places), found))
            with partial.open("r+b") as file:
                reserve(file.fileno(), partial.stat().st_size)
    accelerator.wait_for_everyone()
    encoding = EncodingOptions(batch_size=options.batch_size, cache=options.cache or target.parent / CACHE)
    # One process records the cache's user: the file has a single writer.
    encode = encode_with(encoder, encoding, "sentences", name if first else None)
    stored = np.load(partial, mmap_mode="r+")
    encode_share(source, places, languages, encode, stored)
    stored.flush()
    accelerator.wait_for_everyone()
    if first:
        partial.replace(target)
    accelerator.wait_for_everyone()
    made: Embeddings = np.load(target, mmap_mode="r")
    return made


def encode_share(
    source: pads.Dataset,
    places: NDArray[np.int64],
    languages: Sequence[str] | None,
    encode: Encode,
    stored: Embeddings,
) -> None:
    """Store this process's share of the embeddings at the places of their pairs.

    The processes of the first machine share them: network file systems write whole pages, so a second machine would
    overwrite rows of the first.
    """
    sharing = int(os.environ.get("LOCAL_WORLD_SIZE", process_count()))
    begin = 0
    columns = [SENTENCE] if languages is None else [SENTENCE, LANGUAGE]
    for number, batch in enumerate(source.to_batches(columns=columns, batch_size=READ_ROWS)):
        rows = places[begin : begin + batch.num_rows]
        begin += batch.num_rows
        if number % sharing == process_rank():
            if languages is not None:
                taught = pc.is_in(batch[LANGUAGE], pa.array(languages))
                batch, rows = batch.filter(taught), rows[taught.to_numpy(zero_copy_only=False)]
            stored[rows] = unit_or_zero_rows(encode(batch[SENTENCE].to_pylist()))


class Guide(NamedTuple):
    """A guide's embeddings of all pairs; an entity's embedding is the mean of its sentences'."""

    sentences: Embeddings
    """(pairs, dimension)"""
    entities: NDArray[np.float32]
    """(entities, dimension), of length 1; zeros for an entity without a pair"""

    def add_to(self, entities: Entities, rows: NDArray[np.int64]) -> Entities:
        """Return the entities of a batch, which has these rows of the pairs, with the guide's embeddings."""
        own, hard_negatives = entities.positives.numpy(), entities.hard_negatives.numpy()
        vectors = (self.sentences[rows], self.entities[own], self.entities[hard_negatives])
        return entities._replace(
            guide=GuideVectors(*(torch.from_numpy(np.asarray(one, np.float32)) for one in vectors))
        )


def write_entity_embeddings(
    sentences: Embeddings, entities: NDArray[np.int64], count: int, target: Path
) -> None:
    """Write the mean of the guide's embeddings, (pairs, dimension), of each of `count` entities' sentences, atomically.

    `entities` has the entity's row of each pair.
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
