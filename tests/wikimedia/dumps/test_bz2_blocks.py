"""Read bz2 files block by block, with the compiled functions where they were built, and without them."""

from __future__ import annotations

import bz2
import io
import random
from contextlib import suppress
from itertools import accumulate

import pytest

from ease.wikimedia.dumps import bz2_blocks
from ease.wikimedia.dumps.bz2_blocks import BrokenBlockError, Bz2Blocks

BLOCK_MARK, END_MARK = 0x314159265359, 0x177245385090
RANDOM = random.Random(0)
TEXT = b"".join(b"%d is a line of %d.\n" % (RANDOM.randrange(10**6), number) for number in range(60_000))
"""Seventeen blocks of level 1."""
ONE_STREAM = bz2.compress(TEXT, 1)


@pytest.fixture(params=["compiled", "Python"], autouse=True)
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the functions that were compiled on installation, and without them."""
    if request.param == "Python":
        monkeypatch.setattr(bz2_blocks, "IS_COMPILED", False)


def read(
    content: bytes, start: int = 0, threads: int = 1, read_bytes: int = 1 << 20
) -> list[tuple[int, bytes]]:
    return list(Bz2Blocks(io.BytesIO(content), start, threads, read_bytes))


def joined(blocks: list[tuple[int, bytes]]) -> bytes:
    return b"".join(block for _, block in blocks)


@pytest.mark.parametrize(("threads", "read_bytes"), [(1, 1000), (3, 1 << 20)])
@pytest.mark.parametrize(
    "content",
    [
        ONE_STREAM,
        bz2.compress(TEXT),
        bz2.compress(b"") + ONE_STREAM + bz2.compress(b"") + bz2.compress(b"end"),
    ],
    ids=["many blocks", "two blocks", "streams, some without a block"],
)
def test_blocks_join_to_the_decompressed_file(content: bytes, read_bytes: int, threads: int) -> None:
    assert joined(read(content, threads=threads, read_bytes=read_bytes)) == bz2.decompress(content)


def test_any_byte_enters_at_the_next_block() -> None:
    blocks = read(ONE_STREAM)
    begins = [begin for begin, _ in blocks]
    assert len(blocks) == 17
    after = dict(zip(begins, accumulate(len(block) for _, block in blocks), strict=True))
    for start in [0, *begins[1:4], begins[4] + 1, *RANDOM.sample(range(len(ONE_STREAM)), 8)]:
        later = [begin for begin in begins if begin >= max(start, 4)]
        skipped = len(TEXT) if not later else after[later[0]] - len(dict(blocks)[later[0]])
        assert joined(read(ONE_STREAM, start)) == TEXT[skipped:]


def with_mark(mark: int) -> bytes:
    """Return a text whose blocks contain the marker by chance: a block stores the set of its byte values as bits."""
    used = [value for value in range(48) if mark >> (47 - value) & 1]
    values = [*used, *range(48, 120)]
    # No byte comes four times running: its run would be written with a further value.
    return b"".join(bytes(RANDOM.sample(values, len(values))) for _ in range(1600))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mark", [BLOCK_MARK, END_MARK], ids=["block", "end"])
def test_a_marker_by_chance_does_not_split_a_block(mark: int, threads: int) -> None:
    text = with_mark(mark)
    content = bz2.compress(text, 1)
    bits = "".join(f"{byte:08b}" for byte in content)
    true = 2 if mark == BLOCK_MARK else 1
    assert bits.count(f"{mark:048b}") == true + 2, "one in each block's list"
    blocks = read(content, threads=threads)
    assert joined(blocks) == text
    for start in range(5, 40, 7):
        assert read(content, start) == blocks[1:]
    assert read(content, blocks[1][0] + 1) == []


@pytest.mark.parametrize("lost", [1, 9, 500, len(ONE_STREAM) // 2])
def test_a_truncated_file_is_reported(lost: int) -> None:
    reader = Bz2Blocks(io.BytesIO(ONE_STREAM[:-lost]))
    content = joined(list(reader))
    assert reader.truncated
    assert TEXT.startswith(content)
    assert len(content) >= len(TEXT) - len(TEXT) * lost / len(ONE_STREAM) - 150_000


@pytest.mark.parametrize("threads", [1, 2])
def test_a_broken_block_is_reported(threads: int) -> None:
    begins = read(ONE_STREAM)[5][0]
    broken = bytearray(ONE_STREAM)
    broken[begins + 2000] ^= 0xFF
    with pytest.raises(BrokenBlockError) as caught:
        read(bytes(broken), threads=threads)
    assert (caught.value.byte, caught.value.trailing) == (begins, False)


@pytest.mark.parametrize("start", [0, 5])
def test_a_file_padded_with_zeros_is_refused_without_reading_all(start: int) -> None:
    file = io.BytesIO(ONE_STREAM[:-1000] + bytes(30_000_000))
    with pytest.raises(BrokenBlockError):
        list(Bz2Blocks(file, start))
    assert file.tell() < 5_000_000


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("mark", [BLOCK_MARK, END_MARK], ids=["block", "end"])
def test_a_file_of_markers_is_tried_as_few_blocks(
    mark: int, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0

    def decode(content: bytes, start: int, end: int) -> bytes:
        nonlocal tried
        tried += 1
        return b""

    monkeypatch.setattr(bz2_blocks, "_decode", decode)
    block = BLOCK_MARK.to_bytes(6, "big") + b"some"
    markers = mark.to_bytes(6, "big") + b"more"
    content = b"BZh9" + block + 500 * markers
    with suppress(BrokenBlockError):
        assert read(content, start) == []
    assert 0 < tried < 20 * 500
