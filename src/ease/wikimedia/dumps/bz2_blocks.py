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
# The header with the largest block size decodes blocks of any size.
_HEADER = b"BZh9"
# Upper bound of a compressed block, whose content may be incompressible.
_MAX_BLOCK_BYTES = 1_200_000
# Markers that are tried as the start or the end of a block: one or two may stand in it by chance, more only on purpose.
_MAX_TRIES = 8
# Bytes that contain a marker starting at any bit of the first byte.
_WINDOW = 7
# Markers and their first bits, by the bytes 2 to 6 of a window, which the marker fills.
_MARKERS = {
    (marker << (8 - bit)).to_bytes(_WINDOW, "big")[1:6]: (marker, bit)
    for marker in (_BLOCK_MARKER, _END_MARKER)
    for bit in range(8)
}
_MIDDLES = re.compile(b"|".join(map(re.escape, _MARKERS)))

_Marker = tuple[int, bool]
"""First bit of a block or of the end of a stream, from the start of the file, and whether it is an end"""


class _Block(NamedTuple):
    """The compressed bytes that contain a block, and its start and end in bits from the start of the file."""

    start: int
    end: int
    content: bytes
    is_last: bool
    """Whether the file ends here, inside a stream."""

    def decode(self) -> bytes:
        """Return the block's decompressed bytes; empty if it is broken or incomplete."""
        first = self.start % 8
        return _decode(self.content, first, first + self.end - self.start)


