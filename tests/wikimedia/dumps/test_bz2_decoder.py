"""The compiled decoder of bz2 blocks gives what libbz2 gives, or nothing."""

from __future__ import annotations

import bz2
import random
from collections.abc import Callable

import pytest

Decoder = Callable[[bytes], bytes]
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
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 100, 511, 512, 513, 5_000, 80_000]


@pytest.fixture
def decode() -> Decoder:
    """The compiled decoder of this installation."""
    try:
        from ease.wikimedia.dumps._bz2_decoder import decode_block
    except ImportError:
        pytest.skip(
            "The decoder is not compiled: install the package anew where a C++ compiler works (pip -v)"
        )
    return decode_block


def by_libbz2(stream: bytes) -> bytes:
    """Return the content of a complete stream; empty for any other."""
    decoder = bz2.BZ2Decompressor()
    try:
        content = decoder.decompress(stream)
    except OSError:
        return b""
    return content if decoder.eof else b""


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_all_sizes_are_decoded(text: str, decode: Decoder) -> None:
    generator = random.Random(text)
    for size in SIZES:
        content = TEXTS[text](generator, size)
        stream = bz2.compress(content, generator.randint(1, 9))
        assert decode(stream) == content, size


def test_the_largest_block_is_decoded(decode: Decoder) -> None:
    generator = random.Random(0)
    incompressible = generator.randbytes(890_000)
    longest = bytes(255) * 179_000 + b"end"
    for content in (incompressible, b"aaaa\xff" * 140_000, longest):
        assert decode(bz2.compress(content)) == content


@pytest.mark.parametrize("text", TEXTS)
def test_broken_streams_give_what_libbz2_gives_or_nothing(text: str, decode: Decoder) -> None:
    generator = random.Random(text)
    refused = 0
    for size in (1, 50, 2_000):
        stream = bz2.compress(TEXTS[text](generator, size))
        for _ in range(300):
            broken = bytearray(stream)
            for _ in range(generator.choice([1, 1, 3])):
                # Most faults in the tables at the beginning, which lead furthest.
                end = generator.choice([min(80, len(broken)), len(broken)])
                broken[generator.randrange(4, end)] ^= 1 << generator.randrange(8)
            found = decode(bytes(broken))
            assert found in (b"", by_libbz2(bytes(broken))), bytes(broken)
            refused += not found
    assert refused > 600


def test_an_incomplete_stream_has_no_content(decode: Decoder) -> None:
    for content in (b"one", b"some words " * 500):
        stream = bz2.compress(content)
        assert [decode(stream[:size]) for size in range(len(stream))] == [b""] * len(stream)
        assert decode(stream) == content


def test_a_stream_of_two_blocks_is_left_to_libbz2(decode: Decoder) -> None:
    content = random.Random(0).randbytes(120_000)
    assert decode(bz2.compress(content, 1)) == b""
