"""Split the XML of a dump into pages at `<page>` and `</page>`.

Splitting is safe because XML escapes a literal `<page>` in a text. A shard can therefore start at any byte, and an
oversized page is never held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ease.wikimedia.dumps.files import Shard
from ease.wikimedia.dumps.streams import DecompressedStream

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
