"""The blocks of a bz2 file. Each block decodes by itself, so a file can be entered at any byte.

A stream is "BZh" and a digit, blocks of at most 900,000 bytes before compression, and an end. Blocks and the end start
with markers of 48 bits, at any bit of a byte, followed by a checksum of 32 bits. The next stream starts at the next
byte (J. Tsai, "BZIP2: Format Specification", 2016).

`indexed_bzip2` and `rapidgzip` do not replace this module: on a truncated file they raise before the readable end, they
skip other data after the last stream, and they enter a stream only with an index of the whole file.
"""

from __future__ import annotations

import bz2
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import BinaryIO, NamedTuple

import numpy as np

try:
    from ease.wikimedia.dumps._bz2_decoder import decode_block, find_markers

    IS_COMPILED = True
except ImportError:  # not compiled when the package was installed (hatch_build.py)
    IS_COMPILED = False

_MARKER_BITS = 48
_BLOCK_MARKER = 0x314159265359
_END_MARKER = 0x177245385090
_END_BITS = _MARKER_BITS + 32
_HEADER_BYTES = 4
_HEADER = b"BZh9"  # Header with the largest block size, which decodes blocks of any size
_MAX_BLOCK_BYTES = 1_200_000  # Upper bound of a compressed block, whose content may be incompressible
_MAX_TRIES = 8
"""Markers that are tried as the start or the end of a block: one or two may stand in it by chance, more only on
purpose."""
_WINDOW = 7  # Bytes that contain a marker starting at any bit of the first byte
_MARKERS = {
    (marker << (8 - bit)).to_bytes(_WINDOW, "big")[1:6]: (marker, bit)
    for marker in (_BLOCK_MARKER, _END_MARKER)
    for bit in range(8)
}
"""Markers and their first bits, by the bytes 2 to 6 of a window, which the marker fills."""
_MIDDLES = re.compile(b"|".join(map(re.escape, _MARKERS)))

_Marker = tuple[int, bool]
"""First bit of a block or of the end of a stream, from the start of the file, and whether it is an end"""


class _Block(NamedTuple):
    """The bytes with a block, not decoded, and its start and end in bits from the start of the file."""

    start: int
    end: int
    content: bytes
    is_last: bool
    """Whether the file ends here, inside a stream."""

    def decode(self) -> bytes:
        """Return what the block contains; empty if it is broken or incomplete."""
        first = self.start % 8
        return _decode(self.content, first, first + self.end - self.start)


class BrokenBlockError(Exception):
    """Raised for data that do not decode, from the byte `byte` of the file; `trailing`: after the last stream."""

    def __init__(self, byte: int, trailing: bool = False) -> None:
        super().__init__(byte)
        self.byte, self.trailing = byte, trailing


