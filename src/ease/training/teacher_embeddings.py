"""A teacher's embeddings of the training sentences, computed once and mapped into memory by every process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from accelerate import Accelerator
from numpy.typing import NDArray

from ease.encoders.encoder import embedding_dimension, load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.io.atomic import partial_path
from ease.io.files import report_write_errors
from ease.methods import SENTENCE
from ease.methods.components.distributed import process_count, process_rank
from ease.training.batches import READ_ROWS, pair_places, reserve
from ease.training.inputs import LANGUAGE, distinct, open_pair_table
from ease.training.teacher import TeacherOptions

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
    """Map a file of the teacher's embeddings, one per pair in the order of the prepared pairs; make it if missing.

    Every process must call this function; each encodes its share of the sentences. An interrupted call resumes from the
    cache of embeddings.

    Args:
        pairs: Parquet with sentences.
        options: The teacher.
        start: The encoder that the training starts from.
        dimension: That encoder's dimension.
        target: The file, written atomically.
        accelerator: Device and processes.

    Returns:
        Shape (pairs, dimension), in half precision; of length 1, or zeros for languages that are not taught.

    Raises:
        EaseError: If the teacher does not load, its dimension differs with `cosine`, or a language has no pair.
    """
    missing = not target.exists()
    accelerator.wait_for_everyone()  # all processes look before the first one writes
    if missing:
        _write(pairs, options, start, dimension, target, accelerator)
    mapped: Embeddings = np.load(target, mmap_mode="r")
    return mapped


def _write(
    pairs: Path,
    options: TeacherOptions,
    start: str,
    dimension: int,
    target: Path,
    accelerator: Accelerator,
) -> None:
    """Encode this process's share of the sentences into the file, and publish the complete file."""
    name = options.located(start)
    teacher = load_encoder(name, options.pooling)
    found = embedding_dimension(teacher)
    if options.form == "cosine" and found != dimension:
        raise EaseError(
            f"The teacher {name!r} has {found} dimensions and the trained encoder {dimension}, which `form: cosine` "
            f"cannot compare: set `teacher.form` to `similarity`, or choose a teacher with {dimension} dimensions."
        )
    columns = [SENTENCE] if options.languages is None else [SENTENCE, LANGUAGE]
    source = open_pair_table(pairs, columns)
    if absent := set(options.languages or ()).difference(distinct(source, LANGUAGE) if columns[1:] else ()):
        raise EaseError(
            f"`teacher.languages`: no pair has the language {', '.join(sorted(absent))}; the languages are "
            f"{', '.join(distinct(source, LANGUAGE))}."
        )
    places = pair_places(source)
    partial, first = partial_path(target), process_rank() == 0
    if first:
        logger.info("The teacher %s encodes the sentences of %d pairs", name, len(places))
        with report_write_errors(target):
            np.lib.format.open_memmap(partial, "w+", np.float16, (len(places), found))
            with partial.open("r+b") as file:
                reserve(file.fileno(), partial.stat().st_size)
    accelerator.wait_for_everyone()
    stored = np.load(partial, mmap_mode="r+")
    cache = options.cache or teacher_cache(target.parent)
    encoding = EncodingOptions(batch_size=options.batch_size, cache=cache)
    # One process records the cache's user: the file has a single writer.
    encode = encode_with(teacher.to(accelerator.device), encoding, "teacher", name if first else None)
    begin = 0
    batches: Iterator[pa.RecordBatch] = source.to_batches(columns=columns, batch_size=READ_ROWS)
    for number, batch in enumerate(batches):
        rows = places[begin : begin + batch.num_rows]
        begin += batch.num_rows
        if number % process_count() == process_rank():
            taught = _taught(batch, options)
            vectors = encode(batch.column(SENTENCE).filter(pa.array(taught)).to_pylist())
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            stored[rows[taught]] = vectors / np.maximum(lengths, 1e-12)
    stored.flush()
    accelerator.wait_for_everyone()
    if first:
        partial.replace(target)
    accelerator.wait_for_everyone()


def _taught(batch: pa.RecordBatch, options: TeacherOptions) -> NDArray[np.bool_]:
    """Return which sentences the teacher teaches."""
    if options.languages is None:
        return np.ones(batch.num_rows, dtype=bool)
    taught: NDArray[np.bool_] = np.isin(batch.column(LANGUAGE).to_pylist(), options.languages)
    return taught


def teacher_cache(folder: Path) -> Path:
    """Return the folder of the cache of a training that shares none."""
    return folder / "teacher"
