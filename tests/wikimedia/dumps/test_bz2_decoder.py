"""The compiled decoder of bz2 blocks gives what libbz2 gives, or nothing; markers are found at every bit."""

from __future__ import annotations

import bz2
import importlib
import random
from collections.abc import Callable
from types import ModuleType

import pytest

Texts = Callable[[random.Random, int], bytes]

TEXTS: dict[str, Texts] = {
    "every byte": lambda generator, size: generator.randbytes(size),
    "two bytes": lambda generator, size: bytes(generator.choices(b"ab", k=size)),
    "one byte": lambda generator, size: bytes([generator.randrange(256)]) * size,
    "periods": lambda generator, size: (generator.randbytes(generator.randint(2, 300)) * size)[:size],
    "numbers": lambda generator, size: b" ".join(b"%d" % generator.randrange(1000) for _ in range(size // 4)),
    "sorted": lambda generator, size: bytes(sorted(generator.randbytes(size))),
    "rare bytes": lambda generator, size: bytes(
        generator.choices(range(256), [2.0 ** -(value % 30) for value in range(256)], k=size)
    ),
    "runs": lambda generator, size: b"".join(
        bytes([generator.randrange(256)]) * generator.choice([1, 3, 4, 5, 254, 255, 256, 259, 260, 300])
        for _ in range(size // 100)
    ),
}
SIZES = [0, 1, 4, 8, 10, 100, 511, 512, 513, 80_000]


@pytest.fixture(scope="module")
def compiled() -> ModuleType:
    """The compiled functions of this installation."""
    try:
        return importlib.import_module("ease.wikimedia.dumps._bz2_decoder")
    except ImportError:
        pytest.skip(
            "The decoder is not compiled: install the package anew where a C++ compiler works (pip -v)"
        )


FIRST = 32
"""Bit of a stream at which its first block starts"""


def end_of_block(stream: bytes, compiled: ModuleType) -> int:
    """Return the bit after the last block of a stream."""
    ends: list[int] = [bit for bit, is_end in compiled.find_markers(stream) if is_end]
    return ends[-1]


def decode(stream: bytes, compiled: ModuleType) -> bytes:
    """Return the content of a stream of one block."""
    content: bytes = compiled.decode_block(stream, FIRST, end_of_block(stream, compiled))
    return content


def by_libbz2(stream: bytes) -> bytes:
    """Return the content of a complete stream; empty for any other."""
    decoder = bz2.BZ2Decompressor()
    try:
        content = decoder.decompress(stream)
    except OSError:
        return b""
    return content if decoder.eof else b""


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_all_sizes_are_decoded(text: str, compiled: ModuleType) -> None:
    generator = random.Random(text)
    for size in SIZES:
        content = TEXTS[text](generator, size) or b"-"
        stream = bz2.compress(content, generator.randint(1, 9))
        assert decode(stream, compiled) == content, size


@pytest.mark.parametrize("text", TEXTS)
def test_broken_blocks_give_what_libbz2_gives_or_nothing(text: str, compiled: ModuleType) -> None:
    generator = random.Random(text)
    refused = 0
    for size in (1, 50, 2_000):
        stream = bz2.compress(TEXTS[text](generator, size) or b"-")
        end = end_of_block(stream, compiled)
        for _ in range(100):
            broken = bytearray(stream)
            for _ in range(generator.choice([1, 1, 3])):
                # Most faults in the tables at the beginning, which lead furthest.
                broken[generator.randrange(4, generator.choice([min(80, end // 8), end // 8]))] ^= (
                    1 << generator.randrange(8)
                )
            found = compiled.decode_block(bytes(broken), FIRST, end)
            assert found in (b"", by_libbz2(bytes(broken))), bytes(broken)
            refused += not found
    assert refused > 200


EQUAL = "10100" + "0" * 258
"""A code of 20 bits for each of 258 symbols: the code of a symbol is its number"""
SHORT = "10100" + "00" + "11" * 19 + "0" + "10" * 19 + "0" + "0" * 254
"""The same, but the code of symbol 2 is one bit, 0"""


@pytest.mark.parametrize(
    ("code", "selectors", "symbols"),
    [
        ("00001" + "0" * 258, 1, ""),
        (EQUAL, 1, f"{1:020b}" * 45 + f"{2:020b}{257:020b}"),
        (EQUAL, 32_767, f"{2:020b}" * 900_001 + f"{257:020b}"),
        (SHORT, 32_767, ""),
        (EQUAL, 32_767, ""),
    ],
    ids=[
        "more codes of a length than there are",
        "a run beyond 32 bits",
        "one byte too many",
        "bytes without an end",
        "a run without an end",
    ],
)
def test_crafted_blocks_do_not_lead_out_of_memory(
    code: str, selectors: int, symbols: str, compiled: ModuleType
) -> None:
    head = f"{0x314159265359:048b}{0:032b}0{0:024b}{'1' * 272}010{selectors:015b}"
    bits = head + "0" * selectors + code + code + symbols
    content = int(bits + "0" * (-len(bits) % 8), 2).to_bytes(-(-len(bits) // 8), "big")
    assert compiled.decode_block(content, 0, len(bits)) == b""
