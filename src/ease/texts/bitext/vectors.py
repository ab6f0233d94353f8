"""Sentence embeddings on disk, in a matrix that is read a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from tqdm import tqdm

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.retrieval import unit_rows
from ease.io.files import report_write_errors

if TYPE_CHECKING:
    import ibis.expr.types as ir

SENTENCES = 8192
"""Sentences encoded at once."""


def embed_rows(
    encode: Encode, table: ir.Table, rows: int, file: Path, progress: str = ""
) -> NDArray[np.float32]:
    """Encode the sentences of a table into a file, and return its matrix, (rows, dimension), which stays on disk.

    Args:
        encode: A function from sentences to embeddings.
        table: Columns row and text, in the order of `row`; the matrix is zero in the rows that it lacks.
        rows: Number of rows of the matrix.
        file: The file (.npy), which the caller removes.
        progress: Title of the progress bar; no bar if empty.

    Raises:
        EaseError: If the table is empty, an embedding is zero or not finite, or the file cannot be written.
    """
    matrix: NDArray[np.float32] | None = None
    with tqdm(desc=progress, unit="sentence", delay=2, leave=False, disable=not progress) as bar:
        for batch in in_batches(table.select("row", "text"), SENTENCES):
            units = unit_rows(encode(batch["text"].to_pylist()))
            if matrix is None:
                with report_write_errors(file):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    matrix = open_memmap(file, mode="w+", dtype=np.float32, shape=(rows, units.shape[1]))
            matrix[batch["row"].to_numpy()] = units
            bar.update(len(units))
    if matrix is None:
        raise EaseError("There is no sentence to encode: give at least one.")
    return matrix


def in_batches(table: ir.Table, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a table in its order, in tables of some rows."""
    return (pa.Table.from_batches([batch]) for batch in _filled(table.to_pyarrow_batches(chunk_size=rows)))


def _filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch for batch in batches if len(batch))
