"""Downloads over HTTP: resumed with ranges, checked, retried with exponential back-off, written atomically."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event
from typing import BinaryIO, TypeVar
from urllib.parse import urlsplit

import requests
from pydantic import Field
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util import Retry

from ease import __version__
from ease.errors import EaseError
from ease.io.atomic import flush_to_disk, write_text_atomically
from ease.io.files import check_free_space, read_json, report_write_errors
from ease.io.locks import try_lock
from ease.io.progress import ProgressBar
from ease.options import StrictModel

logger = logging.getLogger(__name__)

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which a retry may succeed (RFC 9110, RFC 6585)."""

_MAX_TEXT_BYTES = 64 << 20
_MAX_UNANNOUNCED_BYTES = 4 << 30
"""Of a file whose size nobody states: an endless answer must not fill the disk."""
_CHUNK_BYTES = 1 << 17
_LONGEST_PAUSE = 600
"""Seconds; a server that asks for a longer pause is an error."""
_ALGORITHMS = ("sha256", "sha1", "md5")
"""The strongest first."""
T = TypeVar("T")


class ConnectionOptions(StrictModel):
    """Connections and identification of downloads."""

    connections: int = Field(3, ge=1, le=3, description="parallel downloads; Wikimedia asks for at most three")
    contact: str | None = Field(
        None, description="an e-mail or web address, sent to servers: Wikimedia refuses anonymous programs"
    )


class DownloadOptions(ConnectionOptions):
    """Connections, identification and retries of downloads."""

    attempts: int = Field(6, ge=1, description="consecutive attempts without progress before a download is given up")
    timeout: float = Field(60, gt=0, description="seconds to wait for an answer, or for its next bytes")
    first_pause: float = Field(1, ge=0, description="seconds before the first retry; doubles with each retry")


class NotFound(EaseError):
    """The server does not have the file."""


class Unreachable(EaseError):
    """The server never answered."""


class TransientError(Exception):
    """An error after which a retry may succeed; `pause`: the seconds that the server asks to wait."""

    def __init__(self, message: str, pause: float = 0, answered: bool = True) -> None:
        super().__init__(message)
        self.pause = pause
        self.answered = answered


class Stopped(Exception):
    """All downloads were cancelled, by the user or after another error."""


