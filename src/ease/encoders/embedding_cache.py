"""Cache of embeddings on disk: each model encodes a sentence once."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from ease.errors import EaseError
from ease.io.files import report_write_errors

WAIT = 60.0
"""Seconds to wait for another process that writes to the file."""


class EmbeddingCache:
    """Embeddings of one model in an SQLite file, written atomically."""

    def __init__(self, file: Path) -> None:
        """Open the file or create it."""
        self._file = file
        with report_write_errors(file):
            file.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS embeddings (sentence BLOB PRIMARY KEY, vector BLOB)")

    def read(self, sentences: Sequence[str]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the position and the embedding, (dimension,) float32, of each cached sentence."""
        with self._open() as database:
            database.execute("CREATE TEMP TABLE wanted (position INTEGER, sentence BLOB)")
            database.executemany("INSERT INTO wanted VALUES (?, ?)", enumerate(map(_key, sentences)))
            found = database.execute("SELECT position, vector FROM wanted JOIN embeddings USING (sentence)")
            for position, vector in found:
                yield position, np.frombuffer(vector, dtype=np.float32)

    def write(self, sentences: Sequence[str], embeddings: np.ndarray) -> None:
        """Write embeddings, (n, dimension) float32, in one transaction."""
        vectors = (row.tobytes() for row in np.ascontiguousarray(embeddings, dtype=np.float32))
        rows = zip(map(_key, sentences), vectors, strict=True)
        with self._open() as database:
            database.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction.

        Raises:
            EaseError: If the file is not a database, or cannot be written.
        """
        try:
            with closing(sqlite3.connect(self._file, timeout=WAIT)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise EaseError(
                f"{self._file}: the cache of embeddings cannot be used ({error}): free disk space, or delete the file, "
                "after which sentences are encoded again."
            ) from error


def _key(sentence: str) -> bytes:
    """Return a 128-bit hash of the sentence."""
    return hashlib.blake2b(sentence.encode(), digest_size=16).digest()
