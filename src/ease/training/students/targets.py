"""A student's training sentences and its teacher's embeddings of them, in files mapped into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.linalg import eigh

from ease.encoders.encoder import embedding_dimension
from ease.encoders.encoding import Encoding
from ease.errors import EaseError
from ease.evaluation.metrics import unit_or_zero_rows
from ease.io.atomic import atomic_path

BLOCK = 8192
"""Sentences read or encoded at a time"""

Targets = NDArray[np.float16]


def write_sentences(sentences: Iterable[str], target: Path) -> None:
    """Write sentences to an Arrow file, atomically.

    Raises:
        EaseError: If there is none.
    """
    schema, rest = pa.schema([("sentence", pa.large_string())]), iter(sentences)
    with (
        atomic_path(target) as partial,
        pa.OSFile(str(partial), "wb") as file,
        pa.ipc.new_file(file, schema) as sink,
    ):
        count = 0
        while batch := list(islice(rest, BLOCK)):
            sink.write_batch(pa.record_batch([pa.array(batch, pa.large_string())], schema))
            count += len(batch)
        if not count:
            raise EaseError("There is no training sentence for the student: loosen the filters of the pairs.")


def open_sentences(file: Path) -> pa.ChunkedArray:
    """Map the sentences of a file."""
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all()["sentence"]


def blocks(sentences: pa.ChunkedArray) -> Iterator[list[str]]:
    """Yield the sentences block by block."""
    for start in range(0, len(sentences), BLOCK):
        yield sentences.slice(start, BLOCK).to_pylist()


def write_targets(encode: Encoding, sentences: pa.ChunkedArray, target: Path) -> None:
    """Write the teacher's embeddings, of length 1 and half precision, to a file (.npy), atomically.

    An interrupted call resumes from the cache of embeddings.
    """
    with atomic_path(target) as partial:
        with partial.open("wb") as file:
            shape = (len(sentences), embedding_dimension(encode.encoder))
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f2", "fortran_order": False, "shape": shape}
            )
            for block in blocks(sentences):
                file.write(unit_or_zero_rows(encode(block)).astype("<f2").tobytes())


def open_targets(file: Path) -> Targets:
    """Map the embeddings of a file: (sentences, dimension)."""
    mapped: Targets = np.load(file, mmap_mode="r")
    return mapped


def principal_directions(targets: Targets, kept: int | None) -> NDArray[np.float64]:
    """Return the principal directions of embeddings, (dimension, kept), orthonormal, largest sum of squares first.

    All of them together are a rotation, which keeps every cosine.

    Args:
        targets: Embeddings, (sentences, dimension).
        kept: Number of directions; None: all.
    """
    dimension = targets.shape[1]
    squares = np.zeros((dimension, dimension))
    for start in range(0, len(targets), BLOCK):
        block = targets[start : start + BLOCK].astype(np.float64)
        squares += block.T @ block
    directions: NDArray[np.float64] = eigh(squares)[1][:, ::-1]
    return directions[:, :kept]


def check_dimensions(matryoshka: Sequence[int], dimension: int) -> None:
    """Refuse numbers of first dimensions that are not below the student's.

    Raises:
        EaseError: Naming the first one.
    """
    if wrong := [count for count in matryoshka if count >= dimension]:
        raise EaseError(
            f"`matryoshka` {wrong[0]}: give numbers from 1 to {dimension - 1}, below the student's {dimension}."
        )