class Client:
    """An HTTP client for several threads; use it as a context manager."""

    def __init__(self, options: DownloadOptions) -> None:
        self.options = options
        self.stop = Event()
        self._session = requests.Session()
        contact = ""
        if options.contact:
            contact = f"; {options.contact}"
        agent = f"EASE/{__version__} (sentence embeddings from Wikipedia{contact})"
        # Lengths and checksums refer to the file, not to a compressed transfer.
        self._session.headers.update({"User-Agent": agent, "Accept-Encoding": "identity"})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def text(self, url: str) -> str:
        """Return a short UTF-8 text.

        Raises:
            NotFound: If the server does not have it.
            EaseError: If it cannot be fetched, or is longer than 64 MB.
        """

        def attempt() -> bytes:
            with self.get(url) as response:
                return _read(response, _MAX_TEXT_BYTES + 1, decoded=True)

        content = self.retry(url, attempt)
        if len(content) > _MAX_TEXT_BYTES:
            raise EaseError(f"{url} is not a listing: it has more than {_MAX_TEXT_BYTES >> 20} MB. Check the address.")
        return content.decode("utf-8", errors="replace")

    def size(self, url: str) -> int | None:
        """Return a file's size in bytes; None if the server does not state it."""

        def attempt() -> int | None:
            with self.get(url, method="HEAD") as response:
                return _whole_number(response.headers.get("Content-Length"))

        return self.retry(url, attempt)

    def get(self, url: str, headers: dict[str, str] | None = None, method: str = "GET") -> requests.Response:
        """Send one request; the caller reads the body and closes the response.

        Raises:
            TransientError: If the server is busy or the connection fails.
            EaseError: If the address is invalid, or redirected from HTTPS to HTTP, or the server refuses.
        """
        try:
            response = self._session.request(method, url, headers=headers, stream=True, timeout=self.options.timeout)
        except (requests.ConnectionError, requests.Timeout) as error:
            raise TransientError(_describe(error), answered=False) from error
        # A redirect to a malformed address raises ValueError.
        except (requests.RequestException, ValueError) as error:
            raise EaseError(f"{url} cannot be fetched: {_describe(error)}. Check the address.") from error
        accepted = [200]
        if headers:
            # A range was requested: 206 has it, 416 says that the file ends before it.
            accepted += [206, 416]
        try:
            _check_answer(url, response, accepted)
        except Exception:
            response.close()
            raise
        return response

    def retry(self, url: str, attempt: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """Call `attempt` until it succeeds or its retries are exhausted.

        `attempt` raises TransientError if a retry may succeed. If `progress` has grown, the count of attempts starts
        again.

        Raises:
            Unreachable: If the last attempt failed without an answer.
            EaseError: If the last attempt failed too, or the server asks for too long a pause.
            Stopped: If `stop` was set meanwhile.
        """
        options = self.options
        failures = 0
        farthest = progress()
        while True:
            try:
                return attempt()
            except TransientError as error:
                failure = error
            failures += 1
            # A connection that breaks every few GB still finishes a large file.
            if progress() > farthest:
                failures = 0
                farthest = progress()
            if failures >= options.attempts or failure.pause > _LONGEST_PAUSE:
                fault = f"{url} cannot be fetched: {failure}, at the last of {failures} attempts in a row."
                if failure.answered:
                    raise EaseError(f"{fault} The bytes received so far are kept; try again later.") from failure
                host = urlsplit(url).netloc
                raise Unreachable(f"{fault} Is this machine on the network, and {host} right?") from failure
            # Exponential back-off, with ±25 % jitter so that parallel downloads do not return at once; Retry-After may
            # ask for longer.
            jitter = Random(f"{url} {failures}").uniform(0.75, 1.25)
            backoff = options.first_pause * 2 ** max(0, failures - 1) * jitter
            pause = max(failure.pause, min(_LONGEST_PAUSE, backoff))
            logger.info("%s: %s; retry in %.1f s", url, failure, pause)
            if self.stop.wait(pause):
                raise Stopped


def _check_answer(url: str, response: requests.Response, accepted: Sequence[int]) -> None:
    is_https = [answer.url.startswith("https:") for answer in (*response.history, response)]
    if any(before and not after for before, after in pairwise(is_https)):
        raise EaseError(
            f"{url} is redirected from HTTPS to {response.url}, which anyone on the way can change: refused. Use "
            "another mirror."
        )
    status = response.status_code
    if status in accepted:
        return
    answer = f"{status} {response.reason}".strip()
    if status in _TRANSIENT:
        pause = 0.0
        # A number of seconds, or a date; either may be out of range.
        with suppress(KeyError, InvalidHeader, ValueError, OverflowError):
            pause = max(0.0, Retry().parse_retry_after(response.headers["Retry-After"]))
            answer += f", retry after {pause:.0f} s"
        raise TransientError(answer, pause)
    if status in (404, 410):
        raise NotFound(
            f"{url} does not exist: the server answers {answer}. Check the address, the date and the mirror."
        )
    advice = ""
    if status in (401, 403):
        advice = " Wikimedia's servers refuse programs without a `contact`; other servers may require a licence."
    raise EaseError(f"{url} cannot be fetched: the server answers {answer}.{advice}")


def _whole_number(value: str | None) -> int | None:
    """Return a header's size in bytes; None for anything but digits, or too many for a 64-bit number."""
    if value and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return None


def _read(response: requests.Response, size: int, *, decoded: bool = False) -> bytes:
    try:
        content: bytes = response.raw.read(size, decode_content=decoded)
    except (HTTPError, OSError) as error:
        raise TransientError(_describe(error)) from error
    return content


def _describe(error: BaseException) -> str:
    """Return the type and the innermost reason of a library's error."""
    # requests wraps urllib3's error, which wraps the cause as its `reason`.
    reason = next(iter(error.args), error)
    return f"{type(error).__name__} ({getattr(reason, 'reason', None) or reason})"


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
        """The file of the bytes received so far."""
        return self.path.with_name(f".{self.path.name}.part")

    @property
    def validator_file(self) -> Path:
        """File with the validator (ETag or date) of the partial file."""
        return self.path.with_name(f".{self.path.name}.part.json")

    def is_present(self) -> bool:
        """Return whether the file exists with the right size, or the right checksum if its size is unknown.

        Only a checked file ever gets its name, so the size suffices for files of many gigabytes.
        """
        if not self.path.is_file():
            return False
        if self.size is not None:
            return self.path.stat().st_size == self.size
        return not self.fault(self.path)

    def fault(self, path: Path) -> str:
        """Return how a file differs in size or strongest checksum; empty if it does not."""
        size = path.stat().st_size
        if self.size is not None and size != self.size:
            return f"has {size} bytes, but should have {self.size}"
        algorithm = next((name for name in _ALGORITHMS if name in self.checksums), None)
        if algorithm is None:
            return ""
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, algorithm).hexdigest()
        expected = self.checksums[algorithm].lower()
        if actual == expected:
            return ""
        return f"has the {algorithm} {actual}, but should have {expected}"