class BrokenBlockError(Exception):
    """Raised for data that do not decode.

    Attributes:
        byte: Offset of the data in the file.
        trailing: Whether the data follow the last stream.
    """

    def __init__(self, byte: int, trailing: bool = False) -> None:
        super().__init__(byte)
        self.byte = byte
        self.trailing = trailing


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
        self._file = file
        self._start = start
        self._threads = threads
        self._read_bytes = read_bytes
        self._buffer = bytearray()
        self._base = start  # File offset of the buffer
        self._searched = 0  # File offset up to which the buffer has been searched for markers
        self._markers: deque[_Marker] = deque()  # Markers in the buffer that begin no block yet

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (file offset, decompressed block); raises BrokenBlockError for data that do not decode."""
        self._file.seek(self._start)
        decoded_end = 0
        failures = 0
        # Whether a block has decoded; until then, `start` may lie in a block that has a marker by chance.
        entered = self._start == 0
        for block, content in self._decoded_ahead():
            byte = block.start // 8
            if block.start < decoded_end:
                # A marker by chance, inside the previous block.
                continue
            if not content and not block.is_last:
                # The block may end later than at the next marker, which may be one by chance.
                content, end = self._decode_longer(block)
                if content:
                    decoded_end = end
            if content:
                entered = True
                yield byte, content
            elif not block.is_last:
                failures += 1
                if entered or failures > _MAX_TRIES:
                    raise BrokenBlockError(byte)
            # Otherwise the file is truncated in the block.

    def _decode_longer(self, block: _Block) -> tuple[bytes, int]:
        """Return a block decompressed up to a later marker, and its end in bits; empty if no end gives a block."""
        byte = block.start // 8
        position = self._file.tell()
        self._file.seek(byte)
        content = self._file.read(_MAX_BLOCK_BYTES)
        self._file.seek(position)
        ends = (bit for bit, _ in _find_markers(content) if 8 * byte + bit > block.end)
        for end in islice(ends, _MAX_TRIES):
            if decoded := _decode(content, block.start % 8, end):
                return decoded, 8 * byte + end
        return b"", 0

    def _decoded_ahead(self) -> Iterator[tuple[_Block, bytes]]:
        """Yield blocks in order with their decompressed bytes; threads decode the next ones."""
        if self._threads == 1:
            yield from ((block, block.decode()) for block in self._blocks())
            return
        with ThreadPoolExecutor(self._threads) as pool:
            pending: deque[tuple[_Block, Future[bytes]]] = deque()
            for block in self._blocks():
                pending.append((block, pool.submit(block.decode)))
                # Two blocks a thread keep all threads busy; more would only fill the memory.
                if len(pending) > 2 * self._threads:
                    first, decoding = pending.popleft()
                    yield first, decoding.result()
            yield from ((block, decoding.result()) for block, decoding in pending)

    def _blocks(self) -> Iterator[_Block]:
        """Yield the blocks between markers, not decoded; sets `truncated`."""
        if self._start == 0:
            marker = self._stream_at(0)
        else:
            marker = self._next_marker()
            # An end marker before the first block is one by chance, unless a stream follows it.
            while marker is not None and marker[1] and not self._stream_follows(marker[0]):
                marker = self._next_marker()
        while marker is not None:
            start, is_end = marker
            if is_end:
                marker = self._stream_at(_after(start))
                continue
            following = self._following_marker(start)
            if following is None:
                end = 8 * (self._base + len(self._buffer))
                self.truncated = True
            else:
                end = following[0]
            content = bytes(self._buffer[start // 8 - self._base : -(-end // 8) - self._base])
            self._forget(end // 8)
            yield _Block(start, end, content, following is None)
            marker = following

    def _following_marker(self, start: int) -> _Marker | None:
        """Return the marker after the block that starts at a bit; None if the file ends first."""
        following = self._next_marker()
        # An end marker is real if a stream or nothing follows it, or if the block before it decodes.
        tries = 0
        while following is not None and following[1] and not self._stream_follows(following[0]):
            first = 8 * self._base
            tries += 1
            if tries > _MAX_TRIES or _decode(bytes(self._buffer), start - first, following[0] - first):
                break
            following = self._next_marker()
        return following

    def _stream_follows(self, end: int) -> bool:
        return b"BZh".startswith(self._bytes_at(_after(end), _HEADER_BYTES)[:3])

    def _stream_at(self, byte: int) -> _Marker | None:
        """Return the first marker of the stream that starts at a byte; None at the end of the file."""
        head = self._bytes_at(byte, _HEADER_BYTES + _MARKER_BITS // 8)
        if not head:
            # The file may end inside the checksum of the previous stream.
            self.truncated = byte > self.position
            return None
        if head[:3] != b"BZh"[: len(head)]:
            raise BrokenBlockError(byte, trailing=byte > 0)
        if len(head) < _HEADER_BYTES + _MARKER_BITS // 8:
            self.truncated = True
            return None
        number = int.from_bytes(head[_HEADER_BYTES:], "big")
        bit = 8 * (byte + _HEADER_BYTES)
        if number not in (_BLOCK_MARKER, _END_MARKER):
            raise BrokenBlockError(byte)
        # The search has also found this marker, and before it perhaps markers by chance.
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
        content = self._file.read(self._read_bytes)
        self.position = self._base + len(self._buffer) + len(content)
        # A marker may span the old and the new bytes.
        search_start = max(0, len(self._buffer) - _WINDOW + 1, self._searched - self._base)
        self._buffer += content
        first = 8 * (self._base + search_start)
        markers = _find_markers(bytes(self._buffer[search_start:]))
        self._markers.extend((first + bit, is_end) for bit, is_end in markers)
        return bool(content)

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
    markers = []
    for match in _MIDDLES.finditer(content, 1):
        marker, bit = _MARKERS[match[0]]
        window = content[match.start() - 1 : match.start() - 1 + _WINDOW]
        # The middle bytes do not hold the marker's first and last bits.
        number = int.from_bytes(window, "big") >> (8 * _WINDOW - _MARKER_BITS - bit) & (1 << _MARKER_BITS) - 1
        if len(window) == _WINDOW and number == marker:
            markers.append((8 * (match.start() - 1) + bit, marker == _END_MARKER))
    return markers


def _decode(content: bytes, start: int, end: int) -> bytes:
    """Return the decompressed block between two bits; empty if it is broken or incomplete.

    libbz2 decodes what the compiled decoder refuses, so the results are the same without the compiled decoder.
    """
    if IS_COMPILED and (decoded := decode_block(content, start, end)):
        return decoded
    decoder = bz2.BZ2Decompressor()
    try:
        decoded = decoder.decompress(_as_stream(content, start, end))
    except OSError:
        return b""
    if not decoder.eof:
        return b""
    return decoded


def _as_stream(content: bytes, start: int, end: int) -> bytes:
    """Return the block between two bits as a bz2 stream, which has the block's checksum as its own."""
    values = np.frombuffer(content[start // 8 : -(-end // 8)], dtype=np.uint8)
    # Shift all bits to the left, so that the block starts at a byte.
    block = (values << start % 8 | np.append(values[1:], np.uint8(0)) >> (8 - start % 8)).tobytes()
    full_bytes, rest_bits = divmod(end - start, 8)
    rest = 0
    if rest_bits:
        rest = block[full_bytes] >> (8 - rest_bits)
    checksum = int.from_bytes(block[_MARKER_BITS // 8 : _MARKER_BITS // 8 + 4], "big")
    # The end marker starts at the bit after the block; zeros fill the last byte.
    tail = (rest << _END_BITS | _END_MARKER << 32 | checksum) << (-(rest_bits + _END_BITS) % 8)
    return _HEADER + block[:full_bytes] + tail.to_bytes(-(-(rest_bits + _END_BITS) // 8), "big")
