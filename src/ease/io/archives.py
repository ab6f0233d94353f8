"""Extraction of chosen members from untrusted archives."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

from ease.errors import EaseError
from ease.io.files import report_write_errors

_CHUNK_BYTES = 1 << 20
_MAX_HEADER_BYTES = 1 << 20
_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
"""Types of members that describe the next one, which tarfile reads into memory."""
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError)
"""What the libraries raise for broken content; a full disk is already an EaseError."""


def unpack(archive: Path, members: Mapping[str, Path], max_bytes: int) -> list[str]:
    """Extract members of a zip or tar file (also .gz, .bz2, .xz) to paths of the caller's choice.

    Members are found by their exact names, without a leading `./`; paths and links of the archive are not followed.

    Args:
        archive: The file.
        members: Target paths, in existing folders, by the names of members.
        max_bytes: Limit of the extracted bytes of all members together.

    Returns:
        The missing members.

    Raises:
        EaseError: If the file is not an archive or is broken, a member occurs twice or is a link or device, the
            members are larger than allowed, or the disk is full.
    """
    missing, left = dict(members), max_bytes
    try:
        for name, regular, open_member in _members(archive):
            plain = name.removeprefix("./")
            if plain not in members:
                continue
            if not regular or plain not in missing:
                raise EaseError(
                    f"{archive}: the member {name} is not a regular file or occurs twice; not extracted."
                )
            with closing(open_member()) as source:
                left -= _copy(source, missing.pop(plain), left, f"{archive}: {name}")
    except _BROKEN as error:
        reason = " ".join(str(error).split())
        raise EaseError(f"{archive} is not an archive, or is broken ({reason}): fetch it again.") from error
    return sorted(missing)


class _BoundedMember(tarfile.TarInfo):
    """A member that is not read if it is a header of more than a megabyte."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read a member's block.

        Raises:
            ReadError: The header is too large.
        """
        member = super().frombuf(buf, encoding, errors)
        if member.type in _HEADERS and member.size > _MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {member.size:,} bytes")
        return member


def _members(archive: Path) -> Iterator[tuple[str, bool, Callable[[], Any]]]:
    """Yield the name of each member, whether it is a regular file, and a function that opens it."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                regular = not info.is_dir() and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
                yield info.filename, regular, partial(packed.open, info)
    else:
        with tarfile.open(archive, "r:*", tarinfo=_BoundedMember) as tape:
            while (member := tape.next()) is not None:
                tape.members = []  # type: ignore[attr-defined]  # a list in memory of all members
                yield member.name, member.isreg(), partial(tape.extractfile, member)


def _copy(source: IO[bytes], target: Path, max_bytes: int, place: str) -> int:
    """Copy a member, and return its size, which its header may misstate."""
    written = 0
    with report_write_errors(target), target.open("wb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            written += len(chunk)
            if written > max_bytes:
                raise EaseError(
                    f"{place} is larger than expected when extracted; the extraction was stopped."
                )
            file.write(chunk)
    return written
