"""bz2 files block by block, with the compiled functions and without."""

from __future__ import annotations

import bz2
import importlib
import io
import random
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from types import ModuleType

import pytest

from ease.wikimedia.dumps import bz2_blocks
from ease.wikimedia.dumps.bz2_blocks import BrokenBlockError, Bz2Blocks

BLOCK_MARK, END_MARK = 0x314159265359, 0x177245385090
RANDOM = random.Random(0)
TEXT = b"".join(b"%d is a line of %d.\n" % (RANDOM.randrange(10**6), number) for number in range(60_000))
"""Seventeen blocks of level 1."""
ONE_STREAM = bz2.compress(TEXT, 1)
STREAMS = bz2.compress(b"") + ONE_STREAM + bz2.compress(b"") + bz2.compress(b"end")


@pytest.fixture(params=["compiled", "Python"])
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the functions that were compiled on installation, and without them."""
    if request.param == "Python":
        monkeypatch.setattr(bz2_blocks, "IS_COMPILED", False)


in_both_forms = pytest.mark.usefixtures("_form")


def read(content: bytes, start: int = 0, threads: int = 1, read_bytes: int = 1 << 20) -> list[tuple[int, bytes]]:
    return list(Bz2Blocks(io.BytesIO(content), start, threads, read_bytes))


def joined(blocks: list[tuple[int, bytes]]) -> bytes:
    return b"".join(block for _, block in blocks)


@in_both_forms
@pytest.mark.parametrize(("threads", "read_bytes"), [(1, 1000), (3, 1 << 20)])
@pytest.mark.parametrize("content", [ONE_STREAM, bz2.compress(TEXT), STREAMS], ids=["many blocks", "two", "streams"])
def test_blocks_join_to_the_decompressed_file(content: bytes, read_bytes: int, threads: int) -> None:
    assert joined(read(content, threads=threads, read_bytes=read_bytes)) == bz2.decompress(content)


@in_both_forms
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
    mark_bits = [value for value in range(48) if mark >> (47 - value) & 1]
    values = [*mark_bits, *range(48, 120)]
    # No byte comes four times running: its run would be written with a further value.
    return b"".join(bytes(RANDOM.sample(values, len(values))) for _ in range(1600))


@in_both_forms
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


@in_both_forms
@pytest.mark.parametrize("threads", [1, 2])
def test_truncated_files_and_broken_blocks_are_reported(threads: int) -> None:
    for lost in (1, len(ONE_STREAM) // 2):
        reader = Bz2Blocks(io.BytesIO(ONE_STREAM[:-lost]), 0, threads)
        content = joined(list(reader))
        assert reader.truncated
        assert TEXT.startswith(content)
        assert len(content) >= len(TEXT) - len(TEXT) * lost / len(ONE_STREAM) - 150_000
    begins = read(ONE_STREAM)[5][0]
    broken = bytearray(ONE_STREAM)
    broken[begins + 2000] ^= 0xFF
    with pytest.raises(BrokenBlockError) as caught:
        read(bytes(broken), threads=threads)
    assert (caught.value.byte, caught.value.trailing) == (begins, False)


@in_both_forms
@pytest.mark.parametrize("start", [0, 5])
def test_a_file_padded_with_zeros_is_refused_without_reading_all(start: int) -> None:
    file = io.BytesIO(ONE_STREAM[:-1000] + bytes(30_000_000))
    with pytest.raises(BrokenBlockError):
        list(Bz2Blocks(file, start))
    assert file.tell() < 5_000_000


TEXTS: dict[str, Callable[[random.Random, int], bytes]] = {
    "every byte": lambda generator, size: generator.randbytes(size),
    "one byte": lambda generator, size: bytes([generator.randrange(256)]) * size,
    "periods": lambda generator, size: (generator.randbytes(generator.randint(2, 300)) * size)[:size],
    "rare bytes": lambda generator, size: bytes(
        generator.choices(range(256), [2.0 ** -(value % 30) for value in range(256)], k=size)
    ),
    "runs": lambda generator, size: b"".join(
        bytes([generator.randrange(256)]) * generator.choice([1, 3, 4, 5, 254, 255, 256, 259, 260, 300])
        for _ in range(size // 100)
    ),
}


@pytest.fixture(scope="module")
def compiled() -> ModuleType:
    """The compiled functions of this installation."""
    try:
        return importlib.import_module("ease.wikimedia.dumps._bz2_decoder")
    except ImportError:
        pytest.skip("The decoder is not compiled: install the package anew where a C++ compiler works (pip -v)")


FIRST = 32
"""Bit of a stream at which its first block starts"""


def end_of_block(stream: bytes, compiled: ModuleType) -> int:
    """Return the bit after the last block of a stream."""
    ends: list[int] = [bit for bit, is_end in compiled.find_markers(stream) if is_end]
    return ends[-1]


@pytest.mark.parametrize("text", TEXTS)
def test_blocks_give_what_libbz2_gives_and_broken_ones_that_or_nothing(text: str, compiled: ModuleType) -> None:
    generator = random.Random(text)
    for size in (0, 1, 4, 8, 10, 100, 511, 512, 513, 80_000):
        content = TEXTS[text](generator, size) or b"-"
        stream = bz2.compress(content, generator.randint(1, 9))
        assert compiled.decode_block(stream, FIRST, end_of_block(stream, compiled)) == content, size
    refused = 0
    for size in (1, 50, 2_000):
        stream = bz2.compress(TEXTS[text](generator, size) or b"-")
        end = end_of_block(stream, compiled)
        for _ in range(100):
            broken = bytearray(stream)
            for _ in range(generator.choice([1, 1, 3])):
                # Most faults in the tables at the beginning, which lead furthest.
                place = generator.randrange(4, generator.choice([min(80, end // 8), end // 8]))
                broken[place] ^= 1 << generator.randrange(8)
            expected, decoder = b"", bz2.BZ2Decompressor()
            with suppress(OSError):
                expected = decoder.decompress(broken)
            decoded = compiled.decode_block(bytes(broken), FIRST, end)
            assert decoded == b"" or (decoder.eof and decoded == expected), bytes(broken)
            refused += not decoded
    assert refused > 200


EQUAL = "10100" + "0" * 258
"""A code of 20 bits for each of 258 symbols: the code of a symbol is its number"""
SHORT = "10100" + "00" + "11" * 19 + "0" + "10" * 19 + "0" + "0" * 254
"""The same, but the code of symbol 2 is one bit, 0"""


CRAFTED = {
    "more codes of a length than there are": ("00001" + "0" * 258, 1, ""),
    "a run beyond 32 bits": (EQUAL, 1, f"{1:020b}" * 45 + f"{2:020b}{257:020b}"),
    "one byte too many": (EQUAL, 32_767, f"{2:020b}" * 900_001 + f"{257:020b}"),
    "bytes without an end": (SHORT, 32_767, ""),
    "a run without an end": (EQUAL, 32_767, ""),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_crafted_blocks_do_not_lead_out_of_memory(case: str, compiled: ModuleType) -> None:
    code, selectors, symbols = CRAFTED[case]
    head = f"{0x314159265359:048b}{0:032b}0{0:024b}{'1' * 272}010{selectors:015b}"
    bits = head + "0" * selectors + code + code + symbols
    content = int(bits + "0" * (-len(bits) % 8), 2).to_bytes(-(-len(bits) // 8), "big")
    assert compiled.decode_block(content, 0, len(bits)) == b""
