"""Read the pages of a shard, and skip the broken ones with a count."""

from __future__ import annotations

import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple, NoReturn, TypeVar

from lxml import etree

from ease.errors import EaseError
from ease.wikimedia.dumps.files import Shard, read_number, read_siteinfo
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikitext.titles import SiteInfo, redirect_target

HEAD_BYTES = 4096
"""Bytes kept of an oversized page, to report its title."""

_PAGE_TAG = re.compile(rb"<(/?)page\s*>")
_NAMESPACE = re.compile(rb"<ns>(-?\d{1,9})</ns>")
_REVISION = b"<revision"
_END_TAG = b"</mediawiki"
_OVERLAP = 32
"""Bytes kept of a block without a tag, since a tag may span two blocks."""

RawPage = tuple[bytes, str | None]
"""The bytes of a page, and what is wrong with them."""


class PageScanner:
    """The pages that start in a shard.

    Attributes:
        truncated: After the iteration, whether the file ends inside a page, inside its compressed data, or without
            `</mediawiki>`.
    """

    def __init__(self, shard: Shard, max_page_bytes: int, namespaces: Collection[int] | None) -> None:
        """Prepare to read; pages in other namespaces than these are yielded without their revision (None: with it)."""
        self.truncated = False
        self._shard = shard
        self._max_page_bytes = max_page_bytes
        self._namespaces = namespaces
        self._buffer = bytearray()
        self._base = 0
        """Decompressed offset of the buffer from the start of the shard."""
        self._limit: int | None = None
        """Decompressed offset of the shard's end, once known; later pages belong to the next shard."""
        self._inside = False
        self._huge = False
        """The page is oversized: the buffer has only its head and the possible start of a tag."""
        self._scanned = 0
        self._closed = False
        self._done = False
        """A page of the next shard has started."""

    def __iter__(self) -> Iterator[RawPage]:
        start, end = self._shard.start, self._shard.end
        stream = DecompressedStream(self._shard.dump.path, start, end)
        owned = start == 0
        for offset, block in stream:
            if self._limit is None and offset >= end:
                self._limit = self._base + len(self._buffer)
            self._buffer += block
            for page in self._complete_pages():
                owned = True
                yield page
            if self._done:
                return
        # Only the shard in which the last page starts reads the end of the file, so only it reports truncation.
        if owned or self._inside:
            self.truncated = stream.truncated or self._inside or not self._closed

    def _complete_pages(self) -> Iterator[RawPage]:
        """Yield the pages that end in the buffer, and remove them from it."""
        while tag := _PAGE_TAG.search(self._buffer, self._scanned):
            opens = not tag[1]
            if self._inside:
                # An opening tag inside a page means that the page was never closed.
                fault = "malformed" if opens else "too_large" if self._is_too_large(tag.end()) else None
                yield self._content(tag.start() if opens else tag.end()), fault
            self._inside, self._huge = opens, False
            if not opens:
                self._forget(tag.end())
                continue
            self._closed = False
            self._forget(tag.start())
            self._scanned = tag.end() - tag.start()
            if self._limit is not None and self._base >= self._limit:
                self._inside, self._done = False, True
                return
        self._keep_open_end()

    def _content(self, end: int) -> bytes:
        """Return the page that ends at an offset; without its revision if its namespace is not wanted."""
        if self._namespaces is not None:
            head = bytes(self._buffer[: max(0, self._buffer.find(_REVISION, 0, end))])
            if (found := _NAMESPACE.search(head)) and int(found[1]) not in self._namespaces:
                return head + b"</page>"
        return bytes(memoryview(self._buffer)[:end])

    def _is_too_large(self, size: int) -> bool:
        return self._huge or size > self._max_page_bytes

    def _keep_open_end(self) -> None:
        if not self._inside:
            self._closed = self._closed or self._buffer.find(_END_TAG) >= 0
            self._forget(max(0, len(self._buffer) - _OVERLAP))
            return
        if self._is_too_large(len(self._buffer)):
            self._huge = True
            surplus = len(self._buffer) - HEAD_BYTES - _OVERLAP
            if surplus > 0:
                del self._buffer[HEAD_BYTES : HEAD_BYTES + surplus]
                self._base += surplus
        self._scanned = max(len(b"<page>"), len(self._buffer) - _OVERLAP)

    def _forget(self, size: int) -> None:
        del self._buffer[:size]
        self._base += size
        self._scanned = 0


