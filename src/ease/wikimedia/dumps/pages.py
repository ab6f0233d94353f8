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

_PREFIX = rb"(?:[A-Za-z][\w.-]{0,15}:)?"
# The opening tag may have attributes; group 1 is its prefix, which MediaWiki's exports do not have.
_PAGE_TAG = re.compile(rb"<(%b)page(?=[\s>/])|</%bpage\s*>" % (_PREFIX, _PREFIX))
_NAMESPACE = re.compile(rb"<ns>(-?\d{1,9})</ns>")
# Bytes kept of a block without a tag, since a tag may span two blocks.
_OVERLAP = 32
# Bytes kept of an oversized page, to report its title.
_HEAD_BYTES = 4096
# Largest number of skipped pages of a shard that are reported for each reason.
_REPORTED_FAULTS = 5
_FAILURES = "malformed", "failed", "too_slow"
# Single pages may fail in any dump. A larger share, of at least this many pages, means a damaged file or a bug.
_MIN_PAGES = 100
_MAX_FAILED_SHARE = 0.1
_TITLE = re.compile(rb"<title>(.*?)</title>", re.DOTALL)
_CONTROLS = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|&#(?:x0*1?[0-9a-fA-F]|0*(?:[12]?[0-9]|3[01]));")
_TIME = re.compile(r"\d{4}-\d\d-")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# huge_tree lifts libxml2's limit of 10 MB per text; the size of a page is limited before it is parsed.
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)

_PageResult = TypeVar("_PageResult")

PageContent = tuple[bytes, str]
"""The XML of a page, and the fault for which it is not read: `too_large`, `malformed` or none."""


class Page(NamedTuple):
    """A page with its newest revision; without any revision if its namespace was not requested.

    `redirect` is the target in the dump's `<redirect>` element. `timestamp` is the revision's, as in the dump
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
    """Raised in a page that takes too much CPU time."""


@dataclass
class PageTally:
    """Counts from reading a shard.

    Attributes:
        seen: Pages that start in the shard.
        skipped: Unreadable pages by reason.
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

    def attempt(self, page: Page, read: Callable[[Page], _PageResult], max_seconds: float) -> _PageResult | None:
        """Return a function's result for a page; None if the function fails or takes too much CPU time.

        Such a page counts as skipped. The time is limited in the main thread only, and not within a call of compiled
        code.
        """

        def stop(*_: object) -> NoReturn:
            raise _TooSlowError

        # Only the main thread receives signals.
        is_limited = threading.current_thread() is threading.main_thread()
        before = None
        if is_limited:
            before = signal.signal(signal.SIGVTALRM, stop)
        try:
            # The outer block also catches a signal that arrives while the inner one switches the timer off.
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
    skip_others: bool = False,
    contents: Iterable[PageContent] | None = None,
) -> Iterator[Page]:
    """Yield the readable pages that start in a shard, in the order of the dump; `tally` gets the counts.

    Larger pages than `max_page_bytes` are skipped without being held in memory. Pages of other namespaces than
    `namespaces` have no text and no other part of their revision (None: all namespaces). With `skip_others`, they are
    neither parsed nor counted, unless they lack the number of their namespace, as in dumps before schema 0.6.
    `contents` has the shard's pages if they were scanned before (None: the dump is read).

    Raises EaseError if the file is missing, its data do not decode, or too many pages fail. A truncated file is not an
    error but sets `tally.truncated`.
    """
    if tally is None:
        tally = PageTally()
    # Few dumps need their header here (`_parse`), so it is read at most once and only on demand.
    site = cache(partial(read_siteinfo, shard.dump.path, shard.dump.language))
    faults = {"too_large": f"it has more than {max_page_bytes:,} bytes", "malformed": "it has no closing tag"}
    if contents is None:
        contents = scan_pages(shard, max_page_bytes, namespaces, tally)
    for content, reason in filter(_in_namespaces(namespaces if skip_others else None), contents):
        tally.check(shard)
        tally.seen += 1
        explanation = faults.get(reason, "")
        if not reason:
            try:
                page = _parse(content, site, namespaces)
            except EaseError:
                raise
            except Exception as error:
                reason = "malformed"
                # lxml refuses control characters: then the title is at fault, not the XML's structure.
                if _CONTROLS.search(_title_in(content)):
                    reason = "bad_title"
                explanation = str(error)
        if reason:
            tally.skip(reason, _title_in(content).decode("utf-8", errors="replace"), explanation)
        elif not page.title or _CONTROL.search(page.title):
            tally.skip("bad_title", page.title, "its title is empty or has control characters")
        else:
            yield page
    tally.check(shard)