def download(file: RemoteFile, client: Client) -> bool:
    """Download a file if missing, and return whether it was; resume its partial file.

    A file with a wrong size or checksum is downloaded once more from the beginning.

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
        with os.fdopen(os.open(file.partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as handle:
            if not try_lock(handle):
                raise EaseError(f"Another process is fetching {file.path}: wait for it, or stop it.")
            try:
                # Another process may have finished it between the first check and the lock.
                if file.is_present():
                    return False
                _receive(file, client, handle)
                flush_to_disk(file.partial)
                os.replace(file.partial, file.path)
            finally:
                # An empty partial file has nothing to resume.
                if not _size_of(file.partial):
                    file.partial.unlink(missing_ok=True)
                    file.validator_file.unlink(missing_ok=True)
    return True


def _receive(file: RemoteFile, client: Client, handle: BinaryIO) -> None:
    for attempt in (1, 2):
        client.retry(file.url, lambda: _request_rest(file, client, handle), lambda: _seek_end(handle))
        handle.flush()
        fault = file.fault(file.partial)
        if not fault:
            return
        # Which byte is wrong is unknown, so nothing of the partial file can be kept.
        handle.truncate(0)
        if attempt == 2:
            raise EaseError(
                f"{file.url} is wrong, twice: what the server sends {fault}. It was not kept; try again later, or "
                "choose another mirror."
            )
        logger.warning("%s is fetched again from the beginning: what was received %s", file.url, fault)


def _size_of(path: Path) -> int:
    if not path.exists():
        return 0
    return path.stat().st_size


def _seek_end(handle: BinaryIO) -> int:
    """Move to the end of the partial file, where the next bytes belong, and return its size."""
    return handle.seek(0, os.SEEK_END)


def _request_rest(file: RemoteFile, client: Client, handle: BinaryIO) -> None:
    """Request the missing bytes and append them, up to a chunk too many, which shows that the body is wrong."""
    with client.get(file.url, _range_headers(file, _seek_end(handle))) as response:
        if response.status_code == 416:
            # The partial file is complete, or too long, which its size or checksum shows.
            return
        stated_size = _begin(file, response, handle)
        received = _seek_end(handle)
        if stated_size is not None:
            check_free_space(file.path.parent, stated_size - received)
        expected_size = file.size
        if expected_size is None:
            expected_size = stated_size
        size_limit = expected_size
        if size_limit is None:
            size_limit = _MAX_UNANNOUNCED_BYTES
        with ProgressBar(
            total=stated_size, initial=received, desc=file.path.name, unit="B", unit_scale=True, delay=2
        ) as bar:
            while received <= size_limit and (chunk := _read(response, _CHUNK_BYTES)):
                handle.write(chunk)
                # A kill then loses at most this chunk.
                handle.flush()
                received += len(chunk)
                bar.update(len(chunk))
                if client.stop.is_set():
                    raise Stopped
    if expected_size is None and received > size_limit:
        handle.truncate(0)
        raise EaseError(
            f"{file.url} has more than {size_limit >> 30} GB, and its size is neither known nor stated by the server: "
            "it was not kept. Choose another mirror, or fetch it by hand."
        )
    if expected_size is not None and received < expected_size:
        raise TransientError(f"the connection broke after {received} of {expected_size} bytes")


def _range_headers(file: RemoteFile, size: int) -> dict[str, str]:
    """Return the headers that request the bytes after a partial file's; none if it has to be fetched anew."""
    note = read_json(file.validator_file) or {}
    validator = None
    if note.get("url") == file.url:
        # The validator of a partial file from another address says nothing.
        validator = note["validator"]
    # Without a validator or a checksum, nothing would show that the server's file has changed since.
    if not size or not (validator or file.checksums):
        return {}
    headers = {"Range": f"bytes={size}-"}
    if validator:
        # The server sends the complete file if it has changed.
        headers["If-Range"] = validator
    return headers


