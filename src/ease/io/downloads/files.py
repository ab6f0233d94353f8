"""Download of one file: resumed, checked and written atomically."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
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
from ease.io.downloads.client import (
    Client,
    Stopped,
    TransientError,
    content_length,
    describe,
    raise_for_answer,
    whole_number,
)
from ease.io.files import check_free_space, read_json, report_write_errors
from ease.io.locks import try_lock

logger = logging.getLogger(__name__)

_ALGORITHMS = ("sha256", "sha1", "md5")
"""The strongest first."""

_CHUNK_BYTES = 1 << 17
_MAX_UNANNOUNCED_BYTES = 4 << 30
"""Largest file whose size is neither listed nor announced."""
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its address, its target, and its checksums and size if known."""

    url: str
    path: Path
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Hexadecimal checksums by algorithm: sha256, sha1, md5."""
    size: int | None = None
    """Bytes."""

    @property
    def partial(self) -> Path:
        """The partial file."""
        return partial_path(self.path)

    @property
    def validator_file(self) -> Path:
        """File that holds the validator (ETag or date) of the partial file."""
        return self.path.with_name(f".{self.path.name}.part.json")

    def is_present(self) -> bool:
        """Return whether the file exists with the right size, or the right checksum if its size is unknown.

        Only a checked file ever gets its name, so the size suffices for files of many gigabytes.
        """
        if not self.path.is_file():
            return False
        return self.path.stat().st_size == self.size if self.size is not None else not self.fault(self.path)

    def fault(self, path: Path) -> str:
        """Return how a file differs in size or strongest checksum; empty if it does not."""
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
    """Download a file if missing; resume its partial file.

    A file with a wrong size or checksum is downloaded once more from the beginning.

    Returns:
        Whether the file was downloaded.

    Raises:
        NotFound: If the server does not have it.
        Unreachable: If the server does not answer.
        EaseError: If it cannot be downloaded or is wrong twice, another process is downloading it, or the disk is full.
        Stopped: If the client was stopped.
    """
    if file.is_present():
        return False
    with report_write_errors(file.path):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked_partial(file) as handle:
            if file.is_present():  # another process has just finished it
                return False
            _receive(file, client, handle)
            flush_to_disk(file.partial)
            os.replace(file.partial, file.path)
            file.validator_file.unlink(missing_ok=True)
    return True


@contextmanager
def _locked_partial(file: RemoteFile) -> Iterator[BinaryIO]:
    """Open and lock the partial file; remove it afterwards if it is empty."""
    with os.fdopen(os.open(file.partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as handle:
        if not try_lock(handle):
            raise EaseError(f"Another process is fetching {file.path}: wait for it, or stop it.")
        try:
            yield handle
        finally:
            if file.partial.exists() and not file.partial.stat().st_size:
                file.partial.unlink()
                file.validator_file.unlink(missing_ok=True)


def _receive(file: RemoteFile, client: Client, handle: BinaryIO) -> None:
    transfer = _Transfer(file, client, handle)
    for last in (False, True):
        client.retry(file.url, transfer.attempt, transfer.received)
        handle.flush()
        if not (fault := file.fault(file.partial)):
            return
        handle.truncate(0)
        if last:
            raise EaseError(
                f"{file.url} is wrong, twice: what the server sends {fault}. It was not kept; try again later, or "
                "choose another mirror."
            )
        logger.warning("%s is fetched again from the beginning: what was received %s", file.url, fault)


class _Transfer:
    """Receives a file in one or more requests."""

    def __init__(self, file: RemoteFile, client: Client, handle: BinaryIO) -> None:
        self._file, self._client, self._handle = file, client, handle

    def received(self) -> int:
        """Return the size of the partial file."""
        return self._handle.seek(0, os.SEEK_END)

    def attempt(self) -> None:
        """Request the missing bytes and append them.

        Raises:
            TransientError: If the connection breaks, or the server is busy.
            EaseError: If the server refuses, or the disk is too small.
        """
        with closing(self._client.get(self._file.url, self._range_headers())) as response:
            total = self._begin(response)
            if total is not None:
                check_free_space(self._file.path.parent, total - self.received())
            if response.status_code != 416:
                self._append(response, total)
        if total is not None and self.received() < min(total, self._file.size or total):
            raise TransientError(f"the connection broke after {self.received()} of {total} bytes")

    def _range_headers(self) -> dict[str, str]:
        """Request the rest of the file if a validator or a checksum can show that the server's file is unchanged."""
        size, note = self.received(), read_json(self._file.validator_file) or {}
        # The validator of a partial file from another address says nothing.
        validator = note["validator"] if note.get("url") == self._file.url else None
        if size and validator:
            return {"Range": f"bytes={size}-", "If-Range": validator}
        if size and self._file.checksums:
            return {"Range": f"bytes={size}-"}
        self._handle.truncate(0)
        return {}

    def _begin(self, response: requests.Response) -> int | None:
        """Prepare for the response's body, and return the size of the complete file if the server states it."""
        found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        start, total = (found[1], found[2]) if found else (None, None)
        if response.status_code == 200:
            page = response.headers.get("Content-Type", "").startswith("text/html")
            if page and not self._file.checksums and self._file.path.suffix not in (".html", ".htm"):
                raise EaseError(
                    f"{self._file.url} cannot be fetched: the server answers with a web page instead. Open "
                    "the address in a browser: it may ask for a login or a licence."
                )
            self._handle.truncate(0)
            tag = response.headers.get("ETag", "")
            # A weak tag does not promise the same bytes (RFC 9110, section 13.1.5).
            validator = response.headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
            note = {"url": self._file.url, "validator": validator}
            write_text_atomically(self._file.validator_file, json.dumps(note))
            return content_length(response)
        if response.status_code not in (206, 416):
            raise_for_answer(self._file.url, response)
        received = str(self.received())
        resumes = start == received if response.status_code == 206 else start is None and total == received
        if not resumes:
            self._handle.truncate(0)
            raise TransientError("the server cannot resume there")
        return whole_number(total)

    def _append(self, response: requests.Response, total: int | None) -> None:
        """Append the body up to one byte more than the file should have, which shows that the body is wrong.

        Raises:
            EaseError: If a file whose size is neither listed nor announced is too large.
        """
        size = self._file.size if self._file.size is not None else total
        style = {"unit": "B", "unit_scale": True, "delay": 2, "leave": False, "disable": None}
        with tqdm(total=total, initial=self.received(), desc=self._file.path.name, **style) as bar:
            while size is None or self.received() <= size:
                if not (chunk := self._next_chunk(response)):
                    break
                self._handle.write(chunk if size is None else chunk[: size + 1 - self.received()])
                self._handle.flush()
                bar.update(len(chunk))
                if size is None and self.received() > _MAX_UNANNOUNCED_BYTES:
                    self._handle.truncate(0)
                    raise EaseError(
                        f"{self._file.url} has more than {_MAX_UNANNOUNCED_BYTES >> 30} GB, and its size is neither "
                        "listed nor announced: it was not kept. Choose another mirror."
                    )

    def _next_chunk(self, response: requests.Response) -> bytes:
        if self._client.stop.is_set():
            raise Stopped
        try:
            chunk: bytes = response.raw.read(_CHUNK_BYTES, decode_content=False)
        except (HTTPError, OSError) as error:
            raise TransientError(describe(error)) from error
        return chunk
