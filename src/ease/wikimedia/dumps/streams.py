"""Read dump files as blocks of decompressed bytes and as lines, in bounded memory."""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import numpy as np
import pyarrow as pa
import xxhash

from ease.errors import EaseError
from ease.io.addresses import as_remote, is_remote, open_remote, report_store_errors
from ease.io.contents import HEAD_BYTES, begins_compressed, compression_of_content, foreign_content
from ease.io.progress import ProgressBar
from ease.wikimedia.dumps.bz2_blocks import BrokenBlockError, Bz2Blocks

zlib: Any
try:
    # 1.6 times as fast as zlib, with the same bytes from truncated files
    zlib = import_module("zlib_ng.zlib_ng")
except ModuleNotFoundError:
    zlib = import_module("zlib")

Compression = Literal["plain", "zst", "gz", "bz2", "xz"]
FASTEST_FIRST: tuple[Compression, ...] = get_args(Compression)
FROM_THE_BEGINNING: tuple[Compression, ...] = ("zst", "gz", "xz")
"""Compressions that are decompressed from the beginning of the file to any byte."""
BLOCK_BYTES = 1 << 20
"""Largest number of bytes per read."""
# zlib's code for a gzip header in front of the largest window.
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
# Bytes per read: they decompress to at most a thousand times as much.
_GZIP_BYTES = 1 << 16
# Decompressed bytes per read; those of the last read are lost if the file is truncated.
_ZSTD_BYTES = 1 << 14
_XZ_BYTES = 1 << 14
# No dump has a longer line; reading on in another file would fill the memory.
_MAX_LINE_BYTES = 256 << 20
_HEAD_BYTES = 4096


def compression_of(path: Path) -> Compression:
    """Return a file's compression by its suffix."""
    return next((compression for compression in FASTEST_FIRST if path.suffix == f".{compression}"), "plain")


@contextmanager
def open_binary(path: Path) -> Iterator[BufferedReader]:
    """Open a local or remote dump file, seekable; raises EaseError if it cannot be opened, or its store fails later."""
    with report_store_errors(path):
        try:
            if is_remote(path):
                file = open_remote(path)
            else:
                file = path.open("rb")
        except FileNotFoundError:
            raise EaseError(f"{path} does not exist: check the source's path.") from None
        except IsADirectoryError:
            raise EaseError(f"{path} is a folder: name one dump in it.") from None
        except OSError as error:
            if is_remote(path):
                raise
            raise EaseError(f"{path} cannot be read: {error.strerror}. Check the path and its permissions.") from None
        with file:
            yield file


