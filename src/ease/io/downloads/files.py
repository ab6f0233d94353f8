"""One file: where it comes from, what it should be, and its transfer."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import requests
from tqdm import tqdm
from urllib3.exceptions import HTTPError

from ease.errors import EaseError
from ease.io.atomic import flush_to_disk, partial_path, write_text_atomically
from ease.io.downloads.client import Client, PassingFault, Stopped, refuse, words_of
from ease.io.files import report_write_errors
from ease.io.locks import try_lock

logger = logging.getLogger(__name__)

_ALGORITHMS = ("sha256", "sha1", "md5")
"""From the strongest on."""

_CHUNK_BYTES = 1 << 17
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch: from where, to where, and what is known of it."""

    url: str
    path: Path
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Hexadecimal sums by algorithm: sha256, sha1, md5."""
    size: int | None = None
    """Bytes."""

    @property
    def aside(self) -> Path:
        """Where it lies until it is whole."""
        return partial_path(self.path)

    @property
    def note(self) -> Path:
        """What is remembered of the server's edition of it."""
        return self.path.with_name(f".{self.path.name}.part.json")

    def is_present(self) -> bool:
        """Whether it is there and right: of the size, or of the checksum where the size is not known.

        Only a checked file ever gets its name, so the size is enough of a proof for files of many gigabytes.
        """
        if not self.path.is_file():
            return False
        return self.path.stat().st_size == self.size if self.size is not None else not self.fault(self.path)

    def fault(self, path: Path) -> str:
        """What is wrong with a file that should be this one, by its size and strongest checksum; empty if nothing."""
        size = path.stat().st_size
        if self.size is not None and size != self.size:
            return f"has {size} bytes, but should have {self.size}"
        algorithm = next((name for name in _ALGORITHMS if name in self.checksums), None)
        if algorithm is None:
            return ""
        with path.open("rb") as file:
            found = hashlib.file_digest(file, algorithm).hexdigest()
        expected = self.checksums[algorithm].lower()
        return "" if found == expected else f"has the {algorithm} {found}, but should have {expected}"


def download(file: RemoteFile, client: Client) -> bool:
    """Fetch a file unless it is there; what an earlier run has fetched of it is gone on from.

    A file that proves wrong is fetched once more from its beginning.

    Returns:
        Whether it was fetched.

    Raises:
        NotFound: If the server does not have it.
        Unreachable: If the server does not answer.
        EaseError: If it cannot be fetched or is wrong twice, another process is fetching it, or the disk is full.
        Stopped: If the client was stopped.
    """
    if file.is_present():
        return False
    with report_write_errors(file.path):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        with _held(file) as handle:
            if file.is_present():  # another process has just finished it
                return False
            _receive(file, client, handle)
            flush_to_disk(file.aside)
            os.replace(file.aside, file.path)
            file.note.unlink(missing_ok=True)
    return True


