"""Embeddings of the training sentences by further encoders: a teacher, and a guide that finds false negatives."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
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
from ease.training.inputs import LANGUAGE, distinct, open_pair_table
from ease.training.options import FrozenEncoder, TeacherOptions
from ease.training.prepared_pairs import READ_ROWS, pair_places, reserve

logger = logging.getLogger(__name__)

Embeddings = NDArray[np.float16]


def teacher_embeddings(
    pairs: Path,
    options: TeacherOptions,
    start: str,
    dimension: int,
    target: Path,
    accelerator: Accelerator,
) -> Embeddings:
    """Map a file of a teacher's embeddings, as `frozen_embeddings` does, of the languages that it teaches.

    Args:
        pairs: Parquet with sentences.
        options: The teacher.
        start: The encoder that the training starts from.
        dimension: That encoder's dimension.
        target: The file.
        accelerator: Device and processes.

    Raises:
        EaseError: If the teacher does not load, its dimension differs with `cosine`, or a language has no pair.
    """
    wanted = dimension if options.form == "cosine" else None
    return frozen_embeddings(pairs, options, start, target, accelerator, options.languages, wanted)


def frozen_embeddings(
    pairs: Path,
    options: FrozenEncoder,
    start: str,
    target: Path,
    accelerator: Accelerator,
    languages: Sequence[str] | None = None,
    dimension: int | None = None,
) -> Embeddings:
    """Map a file of an encoder's embeddings, one per pair in the order of the prepared pairs; make it if missing.

    Every process must call this function; each encodes its share of the sentences. An interrupted call resumes from the
    cache of embeddings.

    Args:
        pairs: Parquet with sentences.
        options: The encoder.
        start: The encoder that the training starts from.
        target: The file, written atomically.
        accelerator: Device and processes.
        languages: Languages whose sentences are encoded. Default: all.
        dimension: The expected dimension. Default: any.

    Returns:
        Shape (pairs, dimension), in half precision; of length 1, or zeros for other languages.

    Raises:
        EaseError: If the encoder does not load, its dimension is not the expected one, or a language has no pair.
    """
    missing = not target.exists()
    accelerator.wait_for_everyone()  # all processes look before the first one writes
    if missing:
        _write(pairs, options, start, target, accelerator, languages, dimension)
    mapped: Embeddings = np.load(target, mmap_mode="r")
    return mapped


def _write(
    pairs: Path,
    options: FrozenEncoder,
    start: str,
    target: Path,
    accelerator: Accelerator,
    languages: Sequence[str] | None,
    dimension: int | None,
) -> None:
    """Encode this process's share of the sentences into the file, and publish the complete file."""
    name = options.located(start)
    encoder = load_encoder(name, options.pooling)
    found = embedding_dimension(encoder)
    if dimension not in (None, found):
        raise EaseError(
            f"The teacher {name!r} has {found} dimensions and the trained encoder {dimension}, which `form: cosine` "
            f"cannot compare: set `teacher.form` to `similarity`, or choose a teacher with {dimension} dimensions."
        )
    source = open_pair_table(pairs, _columns(languages))
    _check_languages(source, languages)
    places = pair_places(source)
    partial, first = partial_path(target), process_rank() == 0
    if first:
        logger.info("%s encodes the sentences of %d pairs", name, len(places))
        with report_write_errors(target):
            np.lib.format.open_memmap(partial, "w+", np.float16, (len(places), found))
            with partial.open("r+b") as file:
                reserve(file.fileno(), partial.stat().st_size)
    accelerator.wait_for_everyone()
    cache = options.cache or teacher_cache(target.parent)
    encoding = EncodingOptions(batch_size=options.batch_size, cache=cache)
    # One process records the cache's user: the file has a single writer.
    encode = encode_with(encoder.to(accelerator.device), encoding, "sentences", name if first else None)
    stored = np.load(partial, mmap_mode="r+")
    encode_share(source, places, languages, encode, stored)
    stored.flush()
    accelerator.wait_for_everyone()
    if first:
        partial.replace(target)
    accelerator.wait_for_everyone()


def _columns(languages: Sequence[str] | None) -> list[str]:
    return [SENTENCE] if languages is None else [SENTENCE, LANGUAGE]


def _check_languages(source: pads.Dataset, languages: Sequence[str] | None) -> None:
    """Raise an `EaseError` if one of the languages has no pair."""
    if languages is None:
        return
    available = distinct(source, LANGUAGE)
    if absent := set(languages).difference(available):
        raise EaseError(
            f"`teacher.languages`: no pair has the language {', '.join(sorted(absent))}; the languages are "
            f"{', '.join(available)}."
        )


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
    batches: Iterator[pa.RecordBatch] = source.to_batches(columns=_columns(languages), batch_size=READ_ROWS)
    for number, batch in enumerate(batches):
        rows = places[begin : begin + batch.num_rows]
        begin += batch.num_rows
        if number % sharing == process_rank():
            taught = _of_languages(batch, languages)
            vectors = encode(batch.column(SENTENCE).filter(pa.array(taught)).to_pylist())
            stored[rows[taught]] = unit_or_zero_rows(vectors)


def _of_languages(batch: pa.RecordBatch, languages: Sequence[str] | None) -> NDArray[np.bool_]:
    """Return which sentences are of the languages; without languages, all."""
    if languages is None:
        return np.ones(batch.num_rows, dtype=bool)
    found: NDArray[np.bool_] = np.isin(batch.column(LANGUAGE).to_pylist(), languages)
    return found


def teacher_cache(folder: Path) -> Path:
    """Return the folder of the cache of a training that shares none."""
    return folder / "teacher"


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
