"""HTTP client with retries, exponential back-off and readable errors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import pairwise
from random import Random
from threading import Event
from typing import NoReturn, TypeVar
from urllib.parse import urlsplit

import requests
from pydantic import Field
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util import Retry

from ease import __version__
from ease.errors import EaseError
from ease.io.models import StrictModel

logger = logging.getLogger(__name__)

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which a retry may succeed (RFC 9110, RFC 6585)."""

_MAX_TEXT_BYTES = 64 << 20

T = TypeVar("T")


class ConnectionOptions(StrictModel):
    """Connections and identification of downloads."""

    connections: int = Field(
        3, ge=1, le=3, description="parallel downloads; Wikimedia asks for at most three"
    )
    contact: str | None = Field(
        None, description="an e-mail or web address, sent to servers: Wikimedia refuses anonymous programs"
    )


class DownloadOptions(ConnectionOptions):
    """Connections, identification and retries of downloads."""

    attempts: int = Field(
        6, ge=1, description="consecutive attempts without progress before a download is given up"
    )
    timeout: float = Field(60, gt=0, description="seconds to wait for an answer, or for its next bytes")
    first_pause: float = Field(1, ge=0, description="seconds before the first retry; doubles with each retry")
    longest_pause: float = Field(
        600, gt=0, description="longest pause in seconds; a server that asks for a longer one is an error"
    )


class NotFound(EaseError):
    """The server does not have the file."""


class Unreachable(EaseError):
    """The server never answered."""


class TransientError(Exception):
    """An error after which a retry may succeed."""

    def __init__(self, message: str, pause: float | None = None, answered: bool = True) -> None:
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
        contact = f"; {options.contact}" if options.contact else ""
        self._session.headers.update(
            {
                "User-Agent": f"EASE/{__version__} (sentence embeddings from Wikipedia{contact})",
                # Lengths and checksums refer to the file, not to a compressed transfer.
                "Accept-Encoding": "identity",
            }
        )

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

        def attempt() -> str:
            with closing(self.get(url)) as response:
                if response.status_code != 200:
                    raise_for_answer(url, response)
                try:
                    content: bytes = response.raw.read(_MAX_TEXT_BYTES + 1, decode_content=True)
                except (HTTPError, OSError) as error:
                    raise TransientError(describe(error)) from error
            if len(content) > _MAX_TEXT_BYTES:
                raise EaseError(
                    f"{url} is not a listing: it has more than {_MAX_TEXT_BYTES >> 20} MB. Check the address."
                )
            return content.decode("utf-8", errors="replace")

        return self.retry(url, attempt)

    def size(self, url: str) -> int | None:
        """Return a file's size in bytes; None if the server does not state it."""

        def attempt() -> int | None:
            with closing(self.get(url, method="HEAD")) as response:
                if response.status_code != 200:
                    raise_for_answer(url, response)
                return content_length(response)

        return self.retry(url, attempt)

    def get(self, url: str, headers: dict[str, str] | None = None, method: str = "GET") -> requests.Response:
        """Send one request; the caller reads the body.

        Raises:
            TransientError: If the server is busy or the connection fails.
            EaseError: If the address is invalid, or redirected from HTTPS to HTTP.
        """
        try:
            response = self._session.request(
                method, url, headers=headers, stream=True, timeout=self.options.timeout, allow_redirects=True
            )
        except (requests.ConnectionError, requests.Timeout) as error:
            raise TransientError(describe(error), answered=False) from error
        except (requests.RequestException, ValueError) as error:  # ValueError: of an address in a redirect
            raise EaseError(f"{url} cannot be fetched: {describe(error)}. Check the address.") from error
        addresses = [url, *(passed.url for passed in response.history), response.url]
        if any(
            before.startswith("https:") and not after.startswith("https:")
            for before, after in pairwise(addresses)
        ):
            response.close()
            raise EaseError(
                f"{url} is redirected from HTTPS to {response.url}, which anyone on the way can change: refused. Use "
                "another mirror."
            )
        if response.status_code in _TRANSIENT:
            pause = None
            # A number of seconds, or a date; either may be out of range.
            with suppress(KeyError, InvalidHeader, ValueError, OverflowError):
                pause = max(0.0, Retry().parse_retry_after(response.headers["Retry-After"]))
            response.close()
            raise TransientError(f"{response.status_code} {response.reason}", pause)
        return response

    def retry(self, url: str, attempt: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """Call `attempt` until it succeeds or its retries are exhausted.

        `attempt` raises TransientError if a retry may succeed. `progress` returns a number; if it has grown, the count
        of attempts starts again.

        Raises:
            Unreachable: If no attempt was answered.
            EaseError: If the last attempt failed too, or the server asks for too long a pause.
            Stopped: If `stop` was set meanwhile.
        """
        failures, farthest, answered = 0, progress(), False
        while True:
            try:
                return attempt()
            except TransientError as error:
                answered = answered or error.answered
                failures = 0 if progress() > farthest else failures + 1
                farthest = max(farthest, progress())
                pause = self._pause(url, failures, error, answered)
                logger.info("%s: %s; retry in %.1f s", url, error, pause)
            if self.stop.wait(pause):
                raise Stopped

    def _pause(self, url: str, failures: int, error: TransientError, answered: bool) -> float:
        """Return Retry-After if given, else exponential back-off with ±25 % jitter."""
        options = self.options
        if failures >= options.attempts:
            message = (
                f"{url} cannot be fetched: {error}, at the last of {options.attempts} attempts in a row."
            )
            if answered:
                raise EaseError(f"{message} The bytes received so far are kept; try again later.")
            raise Unreachable(f"{message} Is this machine on the network, and {urlsplit(url).netloc} right?")
        if error.pause is not None and error.pause > options.longest_pause:
            raise EaseError(
                f"{url} cannot be fetched now: the server asks to come back in {error.pause:.0f} s. The bytes received "
                "so far are kept; try again then."
            )
        jitter = Random(f"{url} {failures}").uniform(0.75, 1.25)
        backoff = min(options.longest_pause, options.first_pause * 2 ** max(0, failures - 1) * jitter)
        return max(backoff, error.pause or 0)


def raise_for_answer(url: str, response: requests.Response) -> NoReturn:
    """Raise the error that a permanent refusal means.

    Raises:
        NotFound: If the server does not have the file.
        EaseError: Otherwise.
    """
    answer = f"{response.status_code} {response.reason}".strip()
    if response.status_code in (404, 410):
        raise NotFound(
            f"{url} does not exist: the server answers {answer}. Check the address, the date and the mirror."
        )
    advice = ""
    if response.status_code in (401, 403):
        advice = (
            " Wikimedia's servers refuse programs without a `contact`; other servers may require a licence."
        )
    raise EaseError(f"{url} cannot be fetched: the server answers {answer}.{advice}")


def content_length(response: requests.Response) -> int | None:
    """Return the length that a response states."""
    return whole_number(response.headers.get("Content-Length"))


def whole_number(value: object) -> int | None:
    """Return a size that a server states as a number or in digits; None for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def describe(error: BaseException) -> str:
    """Return the type and the innermost reason of a library's error."""
    reason = error.args[0] if error.args else error
    reason = getattr(reason, "reason", None) or reason
    return f"{type(error).__name__} ({reason})"