class Bz2Blocks:
    """Decompressed blocks from a byte of a file to its end.

    Attributes:
        truncated: After the iteration, whether the file ends inside a stream.
        position: Offset up to which the file has been read.
    """

    def __init__(self, file: BinaryIO, start: int = 0, threads: int = 1, read_bytes: int = 1 << 20) -> None:
        """Prepare to read a seekable file; blocks that start before the byte `start` are skipped."""
        self.truncated = False
        self.position = start
        self._file, self._start, self._threads, self._read_bytes = file, start, threads, read_bytes
        self._buffer = bytearray()
        self._base = start  # File offset of the buffer
        self._searched = 0  # File offset up to which all markers have been found
        self._markers: deque[_Marker] = deque()  # Markers in the buffer that have not been used

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (file offset, decompressed block); raises BrokenBlockError for data that do not decode."""
        self._file.seek(self._start)
        done, entered, failed = 0, self._start == 0, 0
        for block, content in self._decoded_ahead():
            byte = block.start // 8
            if block.start < done:
                continue  # a marker by chance, inside the previous block
            if not content and not block.is_last:  # perhaps it ends at a marker by chance
                here = self._file.tell()
                self._file.seek(byte)
                longer = self._file.read(_MAX_BLOCK_BYTES)
                self._file.seek(here)
                ends = (bit for bit, _ in _find_markers(longer) if 8 * byte + bit > block.end)
                for end in islice(ends, _MAX_TRIES):
                    if content := _decode(longer, block.start % 8, end):
                        done = 8 * byte + end
                        break
            if content:
                entered = True
                yield byte, content
            elif not block.is_last:
                failed += 1
                if entered or failed > _MAX_TRIES:
                    raise BrokenBlockError(byte)
            # Otherwise the file is truncated in the block, or `start` lies in a block that has a marker by chance.

    def _decoded_ahead(self) -> Iterator[tuple[_Block, bytes]]:
        """Yield blocks in order with their content, and decode the next ones in threads."""
        if self._threads == 1:
            yield from ((block, block.decode()) for block in self._blocks())
            return
        with ThreadPoolExecutor(self._threads) as pool:
            waiting: deque[tuple[_Block, Future[bytes]]] = deque()
            for block in self._blocks():
                waiting.append((block, pool.submit(block.decode)))
                if len(waiting) > 2 * self._threads:
                    first, decoding = waiting.popleft()
                    yield first, decoding.result()
            yield from ((block, decoding.result()) for block, decoding in waiting)

    def _blocks(self) -> Iterator[_Block]:
        marker = self._stream_at(0) if self._start == 0 else self._next_marker()
        while marker is not None and marker[1] and self._start and not self._stream_follows(marker[0]):
            marker = self._next_marker()
        while marker is not None:
            start, is_end = marker
            if is_end:
                marker = self._stream_at(_after(start))
                continue
            following = self._next_marker()
            # An end marker is real if a stream or nothing follows it, or if the block before it decodes.
            tried = 0
            while following is not None and following[1] and not self._stream_follows(following[0]):
                first = 8 * self._base
                tried += 1
                if tried > _MAX_TRIES or _decode(bytes(self._buffer), start - first, following[0] - first):
                    break
                following = self._next_marker()
            end = 8 * (self._base + len(self._buffer)) if following is None else following[0]
            content = bytes(self._buffer[start // 8 - self._base : -(-end // 8) - self._base])
            self._forget(end // 8)
            yield _Block(start, end, content, following is None)
            self.truncated = self.truncated or following is None
            marker = following

    def _stream_follows(self, end: int) -> bool:
        return b"BZh".startswith(self._bytes_at(_after(end), _HEADER_BYTES)[:3])

    def _stream_at(self, byte: int) -> _Marker | None:
        """Return the first marker of the stream that starts at a byte; None at the end of the file."""
        head = self._bytes_at(byte, _HEADER_BYTES + _MARKER_BITS // 8)
        if not head:
            self.truncated = byte > self.position  # in the checksum of the previous stream
            return None
        if head[:3] != b"BZh"[: len(head)]:
            raise BrokenBlockError(byte, trailing=byte > 0)
        if len(head) < _HEADER_BYTES + _MARKER_BITS // 8:
            self.truncated = True
            return None
        number, bit = int.from_bytes(head[_HEADER_BYTES:], "big"), 8 * (byte + _HEADER_BYTES)
        if number not in (_BLOCK_MARKER, _END_MARKER):
            raise BrokenBlockError(byte)
        while self._markers and self._markers[0][0] <= bit:
            self._markers.popleft()
        self._forget(byte)
        self._searched = bit // 8 + 1
        return bit, number == _END_MARKER

    def _next_marker(self) -> _Marker | None:
        while not self._markers:
            # Without a marker there can be at most the rest of the block before `start` and one complete block.
            if len(self._buffer) > 2 * _MAX_BLOCK_BYTES + self._read_bytes:
                raise BrokenBlockError(self._base)
            if not self._read_on():
                return None
        return self._markers.popleft()

    def _bytes_at(self, byte: int, size: int) -> bytes:
        """Return bytes in the buffer or after it; fewer at the end of the file."""
        while self._base + len(self._buffer) < byte + size and self._read_on():
            pass
        return bytes(self._buffer[byte - self._base : byte - self._base + size])

    def _read_on(self) -> bool:
        """Extend the buffer and find its markers; return False at the end of the file."""
        added = self._file.read(self._read_bytes)
        self.position = self._base + len(self._buffer) + len(added)
        seen = max(0, len(self._buffer) - _WINDOW + 1, self._searched - self._base)
        self._buffer += added
        first = 8 * (self._base + seen)
        self._markers.extend((first + bit, is_end) for bit, is_end in _find_markers(bytes(self._buffer[seen:])))
        return bool(added)

    def _forget(self, byte: int) -> None:
        del self._buffer[: byte - self._base]
        self._base = byte


def _after(end: int) -> int:
    """Return the byte after the end of a stream."""
    return -(-(end + _END_BITS) // 8)


def _find_markers(content: bytes) -> list[_Marker]:
    """Return the markers in some bytes, with offsets in bits; ignores a marker truncated at either end."""
    if IS_COMPILED:
        return find_markers(content)
    found = []
    for match in _MIDDLES.finditer(content, 1):
        marker, bit = _MARKERS[match[0]]
        window = content[match.start() - 1 : match.start() - 1 + _WINDOW]
        number = int.from_bytes(window, "big") >> (8 * _WINDOW - _MARKER_BITS - bit) & (1 << _MARKER_BITS) - 1
        if len(window) == _WINDOW and number == marker:
            found.append((8 * (match.start() - 1) + bit, marker == _END_MARKER))
    return found


def _decode(content: bytes, start: int, end: int) -> bytes:
    """Return what the block between two bits contains; empty if it is broken or incomplete.

    What the compiled decoder refuses is decoded by libbz2, as a stream of its own with the block's checksum, so the
    results are the same without it.
    """
    if IS_COMPILED and (decoded := decode_block(content, start, end)):
        return decoded
    values = np.frombuffer(content[start // 8 : -(-end // 8)], dtype=np.uint8)
    block = (values << start % 8 | np.append(values[1:], np.uint8(0)) >> (8 - start % 8)).tobytes()
    full, over = divmod(end - start, 8)
    rest = block[full] >> (8 - over) if over else 0
    checksum = int.from_bytes(block[_MARKER_BITS // 8 : _MARKER_BITS // 8 + 4], "big")
    tail = (rest << _END_BITS | _END_MARKER << 32 | checksum) << (-(over + _END_BITS) % 8)
    stream = _HEADER + block[:full] + tail.to_bytes(-(-(over + _END_BITS) // 8), "big")
    decoder = bz2.BZ2Decompressor()
    try:
        decoded = decoder.decompress(stream)
    except OSError:
        return b""
    return decoded if decoder.eof else b""
