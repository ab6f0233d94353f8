"""The blocks of a bz2 file: each decodes without those before it, so that one stream can be entered anywhere.

A stream is "BZh" and a digit, blocks of at most 900,000 bytes before their encoding, and an end. Blocks and the end
begin with marks of 48 bits, at any bit of a byte, which a checksum of 32 bits follows; the next stream begins with the
next byte (J. Tsai, "BZIP2: Format Specification", 2016).
"""

from __future__ import annotations

import bz2
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, NamedTuple

import numpy as np

_MARK_BITS = 48
_BLOCK_MARK = 0x314159265359
_END_MARK = 0x177245385090
_END_BITS = _MARK_BITS + 32
_HEADER_BYTES = 4
_LARGEST_HEADER = b"BZh9"
"""Lets blocks of every size decode."""
_MOST_BLOCK_BYTES = 1_200_000
"""More than a block ever takes, its encoding being of no use."""
_WINDOW = 7
"""Bytes that hold a mark at any bit of the first."""


class _Alignment(NamedTuple):
    """A mark that begins at a bit of a byte, as the middle of its window tells it."""

    mark: int
    bit: int

    @property
    def middle(self) -> int:
        """The second and third byte of the window."""
        return (self.mark << (8 * _WINDOW - _MARK_BITS - self.bit) >> 8 * (_WINDOW - 3)) & 0xFFFF


_ALIGNMENTS = {
    alignment.middle: alignment
    for alignment in (_Alignment(mark, bit) for mark in (_BLOCK_MARK, _END_MARK) for bit in range(8))
}
_IS_MIDDLE = np.zeros(1 << 16, dtype=bool)
_IS_MIDDLE[list(_ALIGNMENTS)] = True


class _Mark(NamedTuple):
    """Where a block or the end of a stream begins, in bits from the start of the file."""

    bit: int
    is_end: bool


class Block(NamedTuple):
    """A block: where it begins and ends, in bits from the start of the file, and itself as a stream of its own."""

    begins: int
    ends: int
    stream: bytes
    is_last: bool
    """The file ends with it, inside a stream."""


class BrokenBlockError(Exception):
    """Data that do not decode; `byte` says where in the file they begin."""

    def __init__(self, byte: int, trailing: bool = False) -> None:
        super().__init__(byte)
        self.byte = byte
        self.trailing = trailing
        """They follow the last stream and are none."""


