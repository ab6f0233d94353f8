"""Chosen members of archives, unpacked without trusting the archive."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from ease.errors import EaseError
from ease.io.files import report_write_errors

_CHUNK_BYTES = 1 << 20
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError)
"""What the libraries raise for broken content; a full disk is told by another."""


def unpack(archive: Path, members: Mapping[str, Path], most_bytes: int) -> list[str]:
    """Unpack some members of a zip or tar file (also .gz, .bz2, .xz), each to a path of the caller's choice.

    A member is taken by its exact name, a leading `./` aside. No path and no link of the archive is followed.

    Args:
        archive: The file.
        members: By the names of the wanted members: where to write them, in folders that exist.
        most_bytes: That the members may have together, unpacked.

    Returns:
        The wanted members that it lacks.

    Raises:
        EaseError: If it is no such archive or broken, has a member twice or as a link or device, is larger than
            allowed, or the disk is full.
    """
    missing, left = dict(members), most_bytes
    try:
        with _opened(archive) as contents:
            for name, regular, open_member in contents:
                plain = name.removeprefix("./")
                if plain not in members:
                    continue
                if not regular or plain not in missing:
                    raise EaseError(
                        f"{archive}: the member {name} is no plain file, or is there twice; it was not unpacked."
                    )
                with closing(open_member()) as source:
                    left -= _copy(source, missing.pop(plain), left, f"{archive}: {name}")
    except _BROKEN as error:
        raise EaseError(f"{archive} is no archive, or is broken ({error}): fetch it again.") from error
    return sorted(missing)


_Contents = Iterator[tuple[str, bool, Callable[[], IO[bytes]]]]
"""Of each member: its name, whether it is a plain file, and how to open it."""


@contextmanager
def _opened(archive: Path) -> Iterator[_Contents]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            yield _zip_contents(packed)
    else:
        with tarfile.open(archive, "r:*") as tape:
            yield _tar_contents(tape)


def _zip_contents(packed: zipfile.ZipFile) -> _Contents:
    for info in packed.infolist():
        mode = info.external_attr >> 16
        regular = not info.is_dir() and (stat.S_IFMT(mode) in (0, stat.S_IFREG))
        yield info.filename, regular, lambda info=info: packed.open(info)  # type: ignore[misc]


def _tar_contents(tape: tarfile.TarFile) -> _Contents:
    for info in tape:
        yield info.name, info.isreg(), lambda info=info: tape.extractfile(info)  # type: ignore[misc]


def _copy(source: IO[bytes], target: Path, most_bytes: int, place: str) -> int:
    """Copy a member whose size its header may belie; return its bytes."""
    written = 0
    with report_write_errors(target), target.open("wb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            written += len(chunk)
            if written > most_bytes:
                raise EaseError(
                    f"{place} is larger than expected, by what it holds unpacked; it was given up."
                )
            file.write(chunk)
    return written
