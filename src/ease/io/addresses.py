"""Local and remote paths: files of this machine, or of a store that fsspec reaches (s3://, gs://, hdfs://).

fsspec reads endpoints and credentials from its environment variables and `~/.config/fsspec`. `UPath` alone does
not replace this module: it omits the host, does not write atomically, lists from a stale cache, and raises each
store's own errors.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import has_magic
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ease.errors import EaseError

if TYPE_CHECKING:
    from upath import UPath

_BLOCK_BYTES = 8 << 20
"""Read-ahead of a remote file; s3fs would fetch 50 MB to read a dump's first bytes."""
_WHOLE_PUTS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl"}
"""Object stores: an uploaded file appears when it is complete, and cannot be renamed."""
_LOCAL = {"", "file", "local"}


def located(address: str | Path) -> Path:
    """Return the path at an address; a remote one is a `UPath`, typed by the interface that it shares with `Path`."""
    if not isinstance(address, str):
        return address
    if "://" not in address:
        return Path(address)
    from upath import UPath  # slow to import

    try:
        path = UPath(address)
        if path.protocol in _LOCAL:
            return Path(path.path)
        path.fs  # noqa: B018 - connects, so a missing package or credential raises here
    except ImportError as error:
        raise EaseError(f"{address} needs a package that is not installed: {error}.") from None
    except Exception as error:
        raise _unreachable(address, error) from error
    return cast(Path, path)


def address_of(path: Path) -> str:
    """Return the text from which `located` makes the same path; `str` of a `UPath` omits the host."""
    if not is_remote(path):
        return str(path)
    remote = as_remote(path)
    options = remote.storage_options
    authority = options.get("host")
    # Buckets have no host: only HDFS and the like have one.
    if not authority:
        return str(path)
    if user := options.get("user") or options.get("username"):
        authority = f"{user}@{authority}"
    if port := options.get("port"):
        authority = f"{authority}:{port}"
    return f"{remote.protocol}://{authority}{remote.path}"


def is_remote(path: Path) -> bool:
    """Return whether a path is on another machine."""
    # A `UPath` of a store is no `Path`, whatever its annotation says (see `located`).
    return not isinstance(cast(object, path), Path)


def as_remote(path: Path) -> UPath:
    """Return the same path by its true type, which has its file system."""
    assert is_remote(path)
    return cast("UPath", path)


@contextmanager
def report_store_errors(place: Path) -> Iterator[None]:
    """Turn a store's errors into readable ones; errors of a local path are left to the caller."""
    try:
        yield
    except EaseError:
        raise
    except Exception as error:  # the stores' errors have no common base class
        if not is_remote(place):
            raise
        raise _unreachable(str(place), error) from error


def _unreachable(address: str, error: Exception) -> EaseError:
    if isinstance(error, FileNotFoundError):
        return EaseError(f"{address} does not exist ({error}): check the address.")
    return EaseError(
        f"{address} cannot be reached ({type(error).__name__}: {error}): check the address, and fsspec's settings of "
        "the store's endpoint and credentials (docs/cluster.md)."
    )


def kind_of(path: Path) -> Literal["file", "directory"] | None:
    """Return the kind of a path, None if nothing exists there."""
    if is_remote(path):
        return _remote_kind(as_remote(path))
    if path.is_file():
        return "file"
    if path.is_dir():
        return "directory"
    return None


def _remote_kind(path: UPath) -> Literal["file", "directory"] | None:
    """Return the kind of a path of a store, from one request."""
    with report_store_errors(cast(Path, path)):
        try:
            info = path.fs.info(path.path)
        except FileNotFoundError:
            return None
    if info["type"] == "file":
        return "file"
    return "directory"


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, in no order."""
    if not is_remote(folder):
        return [path for path in folder.rglob("*") if path.is_file()]
    return _list_files(as_remote(folder), as_remote(folder).fs.find, as_remote(folder))


def files_matching(pattern: Path) -> list[Path]:
    """Return a store's files that match a glob, in no order."""
    remote_pattern = as_remote(pattern)
    folder = next(parent for parent in remote_pattern.parents if not has_magic(parent.path))
    return _list_files(remote_pattern, remote_pattern.fs.glob, folder)


def _list_files(place: UPath, find: Callable[..., dict[str, Any]], folder: UPath) -> list[Path]:
    with report_store_errors(cast(Path, place)):
        # Other processes may add and replace files meanwhile.
        place.fs.invalidate_cache()
        try:
            entries = find(place.path, detail=True)
        finally:
            place.fs.invalidate_cache()
    files = (path for path, info in entries.items() if info["type"] == "file")
    # Made from `folder`, paths keep its store's options, such as the host.
    return [cast(Path, folder / path.removeprefix(folder.path).lstrip("/")) for path in files]


def open_remote(path: Path, **options: Any) -> BufferedReader:
    """Open a remote file to read, with options of fsspec; errors are the store's (see `report_store_errors`)."""
    store = as_remote(path)
    return cast(BufferedReader, store.fs.open(store.path, "rb", **{"block_size": _BLOCK_BYTES, **options}))


def upload(file: Path, target: Path) -> None:
    """Upload a file atomically.

    A name always has the same content, so stores that rename keep an existing file. On these a killed process leaves a
    partial file under another name.
    """
    remote = as_remote(target)
    store, path = remote.fs, remote.path
    with report_store_errors(target):
        if remote.protocol in _WHOLE_PUTS:
            store.put_file(str(file), path)
        elif not store.exists(path):
            # The name appears with the move, when the content is complete.
            aside = remote.with_name(f".{remote.name}.{uuid.uuid4().hex}.part").path
            store.makedirs(remote.parent.path, exist_ok=True)
            store.put_file(str(file), aside)
            try:
                store.mv(aside, path)
            except Exception:
                store.rm(aside)
                # If the name exists now, another process was faster.
                if not store.exists(path):
                    raise