def _begin(file: RemoteFile, response: requests.Response, handle: BinaryIO) -> int | None:
    """Prepare for the response's body, and return the size of the complete file if the server states it."""
    if response.status_code == 206:
        # `bytes FIRST-LAST/TOTAL`
        span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        first = span.partition("-")[0]
        if first != str(_seek_end(handle)):
            handle.truncate(0)
            raise TransientError("the server cannot resume there")
        return _whole_number(total)
    # Login and licence pages are answers with the status 200.
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    if is_page and not file.checksums and file.path.suffix not in (".html", ".htm"):
        raise EaseError(
            f"{file.url} cannot be fetched: the server answers with a web page instead. Open the address in a "
            "browser: it may ask for a login or a licence."
        )
    # The complete file follows, from its first byte.
    handle.truncate(0)
    validator = response.headers.get("ETag")
    # A weak tag does not promise the same bytes (RFC 9110, section 13.1.5).
    if not validator or validator.startswith("W/"):
        validator = response.headers.get("Last-Modified")
    write_text_atomically(file.validator_file, json.dumps({"url": file.url, "validator": validator}))
    return _whole_number(response.headers.get("Content-Length"))


def download_all(files: Sequence[RemoteFile], client: Client, purpose: str = "files") -> int:
    """Download files in parallel and return how many were missing; a failure does not stop the others.

    Raises EaseError with the first three errors if a file failed, or if the disk has too little space.
    """
    missing = [file for file in files if not file.path.exists()]
    if missing:
        sizes = (max(0, (file.size or 0) - _size_of(file.partial)) for file in missing)
        check_free_space(missing[0].path.parent, sum(sizes))
    fetched = 0
    faults = dict[str, None]()
    with ThreadPoolExecutor(client.options.connections) as pool:
        futures = [pool.submit(download, file, client) for file in files]
        try:
            for future in ProgressBar(futures, desc=f"Fetching {purpose}", unit="file", leave=True):
                try:
                    fetched += future.result()
                except EaseError as error:
                    faults[str(error)] = None
        except BaseException:
            # Ctrl-C reaches this thread alone: tell the others, which would finish their files first.
            client.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if faults:
        message = " ".join([*faults][:3])
        if len(faults) > 3:
            message += f" ({len(faults) - 3} more errors like these.)"
        raise EaseError(message)
    return fetched
