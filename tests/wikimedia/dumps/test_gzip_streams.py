"""A .gz is read as the standard library's zlib reads it, also where it is cut or damaged."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import DecompressedStream


def texts(size: int) -> bytes:
    """Return text that compresses to a third, as a dump does."""
    rng = random.Random(0)
    words = [rng.randbytes(rng.randrange(2, 9)).hex().encode() for _ in range(3000)]
    return b" ".join(rng.choices(words, k=size // 10))[:size]


def read(path: Path, content: bytes) -> tuple[bytes, bool]:
    """Return what is read of a file, and whether the file is truncated."""
    path.write_bytes(content)
    stream = DecompressedStream(path)
    return b"".join(block for _, block in stream), stream.truncated


@pytest.mark.parametrize(("size", "level"), [(0, 6), (100, 9), (100_000, 1)])
def test_a_file_cut_anywhere_gives_all_bytes_before_the_cut(tmp_path: Path, size: int, level: int) -> None:
    packed = gzip.compress(texts(size), level)
    rng = random.Random(size)
    for cut in sorted(
        {*(rng.randrange(4, len(packed)) for _ in range(60)), len(packed) - 8, len(packed) - 1}
    ):
        if expected := zlib.decompressobj(31).decompress(packed[:cut]):
            assert read(tmp_path / "cut.gz", packed[:cut]) == (expected, True)
        else:
            with pytest.raises(EaseError, match="is truncated before the end of its first gz block"):
                read(tmp_path / "cut.gz", packed[:cut])
    assert read(tmp_path / "whole.gz", packed) == (texts(size), False)
