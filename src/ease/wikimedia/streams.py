"""Dump files as blocks of decompressed bytes, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Literal

from ease.addresses import BLOCK_BYTES as REMOTE_BLOCK_BYTES
from ease.addresses import RemoteFile, as_remote, is_remote, store_faults_named
from ease.errors import EaseError

Compression = Literal["plain", "bz2", "gz"]
MAGIC: dict[Compression, bytes] = {"bz2": b"BZh", "gz": b"\x1f\x8b"}
BLOCK_BYTES = 1 << 20
"""Most bytes read, and most bytes decompressed, at a time."""


def compression_of(path: Path) -> Compression:
    """How a file is compressed, by the end of its name."""
    endings: dict[str, Compression] = {".bz2": "bz2", ".gz": "gz"}
    return endings.get(path.suffix, "plain")


def open_binary(path: Path) -> BufferedReader:
    """Open a dump file to read and to seek in, at any address.

    Raises:
        EaseError: The file is missing or may not be read.
    """
    if is_remote(path):
        return BufferedReader(RemoteFile(path, block_size=REMOTE_BLOCK_BYTES), BLOCK_BYTES)
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise EaseError(f"{path} does not exist: check the source's path.") from None
    except OSError as error:
        raise EaseError(
            f"{path} cannot be read: {error.strerror}. Check the path and its permissions."
        ) from None


def content_digest(path: Path) -> str:
    """A checksum of a file's bytes, whatever its path; of a remote one, of what its store says that they are."""
    if is_remote(path) and (known := _stored_identity(path)):
        return hashlib.blake2b(repr(known).encode(), digest_size=16).hexdigest()
    with open_binary(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _stored_identity(path: Path) -> tuple[int, str] | None:
    """Size of a remote file, with its store's checksum or else the time of writing; None where it has neither."""
    with store_faults_named(path):
        info = as_remote(path).fs.info(as_remote(path).path)
    names = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "last_modified")
    found = next((str(info[name]) for name in names if info.get(name)), None)
    return (info["size"], found) if found else None


class DecompressedStream:
    """The decompressed blocks of a file, from the start of one of its compressed streams to its end.

    Attributes:
        truncated: After the iteration: the file ended inside a compressed stream, as a broken download does.
        position: Compressed bytes read so far, counted from the start of the file.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self.path = path
        self.start = start
        self.truncated = False
        self.position = start

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of at most `BLOCK_BYTES`, each with the offset in the file of its compressed stream.

        Raises:
            EaseError: The file is missing, empty, of another format than its name says, or broken inside.
        """
        compression = compression_of(self.path)
        with open_binary(self.path) as file:
            self._check_magic(file, compression)
            file.seek(self.start)
            if compression == "bz2":
                yield from self._bz2_blocks(file)
            elif compression == "gz":
                yield from self._gzip_blocks(file)
            else:
                while block := file.read(BLOCK_BYTES):
                    self.position = file.tell()
                    yield self.start, block

    def _check_magic(self, file: BufferedReader, compression: Compression) -> None:
        head = file.read(4)
        if not head:
            raise EaseError(f"{self.path} is empty (0 bytes): download it again.")
        for other, magic in MAGIC.items():
            if head.startswith(magic) != (other == compression):
                if other == compression:
                    raise EaseError(
                        f"{self.path} is not a {compression} file: it begins with {head!r}. Download it "
                        "again, or give it the ending that its content has."
                    )
                raise EaseError(f"{self.path} is {other}-compressed: rename it so that it ends in .{other}.")

    def _bz2_blocks(self, file: BufferedReader) -> Iterator[tuple[int, bytes]]:
        # bz2.open would do, but that it hides where streams begin and takes trailing garbage silently.
        decoder, begins, chunk = bz2.BZ2Decompressor(), self.start, b""
        while True:
            if decoder.eof:
                chunk = decoder.unused_data
                begins = file.tell() - len(chunk)
                chunk = chunk or file.read(BLOCK_BYTES)
                if not chunk:
                    return
                if chunk[:3] != MAGIC["bz2"][: len(chunk[:3])]:
                    raise EaseError(
                        f"{self.path} has other data after its last bz2 stream, at byte {begins:,}: download "
                        "it again."
                    )
                decoder = bz2.BZ2Decompressor()
            elif decoder.needs_input:
                chunk = file.read(BLOCK_BYTES)
                if not chunk:
                    self.truncated = True
                    return
            else:
                chunk = b""
            self.position = file.tell()
            try:
                block = decoder.decompress(chunk, BLOCK_BYTES)
            except OSError:
                raise self._broken("bz2", begins) from None
            if block:
                yield begins, block

    def _gzip_blocks(self, file: BufferedReader) -> Iterator[tuple[int, bytes]]:
        with gzip.GzipFile(fileobj=file) as unpacked:
            while True:
                try:
                    # read1 and not read: at a cut end, read loses the last bytes that could still be had.
                    block = unpacked.read1(BLOCK_BYTES)
                except EOFError:
                    self.truncated = True
                    return
                except (gzip.BadGzipFile, zlib.error):
                    raise self._broken("gz", 0) from None
                self.position = file.tell()
                if not block:
                    return
                yield 0, block

    def _broken(self, compression: Compression, begins: int) -> EaseError:
        return EaseError(
            f"{self.path} is broken: its {compression} data, in the stream that begins at byte {begins:,}, "
            "do not decode. Compare its checksum with the published one and download it again."
        )