@contextmanager
def _held(file: RemoteFile) -> Iterator[BinaryIO]:
    """Open what has been fetched so far, for this process alone; the system lifts the lock even of a killed one."""
    with os.fdopen(os.open(file.aside, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as handle:
        if not try_lock(handle):
            raise EaseError(f"Another process is fetching {file.path}: wait for it, or stop it.")
        try:
            yield handle
        finally:
            if file.aside.exists() and not file.aside.stat().st_size:
                file.aside.unlink()
                file.note.unlink(missing_ok=True)


def _receive(file: RemoteFile, client: Client, handle: BinaryIO) -> None:
    transfer = _Transfer(file, client, handle)
    for last in (False, True):
        client.persist(file.url, transfer.attempt, transfer.received)
        handle.flush()
        if not (fault := file.fault(file.aside)):
            return
        handle.truncate(0)
        if last:
            raise EaseError(
                f"{file.url} is wrong, twice: what the server sends {fault}. It was not kept; try again later, or "
                "take another mirror."
            )
        logger.warning("%s is fetched again from its beginning: what was received %s", file.url, fault)


class _Transfer:
    """Receives a file in as many parts as it takes."""

    def __init__(self, file: RemoteFile, client: Client, handle: BinaryIO) -> None:
        self._file, self._client, self._handle = file, client, handle

    def received(self) -> int:
        """Bytes that lie aside."""
        return self._handle.seek(0, os.SEEK_END)

    def attempt(self) -> None:
        """Ask for what is missing, and store it.

        Raises:
            PassingFault: If it breaks off, or the server is busy.
            EaseError: If the server refuses, or the disk has no room for it.
        """
        headers = self._range()
        with closing(self._client.get(self._file.url, headers)) as response:
            total = self._begin(response)
            if total is not None:
                require_room(self._file.path.parent, total - self.received())
            if response.status_code != 416:
                self._store(response, total)
        if total is not None and self.received() != total:
            raise PassingFault(f"it broke off after {self.received()} of {total} bytes")

    def _range(self) -> dict[str, str]:
        """Ask to go on, if what is there is of the same edition of the file, or will be checked by its sum."""
        size, validator = self.received(), self._remembered()
        if size and validator:
            return {"Range": f"bytes={size}-", "If-Range": validator}
        if size and self._file.checksums:
            return {"Range": f"bytes={size}-"}
        self._handle.truncate(0)
        return {}

    def _remembered(self) -> str | None:
        """The validator (ETag or date) of the edition that lies aside; None for that of another address."""
        try:
            note = json.loads(self._file.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return note["validator"] if note.get("url") == self._file.url else None

    def _begin(self, response: requests.Response) -> int | None:
        """Prepare for the answer's body.

        Returns:
            The bytes of the whole file, None where the server does not tell.
        """
        found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        start, total = (found[1], found[2]) if found else (None, None)
        if response.status_code == 200:
            self._refuse_page(response)
            self._handle.truncate(0)
            self._remember(response)
            length = response.headers.get("Content-Length", "")
            return int(length) if length.isdigit() else None
        fits = start is not None and int(start) == self.received()
        complete = start is None and total == str(self.received())
        if response.status_code not in (206, 416):
            refuse(self._file.url, response)
        if not (fits if response.status_code == 206 else complete):
            self._handle.truncate(0)
            raise PassingFault("the server cannot go on from there")
        return int(total) if total and total.isdigit() else None

    def _refuse_page(self, response: requests.Response) -> None:
        """Refuse a page to log in at, which would otherwise pass for a file of unknown checksum."""
        page = response.headers.get("Content-Type", "").startswith("text/html")
        if page and not self._file.checksums and self._file.path.suffix not in (".html", ".htm"):
            raise EaseError(
                f"{self._file.url} cannot be fetched: the server answers with a web page instead."
            )

    def _remember(self, response: requests.Response) -> None:
        tag = response.headers.get("ETag", "")
        # A weak tag does not promise the same bytes (RFC 9110, section 13.1.5).
        validator = response.headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
        write_text_atomically(self._file.note, json.dumps({"url": self._file.url, "validator": validator}))

    def _store(self, response: requests.Response, total: int | None) -> None:
        with tqdm(
            total=total,
            initial=self.received(),
            desc=self._file.path.name,
            unit="B",
            unit_scale=True,
            delay=2,
            leave=False,
            disable=None,
        ) as bar:
            while chunk := self._next(response):
                self._handle.write(chunk)
                self._handle.flush()
                bar.update(len(chunk))

    def _next(self, response: requests.Response) -> bytes:
        if self._client.stop.is_set():
            raise Stopped
        try:
            chunk: bytes = response.raw.read(_CHUNK_BYTES, decode_content=False)
        except (HTTPError, OSError) as error:
            raise PassingFault(words_of(error)) from error
        return chunk


def require_room(folder: Path, needed: int) -> None:
    """Refuse to begin what the disk has no room for.

    Raises:
        EaseError: With the bytes needed and free.
    """
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise EaseError(
            f"{folder} has no room: {needed / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free. Make room there, "
            "or choose another folder."
        )