class Bz2Blocks:
    """The decompressed blocks that begin at or after a byte of a file, to the file's end.

    Attributes:
        truncated: After the iteration: the file ended inside a stream.
        position: Bytes read so far, counted from the start of the file.
    """

    def __init__(self, file: BinaryIO, start: int = 0, threads: int = 1, read_bytes: int = 1 << 20) -> None:
        """Prepare to read.

        Args:
            file: Seekable.
            start: 0, or any byte; a block that begins before it is left out.
            threads: Blocks decoded at a time.
            read_bytes: Bytes read at a time.
        """
        self.truncated = False
        self.position = start
        self._file = file
        self._start = start
        self._threads = threads
        self._read_bytes = read_bytes
        self._buffer = b""
        self._base = start
        """Where the buffer begins, in bytes of the file."""
        self._searched = 0
        """Before this byte of the file no mark is left to find."""
        self._marks: deque[_Mark] = deque()
        """Those in the buffer that are not used yet."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Each block's first byte in the file, and its content.

        Raises:
            BrokenBlockError: A block does not decode, or something else follows a stream.
        """
        self._file.seek(self._start)
        done, entered = 0, self._start == 0
        for block, content in self._decoded_ahead():
            if block.begins < done:
                continue  # inside a block that ends later than a mark made believe
            if not content and not block.is_last:
                content, done = self._decode_longer(block)
            if content:
                entered = True
                yield block.begins // 8, content
            elif entered and not block.is_last:
                raise BrokenBlockError(block.begins // 8)
            # Else the file is cut in it, or its mark stands by chance in the data of the block that `start` lies in.

    def _decoded_ahead(self) -> Iterator[tuple[Block, bytes]]:
        """The blocks in their order with their content; while one is used, the next are decoded."""
        if self._threads == 1:
            yield from ((block, _decode(block.stream)) for block in self._blocks())
            return
        with ThreadPoolExecutor(self._threads) as pool:
            waiting: deque[tuple[Block, Future[bytes]]] = deque()
            for block in self._blocks():
                waiting.append((block, pool.submit(_decode, block.stream)))
                if len(waiting) > 2 * self._threads:
                    first, decoding = waiting.popleft()
                    yield first, decoding.result()
            yield from ((block, decoding.result()) for block, decoding in waiting)

    def _decode_longer(self, block: Block) -> tuple[bytes, int]:
        """A block that does not end at the next mark, which stands in its data by chance; and where it ends."""
        here = self._file.tell()
        self._file.seek(block.begins // 8)
        content = self._file.read(_MOST_BLOCK_BYTES)
        self._file.seek(here)
        first = block.begins // 8 * 8
        for mark in _find_marks(content):
            if first + mark.bit > block.ends and (
                decoded := _decode(_as_stream(content, block.begins - first, mark.bit))
            ):
                return decoded, first + mark.bit
        return b"", block.ends

    def _blocks(self) -> Iterator[Block]:
        """The blocks as marks part them, found but not decoded."""
        mark = self._stream_at(0) if self._start == 0 else self._next_mark()
        while mark is not None and mark.is_end and self._start and not self._stream_follows(mark):
            mark = self._next_mark()
        while mark is not None:
            if mark.is_end:
                mark = self._stream_at(_after(mark))
                continue
            following = self._next_mark()
            while following is not None and following.is_end and not self._ends_stream(mark, following):
                following = self._next_mark()
            ends = 8 * (self._base + len(self._buffer)) if following is None else following.bit
            yield self._cut(mark.bit, ends, following is None)
            self.truncated = self.truncated or following is None
            mark = following

    def _cut(self, begins: int, ends: int, is_last: bool) -> Block:
        first = 8 * self._base
        stream = _as_stream(self._buffer, begins - first, ends - first)
        self._forget(ends // 8)
        return Block(begins, ends, stream, is_last)

    def _ends_stream(self, block: _Mark, end: _Mark) -> bool:
        """Whether an end mark is true: a stream or nothing follows it, or else the block before it is whole."""
        first = 8 * self._base
        return self._stream_follows(end) or bool(
            _decode(_as_stream(self._buffer, block.bit - first, end.bit - first))
        )

    def _stream_follows(self, end: _Mark) -> bool:
        return b"BZh".startswith(self._bytes_at(_after(end), _HEADER_BYTES)[:3])

    def _stream_at(self, byte: int) -> _Mark | None:
        """The first mark of the stream that begins at a byte, where one begins."""
        head = self._bytes_at(byte, _HEADER_BYTES + _MARK_BITS // 8)
        if not head:
            self.truncated = byte > self.position  # in the checksum of the stream before
            return None
        if head[:3] != b"BZh"[: len(head)]:
            raise BrokenBlockError(byte, trailing=byte > 0)
        number = int.from_bytes(head[_HEADER_BYTES:], "big")
        bit = 8 * (byte + _HEADER_BYTES)
        if len(head) < _HEADER_BYTES + _MARK_BITS // 8:
            self.truncated = True
            return None
        if number not in (_BLOCK_MARK, _END_MARK):
            raise BrokenBlockError(byte)
        while self._marks and self._marks[0].bit <= bit:
            self._marks.popleft()
        self._forget(byte)
        self._searched = bit // 8 + 1
        return _Mark(bit, number == _END_MARK)

    def _next_mark(self) -> _Mark | None:
        while not self._marks:
            # The rest of a block that begins before the start, and a whole one, can be there without a mark, not more.
            if len(self._buffer) > 2 * _MOST_BLOCK_BYTES + self._read_bytes:
                raise BrokenBlockError(self._base)
            if not self._read_on():
                return None
        return self._marks.popleft()

    def _bytes_at(self, byte: int, size: int) -> bytes:
        """Some bytes of the file that lie in the buffer or after it; fewer at the end."""
        while self._base + len(self._buffer) < byte + size and self._read_on():
            pass
        return self._buffer[byte - self._base : byte - self._base + size]

    def _read_on(self) -> bool:
        """Add to the buffer, and find the marks in it; false at the end of the file."""
        added = self._file.read(self._read_bytes)
        self.position = self._base + len(self._buffer) + len(added)
        seen = max(0, len(self._buffer) - _WINDOW + 1, self._searched - self._base)
        self._buffer += added
        first = 8 * (self._base + seen)
        self._marks.extend(_Mark(first + mark.bit, mark.is_end) for mark in _find_marks(self._buffer[seen:]))
        return bool(added)

    def _forget(self, byte: int) -> None:
        """Drop what stands before a byte of the file."""
        self._buffer = self._buffer[byte - self._base :]
        self._base = byte


def _after(end: _Mark) -> int:
    """The byte that follows a stream's end."""
    return -(-(end.bit + _END_BITS) // 8)


def _find_marks(content: bytes) -> list[_Mark]:
    """The marks in some bytes, in bits from their start; one whose window is not all there is none yet."""
    if len(content) < _WINDOW:
        return []
    values = np.frombuffer(content, dtype=np.uint8).astype(np.uint16)
    middles = values[1 : len(values) - _WINDOW + 2] << 8 | values[2 : len(values) - _WINDOW + 3]
    marks = []
    for byte in np.flatnonzero(_IS_MIDDLE[middles]).tolist():
        alignment = _ALIGNMENTS[int(middles[byte])]
        window = int.from_bytes(content[byte : byte + _WINDOW], "big")
        found = window >> (8 * _WINDOW - _MARK_BITS - alignment.bit) & (1 << _MARK_BITS) - 1
        if found == alignment.mark:
            marks.append(_Mark(8 * byte + alignment.bit, found == _END_MARK))
    return marks


def _as_stream(content: bytes, begins: int, ends: int) -> bytes:
    """The block in the bits from `begins` to `ends` as a stream of its own, whose checksum is the block's."""
    shift, size = begins % 8, ends - begins
    part = np.frombuffer(content[begins // 8 : -(-ends // 8)], dtype=np.uint8)
    block = (part << shift | np.append(part[1:], np.uint8(0)) >> (8 - shift)).tobytes()
    whole, over = divmod(size, 8)
    rest = block[whole] >> (8 - over) if over else 0
    checksum = int.from_bytes(block[_MARK_BITS // 8 : _MARK_BITS // 8 + 4], "big")
    end = (rest << _END_BITS | _END_MARK << 32 | checksum) << (-(over + _END_BITS) % 8)
    return _LARGEST_HEADER + block[:whole] + end.to_bytes(-(-(over + _END_BITS) // 8), "big")


def _decode(stream: bytes) -> bytes:
    """The content of a block; nothing if it is broken or not whole."""
    decoder = bz2.BZ2Decompressor()
    try:
        content = decoder.decompress(stream)
    except OSError:
        return b""
    return content if decoder.eof else b""
