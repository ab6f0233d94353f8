"""Requests that survive a busy or broken server: who asks, how often, and what an answer means."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from random import Random
from threading import Event
from typing import NoReturn, TypeVar
from urllib.parse import urlsplit

import requests
from pydantic import BaseModel, ConfigDict, Field
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util import Retry

from ease import __version__
from ease.errors import EaseError

logger = logging.getLogger(__name__)

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another attempt may better (RFC 9110, RFC 6585)."""

_MOST_TEXT_BYTES = 64 << 20

T = TypeVar("T")


class DownloadOptions(BaseModel):
    """How to ask servers for files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connections: int = Field(
        2, ge=1, le=8, description="files fetched at once; Wikimedia asks for two at most"
    )
    attempts: int = Field(
        6, ge=1, description="attempts in a row that bring nothing, after which a file is given up"
    )
    timeout: float = Field(60, gt=0, description="seconds to wait for an answer, or for its next bytes")
    first_pause: float = Field(1, ge=0, description="seconds before the second attempt; doubles with each")
    longest_pause: float = Field(
        600, gt=0, description="seconds; a server that asks for more is not waited for"
    )
    contact: str | None = Field(
        None, description="an e-mail or web address, told to servers: Wikimedia refuses anonymous programs"
    )


class NotFound(EaseError):
    """The server has nothing at that address."""


class Unreachable(EaseError):
    """The server did not answer at all, however often it was asked."""


class PassingFault(Exception):
    """What another attempt may mend."""

    def __init__(self, words: str, pause: float | None = None, answered: bool = True) -> None:
        super().__init__(words)
        self.pause = pause
        self.answered = answered


class Stopped(Exception):
    """The whole of the downloads was given up, by the user or for another fault."""


class Client:
    """A polite HTTP client; use it as a context manager. Several threads may share it."""

    def __init__(self, options: DownloadOptions) -> None:
        self.options = options
        self.stop = Event()
        self._session = requests.Session()
        contact = f"; {options.contact}" if options.contact else ""
        self._session.headers.update(
            {
                "User-Agent": f"EASE/{__version__} (sentence embeddings from Wikipedia{contact})",
                # A length and a checksum are those of the file, not of a packed transfer.
                "Accept-Encoding": "identity",
            }
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def text(self, url: str) -> str:
        """Fetch a short text in UTF-8.

        Raises:
            NotFound: If the server has no such address.
            EaseError: If it cannot be had, or is longer than 64 MB.
        """

        def attempt() -> str:
            with closing(self.get(url)) as response:
                if response.status_code != 200:
                    refuse(url, response)
                try:
                    content: bytes = response.raw.read(_MOST_TEXT_BYTES + 1, decode_content=True)
                except (HTTPError, OSError) as error:
                    raise PassingFault(words_of(error)) from error
            if len(content) > _MOST_TEXT_BYTES:
                raise EaseError(f"{url} is no listing: it has more than {_MOST_TEXT_BYTES >> 20} MB.")
            return content.decode("utf-8", errors="replace")

        return self.persist(url, attempt)

    def size(self, url: str) -> int | None:
        """Ask for a file's bytes; None where the server does not tell."""

        def attempt() -> int | None:
            with closing(self.get(url, method="HEAD")) as response:
                if response.status_code != 200:
                    refuse(url, response)
                length = response.headers.get("Content-Length", "")
                return int(length) if length.isdigit() else None

        return self.persist(url, attempt)

    def get(self, url: str, headers: dict[str, str] | None = None, method: str = "GET") -> requests.Response:
        """Send one request; its body is read by the caller.

        Raises:
            PassingFault: If the server is busy or the connection fails.
            EaseError: If the address is none.
        """
        try:
            response = self._session.request(
                method,
                url,
                headers=headers,
                stream=True,
                timeout=self.options.timeout,
                allow_redirects=True,
            )
        except (requests.ConnectionError, requests.Timeout) as error:
            raise PassingFault(words_of(error), answered=False) from error
        except requests.RequestException as error:
            raise EaseError(f"{url} cannot be fetched: {words_of(error)}.") from error
        if response.status_code in _PASSING:
            pause = _asked_pause(response)
            response.close()
            raise PassingFault(f"{response.status_code} {response.reason}", pause)
        return response

    def persist(self, url: str, attempt: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """Attempt something again and again, as long as it may still succeed.

        Args:
            url: What it is about.
            attempt: Raises PassingFault where another attempt is worth it.
            progress: How far it has come; attempts are counted anew when it has come further than ever.

        Raises:
            Unreachable: If no attempt was answered.
            EaseError: If the last attempt failed, too, or the server asks for too long a pause.
            Stopped: If `stop` was set meanwhile.
        """
        failures, farthest, answered = 0, progress(), False
        while True:
            try:
                return attempt()
            except PassingFault as fault:
                answered = answered or fault.answered
                failures = 0 if progress() > farthest else failures + 1
                farthest = max(farthest, progress())
                pause = self._pause(url, failures, fault, answered)
                logger.info("%s: %s; the next attempt is in %.1f s", url, fault, pause)
            if self.stop.wait(pause):
                raise Stopped

    def _pause(self, url: str, failures: int, fault: PassingFault, answered: bool) -> float:
        """Choose how long to wait: what the server asks for, else doubling, with a seeded quarter less or more."""
        options = self.options
        if failures >= options.attempts:
            words = f"{url} cannot be fetched: {fault}, at the last of {options.attempts} attempts in a row."
            if answered:
                raise EaseError(f"{words} What has arrived is kept; try again later.")
            raise Unreachable(f"{words} Is this machine on the network, and {urlsplit(url).netloc} right?")
        if fault.pause is not None and fault.pause > options.longest_pause:
            raise EaseError(
                f"{url} cannot be fetched now: the server asks to come back in {fault.pause:.0f} s. What has arrived "
                "is kept; try again then."
            )
        jitter = Random(f"{url} {failures}").uniform(0.75, 1.25)
        doubling = min(options.longest_pause, options.first_pause * 2 ** max(0, failures - 1) * jitter)
        return max(doubling, fault.pause or 0)


def refuse(url: str, response: requests.Response) -> NoReturn:
    """Say what an answer means that no further attempt would change.

    Raises:
        NotFound: If nothing is at the address.
        EaseError: Otherwise.
    """
    answer = f"{response.status_code} {response.reason}".strip()
    if response.status_code in (404, 410):
        raise NotFound(f"{url} does not exist: the server answers {answer}.")
    advice = ""
    if response.status_code in (401, 403):
        advice = " Wikimedia's servers refuse programs that name no `contact`; others may want a licence agreed to."
    raise EaseError(f"{url} cannot be fetched: the server answers {answer}.{advice}")


def _asked_pause(response: requests.Response) -> float | None:
    """Read `Retry-After`, in seconds or as a date."""
    asked = response.headers.get("Retry-After")
    if asked is None:
        return None
    try:
        return max(0.0, Retry().parse_retry_after(asked))
    except InvalidHeader:
        return None


def words_of(error: BaseException) -> str:
    """Say in a few words what a library's error says in many."""
    reason = error.args[0] if error.args else error
    reason = getattr(reason, "reason", None) or reason
    return f"{type(error).__name__} ({reason})"