def _title_in(content: bytes) -> bytes:
    """Return the title of a page that cannot be parsed."""
    title = _TITLE.search(content[:_HEAD_BYTES])
    if title is None:
        return b"(without title)"
    return title[1]


def scan_pages(
    shard: Shard, max_page_bytes: int, namespaces: Collection[int] | None, tally: PageTally
) -> Iterator[PageContent]:
    """Yield the pages that start in a shard, not parsed.

    Pages of other namespaces than `namespaces` have no revision (None: all have it). Sets `tally.truncated` at the end.
    """
    stream = DecompressedStream(shard.dump.path, shard.start, shard.end)
    buffer = bytearray()
    # The buffer's decompressed offset from the shard's start, and the length of its searched part.
    base = 0
    scanned = 0
    # Decompressed offset of the shard's end, once the stream has passed it; later pages are the next shard's.
    limit: int | None = None
    # Whether the buffer begins with a page, and whether the root element has ended.
    inside = False
    closed = False
    # Whether the page is oversized: the buffer has only its head and the possible start of a tag.
    huge = False
    has_page = shard.start == 0
    for offset, block in stream:
        if limit is None and offset >= shard.end:
            limit = base + len(buffer)
        buffer += block
        while tag := _find_tag(buffer, scanned, shard):
            opens = tag[1] is not None
            end = tag.start() if opens else tag.end()
            if inside:
                has_page = True
                size_fault = "too_large" if huge or end > max_page_bytes else ""
                # An opening tag inside a page means that the page was never closed.
                fault = "malformed" if opens else size_fault
                yield requested_content(buffer, end, namespaces), fault
            inside = opens
            huge = False
            del buffer[:end]
            base += end
            scanned = tag.end() - end
            if opens:
                closed = False
                if limit is not None and base >= limit:
                    # The next shard owns this page.
                    return
        # Drop the bytes that no page needs any more: an oversized page or other data may be longer than the memory.
        if inside:
            huge = huge or len(buffer) > max_page_bytes
            start = _HEAD_BYTES
            end = len(buffer) - _OVERLAP if huge else 0
        else:
            closed = closed or buffer.find(b"</mediawiki") >= 0
            start = 0
            end = len(buffer) - _OVERLAP
        if end > start:
            del buffer[start:end]
            base += end - start
        scanned = max(len(b"<page>"), len(buffer) - _OVERLAP) if inside else 0
    # Only the shard in which the last page starts reads the end of the file, so only it reports truncation.
    if has_page or inside:
        tally.truncated = stream.truncated or inside or not closed


def _find_tag(buffer: bytearray, start: int, shard: Shard) -> re.Match[bytes] | None:
    """Return the next tag of a page; raises EaseError if the tag has a prefix."""
    tag = _PAGE_TAG.search(buffer, start)
    if tag and tag[1]:
        raise EaseError(
            f"{shard.dump.path} has pages in elements <{tag[1].decode()}page>, where MediaWiki's exports have <page>: "
            "remove the prefix from the file's elements."
        )
    return tag


def _in_namespaces(namespaces: Collection[int] | None) -> Callable[[PageContent], bool]:
    """Return a function that tells whether a page may be in one of the namespaces; None: every page is."""

    def is_inside(page: PageContent) -> bool:
        # The number follows the title, which has at most 255 bytes. Old dumps lack the number.
        match = _NAMESPACE.search(page[0], 0, _HEAD_BYTES)
        return namespaces is None or match is None or int(match[1]) in namespaces

    return is_inside


