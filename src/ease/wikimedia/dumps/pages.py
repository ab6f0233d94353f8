"""Read the pages of a shard, and skip the broken ones with a count."""

from __future__ import annotations

import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple, NoReturn, TypeVar

from lxml import etree

from ease.errors import EaseError
from ease.wikimedia.dumps.files import Shard, read_number, read_siteinfo
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikitext.titles import SiteInfo, redirect_target

DEFAULT_MAX_PAGE_BYTES = 20_000_000
DEFAULT_MAX_PAGE_SECONDS = 60.0
ARTICLES = frozenset({0})
"""The namespace of articles."""

_PAGE_TAG = re.compile(rb"<(/?)page\s*>")
_NAMESPACE = re.compile(rb"<ns>(-?\d{1,9})</ns>")
_OVERLAP = 32  # Bytes kept of a block without a tag, since a tag may span two blocks
_HEAD_BYTES = 4096  # Bytes kept of an oversized page, to report its title
_REPORTED_FAULTS = 5  # Largest number of skipped pages of a shard that are reported for each reason
_FAILURES = "malformed", "failed", "too_slow"
_MIN_PAGES = 100
_MAX_FAILED_SHARE = 0.1  # Share of the pages read, if these are at least `_MIN_PAGES`, that may fail
_TITLE = re.compile(rb"<title>(.*?)</title>", re.DOTALL)
_CONTROLS = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|&#(?:x0*1?[0-9a-fA-F]|0*(?:[12]?[0-9]|3[01]));")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# huge_tree lifts libxml2's limit of 10 MB per text; the size of a page is limited before it is parsed.
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)

Result = TypeVar("Result")


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


class _TooSlowError(Exception):
    """Raised in a page that takes too long."""


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
        """Return what a function reads from a page; None if it fails or takes too much CPU time: the page is skipped.

        The time is limited in the main thread only, and not within a call of compiled code.
        """

        def stop(*_: object) -> NoReturn:
            raise _TooSlowError

        is_limited = threading.current_thread() is threading.main_thread()  # only it receives signals
        before = signal.signal(signal.SIGVTALRM, stop) if is_limited else None
        try:
            try:
                if is_limited:
                    signal.setitimer(signal.ITIMER_VIRTUAL, max_seconds)
                return read(page)
            finally:
                if is_limited:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                    signal.signal(signal.SIGVTALRM, before)
        except EaseError:
            raise
        except _TooSlowError:
            self.skip("too_slow", page.title, f"it takes more than {max_seconds:g} s of CPU time")
        except Exception as error:
            self.skip("failed", page.title, f"{type(error).__name__}: {error}")
        return None

    def check(self, shard: Shard) -> None:
        """Raise EaseError if more than a tenth of at least 100 pages failed."""
        failed = sum(self.skipped[reason] for reason in _FAILURES)
        if self.seen >= _MIN_PAGES and failed > _MAX_FAILED_SHARE * self.seen:
            raise EaseError(
                f"{shard.dump.path}: {failed:,} of the first {self.seen:,} pages from byte {shard.start:,} cannot be "
                f"read ({self.faults[-1]}). If the file is damaged, download it again; else report this as a bug."
            )


def iterate_pages(
    shard: Shard,
    max_page_bytes: int = DEFAULT_MAX_PAGE_BYTES,
    tally: PageTally | None = None,
    namespaces: Collection[int] | None = None,
) -> Iterator[Page]:
    """Yield the readable pages that start in a shard, in the order of the dump; `tally` gets the counts.

    Larger pages than `max_page_bytes` are skipped without being held in memory. Pages of other namespaces than these
    have no text and no other part of their revision (None: all have).

    Raises EaseError if the file is missing, its data do not decode, or too many pages fail. A truncated file is not an
    error but sets `tally.truncated`.
    """
    tally = PageTally() if tally is None else tally
    site = cache(partial(read_siteinfo, shard.dump.path, shard.dump.language))
    faults = {"too_large": f"it has more than {max_page_bytes:,} bytes", "malformed": "it has no closing tag"}
    for content, reason in _scan(shard, max_page_bytes, namespaces, tally):
        tally.check(shard)
        tally.seen += 1
        explanation = faults.get(reason, "")
        if not reason:
            try:
                page = _parse(content, site, namespaces)
            except EaseError:
                raise
            except Exception as error:
                title = _TITLE.search(content[:_HEAD_BYTES])
                reason = "bad_title" if title and _CONTROLS.search(title[1]) else "malformed"
                explanation = str(error)
        if reason:
            title = _TITLE.search(content[:_HEAD_BYTES])
            name = title[1].decode("utf-8", errors="replace") if title else "(without title)"
            tally.skip(reason, name, explanation)
        elif not page.title or _CONTROL.search(page.title):
            tally.skip("bad_title", page.title, "its title is empty or has control characters")
        else:
            yield page
    tally.check(shard)


