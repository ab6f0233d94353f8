"""Paths at addresses: of this machine, or of a store that fsspec reaches (s3://, gs://, hdfs://).

Endpoints and credentials are fsspec's own matter: its environment variables and `~/.config/fsspec`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from glob import has_magic
from io import RawIOBase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

from upath import UPath

from ease.errors import EaseError

BLOCK_BYTES = 8 << 20
"""Read ahead of a remote file; s3fs's own 50 MB would be fetched for each look at a dump's head."""
_WHOLE_PUTS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl"}
"""Object stores: a file that is put appears when it is there whole, and cannot be renamed."""
_LOCAL = {"", "file", "local"}


def located(address: str | Path) -> Path:
    """The path at an address: a remote one is an `UPath`, named here by the interface that it shares.

    Raises:
        EaseError: No file system has that name, its library is not installed, or it cannot be reached.
    """
    if not isinstance(address, str):
        return address
    if "://" not in address:
        return Path(address)
    try:
        path = UPath(address)
        if path.protocol in _LOCAL:
            return Path(path.path)
        path.fs  # noqa: B018 - connects, and so says at once what is missing
    except ImportError as error:
        raise EaseError(f"{address} needs a package that is not installed: {error}.") from None
    except Exception as error:
        raise _unreachable(address, error) from error
    return cast(Path, path)


def address_of(path: Path) -> str:
    """The text that `located` takes back; an `UPath`'s own leaves out the host."""
    options = as_remote(path).storage_options if is_remote(path) else {}
    if not (host := options.get("host")):
        return str(path)
    user, port = options.get("user") or options.get("username"), options.get("port")
    authority = f"{f'{user}@' if user else ''}{host}{f':{port}' if port else ''}"
    return f"{as_remote(path).protocol}://{authority}{as_remote(path).path}"


def is_remote(path: Path) -> bool:
    """Whether a path is none of this machine's own."""
    return isinstance(cast(object, path), UPath)


def as_remote(path: Path) -> UPath:
    """The same path by its true type, which knows its store."""
    assert is_remote(path)
    return cast(UPath, path)


@contextmanager
def report_store_errors(place: Path) -> Iterator[None]:
    """Turn what a store answers into a message; a path of this machine is left to the caller.

    Raises:
        EaseError: With the place, the store's words and what to do.
    """
    try:
        yield
    except EaseError:
        raise
    except Exception as error:  # each store has errors of its own, without a common base
        if not is_remote(place):
            raise
        raise _unreachable(str(place), error) from error


def _unreachable(address: str, error: Exception) -> EaseError:
    said = f"{type(error).__name__}: {error}".strip(": ")
    if isinstance(error, FileNotFoundError):
        return EaseError(f"{address} does not exist ({error}): check the address.")
    return EaseError(
        f"{address} cannot be reached ({said}): check the address, and the store's endpoint and credentials, which are "
        "fsspec's own settings (docs/cluster.md)."
    )


def kind_of(path: Path) -> Literal["file", "directory"] | None:
    """What lies there; None for nothing, but not for what is refused or out of reach, as `exists` has it.

    Raises:
        EaseError: The store refuses to tell or cannot be reached.
    """
    if not is_remote(path):
        return "file" if path.is_file() else "directory" if path.is_dir() else None
    with report_store_errors(path):
        try:
            info = as_remote(path).fs.info(as_remote(path).path)
        except FileNotFoundError:
            return None
    return "file" if info["type"] == "file" else "directory"


@contextmanager
def _fresh_listing(place: Path) -> Iterator[None]:
    """List a store anew and remember nothing of it: others may add and replace files while this process lives."""
    store = as_remote(place).fs
    with report_store_errors(place):
        store.invalidate_cache()
        try:
            yield
        finally:
            store.invalidate_cache()


def files_below(folder: Path) -> list[Path]:
    """All files in a folder and those below it, in no order."""
    if not is_remote(folder):
        return [path for path in folder.rglob("*") if path.is_file()]
    store = as_remote(folder)
    with _fresh_listing(folder):
        found = store.fs.find(store.path)
    return [_below(store, path) for path in found]


def files_matching(pattern: Path) -> list[Path]:
    """The files of a store that a glob names, in no order."""
    wanted = as_remote(pattern)
    with _fresh_listing(pattern):
        found = wanted.fs.glob(wanted.path, detail=True)
    folder = next(parent for parent in wanted.parents if not has_magic(parent.path))
    return [_below(folder, path) for path, info in found.items() if info["type"] == "file"]


def _below(folder: UPath, path: str) -> Path:
    """The path in the folder that the store names by `path`."""
    return cast(Path, folder / path.removeprefix(folder.path).lstrip("/"))


class RemoteFile(RawIOBase):
    """A remote file opened to read; faults are told in words.

    `options` are fsspec's: how much is read ahead.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        self._path = path
        with report_store_errors(path):
            self._file = as_remote(path).fs.open(as_remote(path).path, "rb", **options)

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, at the file's end with less."""
        with report_store_errors(self._path):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the byte at which is read."""
        return int(self._file.tell())

    def close(self) -> None:
        """Close the remote file."""
        if not self.closed:
            self._file.close()
        super().close()


def upload(file: Path, target: Path) -> None:
    """Put a file of this machine at a remote address, where it appears whole or not at all.

    Names are of one content, so on a store with renaming a file that is there already is kept. A process that is killed
    there leaves what it has put under another name.

    Raises:
        EaseError: The store refuses it or cannot be reached.
    """
    remote = as_remote(target)
    store, path = remote.fs, remote.path
    with report_store_errors(target):
        if remote.protocol in _WHOLE_PUTS:
            store.put_file(str(file), path)
        elif not store.exists(path):
            aside = remote.with_name(f".{remote.name}.{uuid.uuid4().hex}.part").path
            store.makedirs(remote.parent.path, exist_ok=True)
            try:
                store.put_file(str(file), aside)
                store.mv(aside, path)
            except Exception:
                if not store.exists(path):  # else another process was faster
                    raise
            finally:
                if store.exists(aside):
                    store.rm(aside)


def upload_text(text: str, target: Path) -> None:
    """Put a text at a remote address, as `upload` does."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "text"
        file.write_text(text, encoding="utf-8")
        upload(file, target)