DEFAULT_MAX_PAGE_BYTES = 20_000_000
DEFAULT_MAX_PAGE_SECONDS = 60.0
_REPORTED_FAULTS = 5
"""Largest number of skipped pages of a shard that are reported for each reason."""

ARTICLES = frozenset({0})
"""The namespace of articles."""
_FAILURES = "malformed", "failed", "too_slow"
_MIN_PAGES = 100
_MAX_FAILED_SHARE = 0.1
"""Share of the pages read, if these are at least `_MIN_PAGES`, that may fail."""

_TITLE = re.compile(rb"<title>(.*?)</title>", re.DOTALL)
_CONTROLS = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|&#(?:x0*1?[0-9a-fA-F]|0*(?:[12]?[0-9]|3[01]));")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# huge_tree lifts libxml2's limit of 10 MB per text; the size of a page is limited before it is parsed.
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)


class Page(NamedTuple):
    """A page with its last revision; without its revision if it is in a namespace that is not wanted.

    `redirect` is the target in the dump's `<redirect>` element; `timestamp` is of the revision, as in the dump
    (2024-05-01T12:00:00Z), or empty.
    """

    page_id: int
    title: str
    namespace: int
    revision_id: int
    redirect: str | None
    text: str
    model: str
    timestamp: str = ""


Result = TypeVar("Result")


@dataclass
class PageTally:
    """Counts from reading a shard.

    Attributes:
        seen: Pages that start in the shard.
        skipped: Number of skipped pages by reason, of those that could not be read.
        faults: Messages about the first few skipped pages of each reason.
        truncated: Whether the file ends inside a page, inside its compressed data, or without `</mediawiki>`.
    """

    seen: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    truncated: bool = False

    def skip(self, reason: str, title: str, explanation: str) -> None:
        """Count a skipped page, and add a message for the first few."""
        self.skipped[reason] += 1
        if self.skipped[reason] <= _REPORTED_FAULTS:
            self.faults.append(f"page {title[:200]!r} is skipped: {' '.join(explanation.split())[:200]}")

    def attempt(self, page: Page, read: Callable[[Page], Result], max_seconds: float) -> Result | None:
        """Return what a function reads from a page; None if it fails or takes too long: the page is skipped.

        The time is limited in the main thread only, and not within a call of compiled code.
        """
        try:
            return _within(max_seconds, read, page)
        except EaseError:
            raise
        except _TooSlowError:
            self.skip("too_slow", page.title, f"it takes more than {max_seconds:g} s of CPU time")
        except Exception as error:
            self.skip("failed", page.title, f"{type(error).__name__}: {error}")
        return None

    def check(self, shard: Shard) -> None:
        """Stop if too many pages failed.

        Raises:
            EaseError: More than a tenth of at least 100 pages.
        """
        failed = sum(self.skipped[reason] for reason in _FAILURES)
        if self.seen >= _MIN_PAGES and failed > _MAX_FAILED_SHARE * self.seen:
            raise EaseError(
                f"{shard.dump.path}: {failed:,} of the first {self.seen:,} pages from byte {shard.start:,} cannot be "
                f"read ({self.faults[-1]}). If the file is damaged, download it again; else report this as a bug."
            )


class _TooSlowError(Exception):
    """Raised in a page that takes too long."""