def _scan(
    shard: Shard, max_page_bytes: int, namespaces: Collection[int] | None, tally: PageTally
) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes of each page that starts in a shard, and what is wrong with them or an empty text.

    Pages in other namespaces than these have no revision (None: all have it). Sets `tally.truncated` at the end.
    """
    stream = DecompressedStream(shard.dump.path, shard.start, shard.end)
    buffer = bytearray()
    # The buffer's decompressed offset from the shard's start, and what of it has been searched.
    base = scanned = 0
    # Decompressed offset of the shard's end, once known; later pages are the next shard's.
    limit: int | None = None
    inside = closed = False  # whether the buffer begins with a page, and the root element has ended
    # Whether the page is oversized: the buffer has only its head and the possible start of a tag.
    huge = False
    owned = shard.start == 0
    for offset, block in stream:
        if limit is None and offset >= shard.end:
            limit = base + len(buffer)
        buffer += block
        while tag := _PAGE_TAG.search(buffer, scanned):
            opens = not tag[1]
            end = tag.start() if opens else tag.end()
            if inside:
                owned = True
                # An opening tag inside a page means that the page was never closed.
                too_large = huge or end > max_page_bytes
                fault = "malformed" if opens else "too_large" if too_large else ""
                yield _content(buffer, end, namespaces), fault
            inside, huge = opens, False
            del buffer[:end]
            base += end
            scanned = tag.end() - end
            if opens:
                closed = False
                if limit is not None and base >= limit:
                    return  # a page of the next shard
        if inside:
            huge = huge or len(buffer) > max_page_bytes
            start, end = _HEAD_BYTES, len(buffer) - _OVERLAP if huge else 0
        else:
            closed = closed or buffer.find(b"</mediawiki") >= 0
            start, end = 0, len(buffer) - _OVERLAP
        if end > start:
            del buffer[start:end]
            base += end - start
        scanned = max(len(b"<page>"), len(buffer) - _OVERLAP) if inside else 0
    # Only the shard in which the last page starts reads the end of the file, so only it reports truncation.
    if owned or inside:
        tally.truncated = stream.truncated or inside or not closed


def _content(buffer: bytearray, end: int, namespaces: Collection[int] | None) -> bytes:
    """Return the page that ends at an offset; without its revision if its namespace is not wanted."""
    if namespaces is not None:
        head = bytes(buffer[: max(0, buffer.find(b"<revision", 0, end))])
        if (found := _NAMESPACE.search(head)) and int(found[1]) not in namespaces:
            return head + b"</page>"
    return bytes(memoryview(buffer)[:end])


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
    """Read one `<page>` element; `site` is asked for pages without a namespace, as of dumps before schema 0.6."""
    parts = _children(etree.fromstring(content, _PARSER))
    title, number = _text_of(parts, "title"), _text_of(parts, "ns")
    namespace = read_number(number) if number else 0
    if not number and ":" in title:
        prefix = title.partition(":")[0].replace("_", " ").strip().lower()
        namespace = site().namespaces.get(prefix, 0)
    revision: dict[str, etree._Element] = {}
    if namespaces is None or namespace in namespaces:
        if "revision" not in parts:
            raise ValueError("it has no revision")
        revision = _children(reversed(parts["revision"]))
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


def _children(elements: Iterable[etree._Element]) -> dict[str, etree._Element]:
    return {str(element.tag).rpartition("}")[2]: element for element in elements}


def _text_of(parts: dict[str, etree._Element], name: str) -> str:
    element = parts.get(name)
    return "" if element is None else element.text or ""