def content_digest(path: Path) -> str:
    """Return a hash of a file's content; for a remote file, of the size and checksum or time that its store reports."""
    if is_remote(path):
        with report_store_errors(path):
            info = as_remote(path).fs.info(as_remote(path).path)
        # Stores name these differently. A checksum identifies the content anywhere, a time only at this address.
        checksum = _first_value(info, ("ETag", "etag", "md5Hash", "content_md5"))
        if checksum:
            return _digest((info["size"], checksum, ""))
        time = _first_value(info, ("mtime", "last_modified"))
        if time:
            return _digest((info["size"], time, str(path)))
    with open_binary(path) as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def _first_value(info: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((str(info[name]) for name in names if info.get(name)), None)


def _digest(identity: object) -> str:
    return xxhash.xxh3_128(repr(identity).encode()).hexdigest()


class DecompressedStream:
    """Blocks of decompressed bytes from a byte of a file to its end.

    A plain file is entered at `start`, a bz2 file at the first bz2 block that starts there or later. A gzip or zstd
    file is decompressed from its beginning, and blocks before `start` are skipped.

    Attributes:
        truncated: After the iteration, whether the file ends inside a compressed stream, as a broken download does.
        position: Offset up to which the file has been read.
    """

    def __init__(self, path: Path, start: int = 0, end: int | None = None, threads: int = 1) -> None:
        """Prepare to read a file from the byte `start` to its end; no block spans the byte `end`."""
        self.path = path
        self.start = start
        self.position = start
        self.truncated = False
        self._bounds = [start]
        if end is not None:
            self._bounds.append(end)
        self._threads = threads

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (file offset, decompressed block); highly compressible data give large blocks.

        Raises:
            EaseError: The file is missing, empty, broken, truncated before its first block, or of another format than
                its suffix.
        """
        compression = compression_of(self.path)
        readers: dict[Compression, Callable[[BinaryIO], Iterator[tuple[int, bytes]]]] = {
            "plain": lambda file: self._chunks(file, self.start, BLOCK_BYTES),
            "bz2": self._bz2_blocks,
            "gz": self._gzip_blocks,
            "zst": self._zstd_blocks,
            "xz": self._xz_blocks,
        }
        with open_binary(self.path) as file:
            self._check_compression(file.read(HEAD_BYTES), compression)
            file.seek(0)
            is_empty = True
            for block in readers[compression](file):
                if is_empty and not self.start:
                    self._check_content(block[1])
                is_empty = False
                yield block
        # A shard without a block is no fault: its blocks may start before it.
        if self.truncated and is_empty and not self.start:
            raise EaseError(
                f"{self.path} is truncated before the end of its first {compression} block: download it again."
            )

    def _check_compression(self, head: bytes, compression: Compression) -> None:
        """Raise EaseError if the file's first bytes are of another format than its suffix."""
        if not head:
            raise EaseError(f"{self.path} is empty (0 bytes): download it again.")
        actual = compression_of_content(head)
        if compression == "plain" and not actual:
            return
        # A file that is truncated inside its first bytes is reported as truncated, not as another format.
        if compression != "plain" and begins_compressed(head, compression):
            return
        if actual:
            raise EaseError(f"{self.path} is {actual}-compressed: rename it so that it ends in .{actual}.")
        self._check_content(head)
        raise EaseError(f"{self.path} is not a {compression} file: it begins with {head[:4]!r}. Download or rename it.")

    def _check_content(self, head: bytes) -> None:
        """Raise EaseError if the file's first bytes, decompressed, are of a format that is not read."""
        if foreign := foreign_content(head):
            raise EaseError(f"{self.path} is {foreign}.")
        if compression_of_content(head):
            raise EaseError(f"{self.path} is compressed twice: decompress it once.")

    def _chunks(self, file: BinaryIO, offset: int, size: int) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of the file as it is, from an offset; no chunk spans one of the bounds."""
        file.seek(offset)
        while True:
            # A chunk starts at each bound, so a shard sees where its end lies in the decompressed bytes.
            bounds_ahead = [bound - offset for bound in self._bounds if bound > offset]
            chunk = file.read(min([size, *bounds_ahead]))
            if not chunk:
                return
            self.position = offset + len(chunk)
            yield offset, chunk
            offset = self.position

    def _bz2_blocks(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        blocks = Bz2Blocks(file, self.start, self._threads, BLOCK_BYTES)
        try:
            for offset, block in blocks:
                self.position = blocks.position
                yield offset, block
        except BrokenBlockError as error:
            raise self._undecodable("bz2", error.byte, error.trailing) from None
        self.truncated = blocks.truncated

    def _gzip_blocks(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        # gzip.open hides the offsets of the compressed bytes.
        decoder = zlib.decompressobj(_GZIP_WINDOW_BITS)
        inside_member = True
        for offset, chunk in self._chunks(file, 0, _GZIP_BYTES):
            blocks = []
            while chunk:
                if decoder.eof:
                    decoder = zlib.decompressobj(_GZIP_WINDOW_BITS)
                    inside_member = False
                if not inside_member:
                    # Zeros may pad the file between and after its members.
                    chunk = chunk.lstrip(b"\0")
                    if not chunk:
                        break
                try:
                    blocks.append(decoder.decompress(chunk))
                except zlib.error:
                    raise self._undecodable("gz", offset, trailing=not inside_member) from None
                inside_member = True
                chunk = decoder.unused_data
            block = b"".join(blocks)
            if block and offset >= self.start:
                yield offset, block
        self.truncated = inside_member and not decoder.eof

    def _zstd_blocks(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        # The blocks are the same for each shard, since they do not depend on `start` and `end`.
        stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        while True:
            # The decoder reads ahead: for the last blocks, the file's position is its end already, which no shard owns.
            offset = max(0, file.tell() - 1)
            try:
                block = stream.read(_ZSTD_BYTES)
            except OSError as error:
                if "Truncated" in str(error):
                    self.truncated = True
                    return
                if "ZSTD" in str(error):
                    raise self._undecodable("zst", offset) from None
                raise
            self.position = file.tell()
            if not block:
                return
            if offset >= self.start:
                yield offset, block

    def _xz_blocks(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        # As for zstd, the blocks are the same for each shard, and the decoder reads ahead.
        with lzma.LZMAFile(file) as stream:
            while True:
                offset = max(0, file.tell() - 1)
                try:
                    block = stream.read(_XZ_BYTES)
                except EOFError:
                    self.truncated = True
                    return
                except lzma.LZMAError:
                    raise self._undecodable("xz", offset) from None
                self.position = file.tell()
                if not block:
                    return
                if offset >= self.start:
                    yield offset, block

    def _undecodable(self, compression: Compression, byte: int, trailing: bool = False) -> EaseError:
        fault = f"is broken: its {compression} data at byte {byte:,} do not decode"
        if trailing:
            fault = f"has other data after its last {compression} stream, at byte {byte:,}"
        return EaseError(f"{self.path} {fault}. Compare its checksum with the published one and download it again.")


class LineChunks:
    """Chunks of complete lines.

    Attributes:
        head: The first bytes of the file that are not blank.
        last_byte: The last byte read that is not blank.
        next_line: Number of the line that follows the chunks read so far.
        rest: After the iteration, the text after the last line break.
        truncated: After the iteration, whether the file ends inside its compressed data.
    """

    def __init__(
        self,
        path: Path,
        chunk_bytes: int,
        threads: int = 1,
        progress: str | None = None,
        opening: tuple[re.Pattern[bytes], str] | None = None,
    ) -> None:
        """Prepare to read chunks of at least `chunk_bytes`, but for the last; threads decompress a bz2 file.

        `progress` labels a progress bar (None shows none). `opening` has the pattern of the first bytes, and the name
        of the format for an error message.
        """
        self.head = b""
        self.last_byte = b""
        self.rest = b""
        self.next_line = 1
        self.truncated = False
        self._stream = DecompressedStream(path, threads=threads)
        self._chunk_bytes = chunk_bytes
        self._progress = progress
        self._opening = opening

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, chunk); raises EaseError for another format, or a line that is too long."""
        stream = self._stream
        blocks: list[bytes] = []
        size = 0
        total = None
        if self._progress:
            total = stream.path.stat().st_size
        with ProgressBar(total=total, unit="B", unit_scale=True, desc=self._progress or "", leave=True) as bar:
            for _, block in stream:
                bar.update(stream.position - bar.done)
                if not self.head.strip():
                    self.head = block[:_HEAD_BYTES]
                    self._check_opening()
                self.last_byte = block[-_HEAD_BYTES:].rstrip()[-1:] or self.last_byte
                blocks.append(block)
                size += len(block)
                if size < self._chunk_bytes:
                    continue
                end = block.rfind(b"\n") + 1
                if end:
                    # A memoryview, so that a chunk of up to 256 MB is copied once.
                    yield self._numbered(b"".join((*blocks[:-1], memoryview(block)[:end])))
                    blocks = [block[end:]]
                    size = len(block) - end
                elif size > _MAX_LINE_BYTES:
                    raise EaseError(
                        f"{stream.path}, line {self.next_line} has more than {_MAX_LINE_BYTES:,} bytes: not a dump."
                    )
        content = b"".join(blocks)
        end = content.rfind(b"\n") + 1
        if end:
            yield self._numbered(content[:end])
        self.rest = content[end:]
        self.truncated = stream.truncated

    def _check_opening(self) -> None:
        """Raise EaseError if the first bytes are not those of the expected format."""
        if self._opening is None:
            return
        pattern, name = self._opening
        if not pattern.match(self.head):
            raise EaseError(f"{self._stream.path} is not {name}: it begins with {self.head[:40]!r}: use another.")

    def _numbered(self, chunk: bytes) -> tuple[int, bytes]:
        first_line = self.next_line
        # Several times as fast as `bytes.count` for short lines.
        self.next_line += int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == ord("\n")))
        return first_line, chunk