def requested_content(buffer: bytes | bytearray, end: int, namespaces: Collection[int] | None) -> bytes:
    """Return the page that ends at an offset; without its revision if its namespace was not requested."""
    if namespaces is not None:
        # Parsing the XML of a revision that nobody reads would take most of the time.
        head = bytes(buffer[: max(0, buffer.find(b"<revision", 0, end))])
        match = _NAMESPACE.search(head)
        if match and int(match[1]) not in namespaces:
            return head + b"</page>"
    # One copy: slicing a bytearray would copy the page before `bytes` does.
    return bytes(memoryview(buffer)[:end])


def redirect_of(page: Page, site: SiteInfo) -> str | None:
    """Return the title that a page redirects to, by the dump or by its wikitext; None for other pages."""
    if page.redirect or page.model != "wikitext":
        return page.redirect or None
    return redirect_target(page.text, site)


def reason_to_skip(page: Page, site: SiteInfo) -> str | None:
    """Return why a page is not an article: other_namespace, redirect, not_wikitext or empty; None for an article."""
    if page.namespace not in ARTICLES:
        return "other_namespace"
    if redirect_of(page, site) is not None:
        return "redirect"
    if page.model != "wikitext":
        return "not_wikitext"
    if not page.text or page.text.isspace():
        return "empty"
    return None


def _parse(content: bytes, site: Callable[[], SiteInfo], namespaces: Collection[int] | None) -> Page:
    """Parse one `<page>` element; calls `site` for pages without a namespace, as in dumps before schema 0.6."""
    page = etree.fromstring(content, _PARSER)
    parts = _children(page)
    title = _text_of(parts, "title")
    number = _text_of(parts, "ns")
    namespace = 0
    if number:
        namespace = read_number(number)
    elif ":" in title:
        prefix = title.partition(":")[0].replace("_", " ").strip().lower()
        namespace = site().namespaces.get(prefix, 0)
    revision: dict[str, etree._Element] = {}
    text = ""
    if namespaces is None or namespace in namespaces:
        if "revision" not in parts:
            raise ValueError("it has no revision")
        revision = _newest_revision(page)
        if "text" not in revision:
            raise ValueError(f"its revision has no <text>, but {', '.join(f'<{name}>' for name in revision)}")
        # Once: lxml decodes the text anew at each access.
        text = _text_of(revision, "text")
        if not text and read_number(revision["text"].get("bytes") or "0"):
            raise ValueError("its <text> is empty but has bytes, as in a dump of stubs")
    redirect = None
    if "redirect" in parts:
        redirect = parts["redirect"].get("title")
    return Page(
        page_id=read_number(_text_of(parts, "id")),
        title=title,
        namespace=namespace,
        revision_id=read_number(_text_of(revision, "id") or "0"),
        redirect=redirect,
        text=text,
        model=_text_of(revision, "model") or "wikitext",
        timestamp=_text_of(revision, "timestamp"),
    )


def _newest_revision(page: etree._Element) -> dict[str, etree._Element]:
    """Return the elements of a page's newest revision; of equally new ones, of the last in the file."""
    newest: dict[str, etree._Element] = {}
    newest_age = ("", -1)
    for element in page:
        if etree.QName(element).localname == "revision":
            # Reversed, so that of several equal tags the first one counts.
            revision = _children(reversed(element))
            # Imported revisions have high numbers and old times, so the time counts first.
            time = _text_of(revision, "timestamp").strip()
            if not _TIME.match(time):
                time = ""
            age = time, read_number(_text_of(revision, "id") or "0")
            if age >= newest_age:
                newest = revision
                newest_age = age
    return newest


def _children(elements: Iterable[etree._Element]) -> dict[str, etree._Element]:
    return {str(element.tag).rpartition("}")[2]: element for element in elements}


def _text_of(parts: dict[str, etree._Element], name: str) -> str:
    element = parts.get(name)
    # An element without children is false, so the test is for None.
    if element is None:
        return ""
    return element.text or ""
