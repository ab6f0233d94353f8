"""Dump files as blocks of decompressed bytes, in bounded memory."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal

from ease.errors import EaseError
from ease.io.addresses import BLOCK_BYTES as REMOTE_BLOCK_BYTES
from ease.io.addresses import RemoteFile, as_remote, is_remote, report_store_errors
from ease.wikimedia.dumps.bz2_blocks import BrokenBlockError, Bz2Blocks

Compression = Literal["plain", "bz2", "gz"]
MAGIC: dict[Compression, bytes] = {"bz2": b"BZh", "gz": b"\x1f\x8b"}
BLOCK_BYTES = 1 << 20
"""Most bytes read at a time."""
_GZIP = 16 + zlib.MAX_WBITS
_GZIP_BYTES = 1 << 16
"""Read at a time: they unpack to a thousand times as much at most."""


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


def _stored_identity(path: Path) -> tuple[int, str, str] | None:
    """Size of a remote file with its store's checksum, else with its address and the time of writing; None without."""
    with report_store_errors(path):
        info = as_remote(path).fs.info(as_remote(path).path)
    checksums, times = ("ETag", "etag", "md5Hash", "content_md5"), ("mtime", "last_modified")
    for names, place in ((checksums, ""), (times, str(path))):
        if found := next((str(info[name]) for name in names if info.get(name)), None):
            return info["size"], found, place
    return None


class DecompressedStream:
    """What the bytes of a file from `start` on decode to, in blocks, each with the place in the file where it begins.

    Plain files and bz2 are entered at `start`, bz2 at the first block of its format that begins there or later; gzip is
    unpacked from its beginning, and what comes before is left out.

    Attributes:
        truncated: After the iteration: the file ended inside a compressed stream, as a broken download does.
        position: Compressed bytes read so far, counted from the start of the file.
    """

    def __init__(self, path: Path, start: int = 0, end: int | None = None, threads: int = 1) -> None:
        """Prepare to read.

        Args:
            path: Its ending says how it is compressed.
            start: The first byte.
            end: A byte that no block goes across; reading goes on after it.
            threads: How many decode a bz2 file.
        """
        self.path = path
        self.start = start
        self.truncated = False
        self.position = start
        self._end = end
        self._threads = threads

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Blocks, each with the byte of the file where what it is made of begins; large where bytes pack well.

        Raises:
            EaseError: The file is missing, empty, of another format than its name says, or broken inside.
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
                        "again, or give it the ending that its content has."
                    )
                raise EaseError(f"{self.path} is {other}-compressed: rename it so that it ends in .{other}.")

    def _chunks(self, file: BinaryIO, most: int) -> Iterator[tuple[int, bytes]]:
        """The file's own bytes from where it stands."""
        begins = file.tell()
        while chunk := file.read(min(most, _distance(begins, self.start), _distance(begins, self._end))):
            self.position = begins + len(chunk)
            yield begins, chunk
            begins = self.position

    def _bz2_blocks(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        blocks = Bz2Blocks(file, self.start, self._threads, BLOCK_BYTES)
        try:
            for begins, block in blocks:
                self.position = blocks.position
                yield begins, block
        except BrokenBlockError as error:
            raise (
                self._trailing("bz2", error.byte) if error.trailing else self._broken("bz2", error.byte)
            ) from None
        self.truncated = blocks.truncated

    def _gzip_blocks(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        # gzip.open would do, but that it hides from which bytes its content comes.
        file.seek(0)
        decoder, begun = zlib.decompressobj(_GZIP), True
        for begins, chunk in self._chunks(file, _GZIP_BYTES):
            blocks = []
            while chunk:
                if decoder.eof:
                    decoder, begun = zlib.decompressobj(_GZIP), False
                if not begun and not (chunk := chunk.lstrip(b"\0")):  # padding
                    break
                try:
                    blocks.append(decoder.decompress(chunk))
                except zlib.error:
                    raise (self._broken("gz", begins) if begun else self._trailing("gz", begins)) from None
                begun, chunk = True, decoder.unused_data
            if begins >= self.start and (block := b"".join(blocks)):
                yield begins, block
        self.truncated = begun and not decoder.eof

    def _trailing(self, compression: Compression, byte: int) -> EaseError:
        return EaseError(
            f"{self.path} has other data after its last {compression} stream, at byte {byte:,}: download it again."
        )

    def _broken(self, compression: Compression, byte: int) -> EaseError:
        return EaseError(
            f"{self.path} is broken: its {compression} data that begin at byte {byte:,} do not decode. Compare its "
            "checksum with the published one and download it again."
        )


def _distance(begins: int, boundary: int | None) -> int:
    """Bytes up to a boundary that lies ahead."""
    return sys.maxsize if boundary is None or boundary <= begins else boundary - begins
