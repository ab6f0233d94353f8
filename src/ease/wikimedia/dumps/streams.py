"""Read dump files as blocks of decompressed bytes, in bounded memory."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal

import xxhash
from zlib_ng import zlib_ng

from ease.errors import EaseError
from ease.io.addresses import as_remote, is_remote, open_remote, report_store_errors
from ease.wikimedia.dumps.bz2_blocks import BrokenBlockError, Bz2Blocks

Compression = Literal["plain", "bz2", "gz"]
MAGIC: dict[Compression, bytes] = {"bz2": b"BZh", "gz": b"\x1f\x8b"}
FASTEST_FIRST: tuple[Compression, ...] = ("plain", "gz", "bz2")
BLOCK_BYTES = 1 << 20
"""Largest number of bytes per read."""
_GZIP = 16 + zlib_ng.MAX_WBITS
_GZIP_BYTES = 1 << 16
"""Bytes per read: they decompress to at most a thousand times as much."""


def compression_of(path: Path) -> Compression:
    """Return how a file is compressed, by its suffix."""
    endings: dict[str, Compression] = {".bz2": "bz2", ".gz": "gz"}
    return endings.get(path.suffix, "plain")


@contextmanager
def open_binary(path: Path) -> Iterator[BufferedReader]:
    """Open a local or remote dump file, seekable.

    Raises:
        EaseError: The file is missing or may not be read, or its store fails while it is read.
    """
    with report_store_errors(path):
        try:
            file = open_remote(path) if is_remote(path) else path.open("rb")
        except FileNotFoundError:
            raise EaseError(f"{path} does not exist: check the source's path.") from None
        except OSError as error:
            if is_remote(path):
                raise
            raise EaseError(
                f"{path} cannot be read: {error.strerror}. Check the path and its permissions."
            ) from None
        with file:
            yield file


def content_digest(path: Path) -> str:
    """Return a hash of a file's content; for a remote file, of the size and checksum or time that its store reports."""
    if is_remote(path) and (known := _stored_identity(path)):
        return xxhash.xxh3_128(repr(known).encode()).hexdigest()
    with open_binary(path) as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def _stored_identity(path: Path) -> tuple[int, str, str] | None:
    """Return a remote file's size with its checksum, or with its modification time and address; None without either."""
    with report_store_errors(path):
        info = as_remote(path).fs.info(as_remote(path).path)
    checksums, times = ("ETag", "etag", "md5Hash", "content_md5"), ("mtime", "last_modified")
    for names, place in ((checksums, ""), (times, str(path))):
        if found := next((str(info[name]) for name in names if info.get(name)), None):
            return info["size"], found, place
    return None


class DecompressedStream:
    """Blocks of decompressed bytes from a byte of a file to its end.

    A plain file is entered at `start`, a bz2 file at the first bz2 block that starts there or later. A gzip file is
    decompressed from its beginning; blocks before `start` are skipped.

    Attributes:
        truncated: After the iteration, whether the file ends inside a compressed stream, as a broken download does.
        position: Offset up to which the file has been read.
    """

    def __init__(self, path: Path, start: int = 0, end: int | None = None, threads: int = 1) -> None:
        """Prepare to read a file from the byte `start` to its end; no block spans the byte `end`."""
        self.path = path
        self.start = start
        self.truncated = False
        self.position = start
        self._end = end
        self._threads = threads

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (file offset, decompressed block); highly compressible data give large blocks.

        Raises:
            EaseError: The file is missing, empty, broken, or of another format than its suffix.
        """
        compression = compression_of(self.path)
        with open_binary(self.path) as file:
            self._check_magic(file, compression)
            if compression == "bz2":
                yield from self._bz2_blocks(file)
            elif compression == "gz":
                yield from self._gzip_blocks(file)
            else:
                file.seek(self.start)
                yield from self._chunks(file, BLOCK_BYTES)

    def _check_magic(self, file: BinaryIO, compression: Compression) -> None:
        head = file.read(4)
        if not head:
            raise EaseError(f"{self.path} is empty (0 bytes): download it again.")
        for other, magic in MAGIC.items():
            if head.startswith(magic) != (other == compression):
                if other == compression:
                    raise EaseError(
                        f"{self.path} is not a {compression} file: it begins with {head!r}. Download it "
                        "again, or rename it with the suffix of its content."
                    )
                raise EaseError(f"{self.path} is {other}-compressed: rename it so that it ends in .{other}.")

    def _chunks(self, file: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the file's own bytes from its current position."""
        offset = file.tell()
        while chunk := file.read(min(size, _distance(offset, self.start), _distance(offset, self._end))):
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
        file.seek(0)
        decoder, inside_member = zlib_ng.decompressobj(_GZIP), True
        for offset, chunk in self._chunks(file, _GZIP_BYTES):
            blocks = []
            while chunk:
                if decoder.eof:
                    decoder, inside_member = zlib_ng.decompressobj(_GZIP), False
                if not inside_member and not (chunk := chunk.lstrip(b"\0")):  # padding
                    break
                try:
                    blocks.append(decoder.decompress(chunk))
                except zlib_ng.error:  # type: ignore[misc]  # its stub declares an instance
                    raise self._undecodable("gz", offset, trailing=not inside_member) from None
                inside_member, chunk = True, decoder.unused_data
            if offset >= self.start and (block := b"".join(blocks)):
                yield offset, block
        self.truncated = inside_member and not decoder.eof

    def _undecodable(self, compression: Compression, byte: int, trailing: bool) -> EaseError:
        if trailing:
            return EaseError(
                f"{self.path} has other data after its last {compression} stream, at byte {byte:,}: download it again."
            )
        return EaseError(
            f"{self.path} is broken: its {compression} data at byte {byte:,} do not decode. Compare its "
            "checksum with the published one and download it again."
        )


def _distance(offset: int, boundary: int | None) -> int:
    """Return the bytes up to a boundary ahead."""
    return sys.maxsize if boundary is None or boundary <= offset else boundary - offset