def _within(seconds: float, read: Callable[[Page], Result], page: Page) -> Result:
    """Call a function, and raise _TooSlowError after a number of seconds of the process's CPU time."""
    if threading.current_thread() is not threading.main_thread():
        return read(page)  # only the main thread receives signals

    def stop(*_: object) -> NoReturn:
        raise _TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        return read(page)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def iterate_pages(
    shard: Shard,
    max_page_bytes: int = DEFAULT_MAX_PAGE_BYTES,
    tally: PageTally | None = None,
    namespaces: Collection[int] | None = None,
) -> Iterator[Page]:
    """Yield the readable pages that start in a shard, in the order of the dump.

    Args:
        shard: Byte range of a dump file.
        max_page_bytes: Larger pages are skipped without being held in memory.
        tally: Gets the counts.
        namespaces: Pages of other namespaces have no text and no other part of their revision; None: all pages have.

    Raises:
        EaseError: The file is missing, its data do not decode, or too many pages fail. A truncated file is not an
            error but sets `tally.truncated`.
    """
    tally = PageTally() if tally is None else tally
    site = cache(partial(read_siteinfo, shard.dump.path, shard.dump.language))
    scanner = PageScanner(shard, max_page_bytes, namespaces)
    for content, fault in scanner:
        tally.check(shard)
        tally.seen += 1
        if fault:
            too_large = f"it has more than {max_page_bytes:,} bytes"
            tally.skip(
                fault, _raw_title(content), too_large if fault == "too_large" else "it has no closing tag"
            )
            continue
        try:
            page = _parse(content, site, namespaces)
        except EaseError:
            raise
        except Exception as error:
            title = _TITLE.search(content[:HEAD_BYTES])
            reason = "bad_title" if title and _CONTROLS.search(title[1]) else "malformed"
            tally.skip(reason, _raw_title(content), str(error))
            continue
        if not page.title or _CONTROL.search(page.title):
            tally.skip("bad_title", page.title, "its title is empty or has control characters")
            continue
        yield page
    tally.truncated = scanner.truncated
    tally.check(shard)


def redirect_of(page: Page, site: SiteInfo) -> str | None:
    """Return the title that a page redirects to, by the dump or by its wikitext; None for other pages."""
    return page.redirect or (redirect_target(page.text, site) if page.model == "wikitext" else None)


def reason_to_skip(page: Page, site: SiteInfo) -> str | None:
    """Return why a page is not an article: other_namespace, redirect, not_wikitext or empty; None for an article."""
    if page.namespace not in ARTICLES:
        return "other_namespace"
    if redirect_of(page, site) is not None:
        return "redirect"
    return "not_wikitext" if page.model != "wikitext" else None if page.text.strip() else "empty"


def _parse(content: bytes, site: Callable[[], SiteInfo], namespaces: Collection[int] | None) -> Page:
    """Read one `<page>` element; `site` is asked for pages without a namespace, as of dumps before schema 0.6.

    Raises:
        XMLSyntaxError: The element is not well-formed.
        ValueError: A required element is missing, or an id is not a number.
    """
    page = etree.fromstring(content, _PARSER)
    parts = {_local_name(child): child for child in page}
    title, number = _text_of(parts, "title"), _text_of(parts, "ns")
    namespace = read_number(number) if number else 0
    if not number and ":" in title:
        prefix = title.partition(":")[0].replace("_", " ").strip().lower()
        namespace = site().namespaces.get(prefix, 0)
    revision: dict[str, etree._Element] = {}
    if namespaces is None or namespace in namespaces:
        if "revision" not in parts:
            raise ValueError("it has no revision")
        revision = {_local_name(child): child for child in reversed(parts["revision"])}
    redirect = parts.get("redirect")
    return Page(
        page_id=read_number(_text_of(parts, "id")),
        title=title,
        namespace=namespace,
        revision_id=read_number(_text_of(revision, "id") or "0"),
        redirect=None if redirect is None else redirect.get("title"),
        text=_text_of(revision, "text"),
        model=_text_of(revision, "model") or "wikitext",
        timestamp=_text_of(revision, "timestamp"),
    )


def _local_name(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _text_of(parts: dict[str, etree._Element], name: str) -> str:
    element = parts.get(name)
    return "" if element is None else element.text or ""


def _raw_title(content: bytes) -> str:
    """Return the title of a page that could not be parsed."""
    title = _TITLE.search(content[:HEAD_BYTES])
    return title[1].decode("utf-8", errors="replace") if title else "(without title)"
