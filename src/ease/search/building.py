"""Build an index: write the sentences, embed them block by block, and beyond a limit compress them by faiss."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ease.errors import EaseError
from ease.evaluation.metrics import normalize_rows
from ease.io.atomic import atomic_path, write_text_atomically
from ease.io.locks import folder_lock
from ease.io.models import StrictModel
from ease.search.approximate import APPROXIMATE, build_approximate
from ease.search.limits import EXACT_LIMIT, MEMORY
from ease.search.table import Rows, language_ranges, write_sentences

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""n texts to their embeddings, (n, dimension)."""
VERSION = 1
"""Raised when an index of an earlier version cannot be read."""
DESCRIPTION, SENTENCES = "index.json", "sentences.parquet"
SMALLEST_BLOCK, LARGEST_BLOCK, BLOCKS = 1_024, 16_384, 64
"""Rows of a block, and the number of blocks that small indexes have."""


class Description(StrictModel):
    """What an index was built from, written when its sentences are."""

    version: int
    encoder: str
    """Fingerprint of the encoder"""
    sentences: str
    """Digest of the tables"""
    rows: int
    languages: dict[str, tuple[int, int]]
    """First row of each language and the row after its last"""
    block: int
    """Rows of a block"""

    def blocks(self) -> list[tuple[int, int]]:
        """Return the first row of each block and the row after its last."""
        return [(start, min(start + self.block, self.rows)) for start in range(0, self.rows, self.block)]


def build_index(
    folder: Path,
    encode: Encode,
    encoder: str,
    tables: tuple[list[Path], list[Path], str],
    *,
    memory: int = MEMORY,
    exact_limit: int = EXACT_LIMIT,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Build or complete an index; a later call continues where a killed one stopped.

    Args:
        folder: The index; created if missing.
        encode: The encoder.
        encoder: Its fingerprint.
        tables: Files of the sentences, files of their links, and the digest of both.
        memory: Memory limit in megabytes of the sorting and of the compressed index. The encoder and one block of
            embeddings come on top.
        exact_limit: Sentences beyond which faiss is used.
        report: Called with the sentences embedded so far and their number.

    Raises:
        EaseError: If the folder has the index of another encoder or of other sentences, if another process builds it,
            if there is no sentence, or the memory does not suffice.
    """
    sentences, links, digest = tables
    with folder_lock(folder):
        if (folder / DESCRIPTION).is_file():
            description = read_description(folder)
            check_belongs(folder, description, encoder, digest)
        else:
            write_sentences(folder / SENTENCES, sentences, links, memory)
            description = _describe(folder / SENTENCES, encoder, digest)
            write_text_atomically(folder / DESCRIPTION, description.model_dump_json(indent=1))
        _embed(folder, description, encode, report)
        if description.rows > exact_limit and not (folder / APPROXIMATE).exists():
            build_approximate(folder, [block_file(folder, *block) for block in description.blocks()], memory)


def read_description(folder: Path) -> Description:
    """Read what an index was built from.

    Raises:
        EaseError: If the folder has no index, or one of another version.
    """
    path = folder / DESCRIPTION
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found.get("version") != VERSION:
            raise EaseError(
                f"{folder} has an index of another version of EASE: remove it, and build it again."
            )
        return Description.model_validate(found)
    except (OSError, AttributeError, json.JSONDecodeError, ValidationError) as error:
        raise EaseError(f"{folder} has no index: build it by `python -m ease.search build`.") from error


def check_belongs(folder: Path, description: Description, encoder: str, digest: str) -> None:
    """Refuse an index of another encoder or of other sentences.

    Raises:
        EaseError: If either differs.
    """
    other = [
        name
        for name, own, wanted in (
            ("another model", description.encoder, encoder),
            ("other sentences", description.sentences, digest),
        )
        if own != wanted
    ]
    if other:
        raise EaseError(
            f"The index {folder} was built with {' and '.join(other)}: remove that folder, or name another by --index."
        )


def block_file(folder: Path, start: int, end: int) -> Path:
    """Return the file of a block's unit vectors, (rows, dimension) float32."""
    return folder / f"vectors-{start:010d}-{end:010d}.npy"


def _describe(file: Path, encoder: str, digest: str) -> Description:
    rows = len(Rows(file))
    if not rows:
        raise EaseError("The table of sentences is empty: there is nothing to search.")
    return Description(
        version=VERSION,
        encoder=encoder,
        sentences=digest,
        rows=rows,
        languages=language_ranges(file),
        block=min(LARGEST_BLOCK, max(SMALLEST_BLOCK, rows // BLOCKS)),
    )


def _embed(
    folder: Path, description: Description, encode: Encode, report: Callable[[int, int], None]
) -> None:
    """Embed the blocks without vectors, in an order that mixes the languages, so that a part of the index is useful."""
    blocks, sentences = description.blocks(), Rows(folder / SENTENCES)
    done = 0
    for number in np.random.default_rng(0).permutation(len(blocks)):
        start, end = blocks[number]
        path = block_file(folder, start, end)
        if not path.exists():
            vectors = normalize_rows(encode(sentences.column("text", start, end).to_pylist())).astype(
                np.float32
            )
            with atomic_path(path) as partial, partial.open("wb") as file:
                np.save(file, vectors)
        done += end - start
        report(done, description.rows)
