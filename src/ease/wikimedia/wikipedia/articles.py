"""Parse one shard of a dump into the tables `sentences`, `redirects` and `pages`."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from ease.wikimedia.dumps.files import Shard
from ease.wikimedia.dumps.pages import (
    ARTICLES,
    Page,
    PageTally,
    iterate_pages,
    reason_to_skip,
    redirect_of,
)
from ease.wikimedia.dumps.parts import Counts
from ease.wikimedia.dumps.table_writer import TableWriter
from ease.wikimedia.wikipedia.sentence_table import SENTENCES, SentencePage, SentenceTable
from ease.wikimedia.wikitext.article import SentenceColumns, split_prose
from ease.wikimedia.wikitext.parser import read_prose
from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title, resolve_target

_GC_THRESHOLD = 50_000
"""With Python's default of 700, garbage collection takes a tenth of the time."""

SENTENCES_FILE = "sentences.parquet"
REDIRECTS_FILE = "redirects.parquet"
PAGES_FILE = "pages.parquet"

REDIRECTS = pa.schema(
    [("language", pa.string()), ("source_title", pa.string()), ("target_title", pa.string())]
)
PAGES = pa.schema([("language", pa.string()), ("page_id", pa.int64()), ("title", pa.string())])
"""All pages, including redirects, empty pages and other namespaces, since Wikidata may link to them."""


@dataclass(frozen=True)
class ShardTask:
    """A shard to parse."""

    shard: Shard
    site: SiteInfo
    splitter: SplitterEngine
    max_page_bytes: int
    max_page_seconds: float

    def size(self) -> int:
        """Return the bytes of the shard."""
        return self.shard.end - self.shard.start


def write_shard(task: ShardTask, folder: Path) -> Counts:
    """Parse a shard, write its tables into a folder and return the counts.

    Raises:
        EaseError: The dump file is broken, too many of its pages fail, or the folder cannot be written.
    """
    with (
        _rare_garbage_collection(),
        TableWriter(folder / SENTENCES_FILE, SENTENCES) as sentences,
        TableWriter(folder / REDIRECTS_FILE, REDIRECTS) as redirects,
        TableWriter(folder / PAGES_FILE, PAGES) as pages,
    ):
        parser = _ShardParser(task, sentences, redirects, pages)
        for page in iterate_pages(task.shard, task.max_page_bytes, parser.tally, ARTICLES):
            parser.add(page)
        parser.sentences.flush()
    tally = parser.tally
    counts = {"pages": tally.seen, "skipped": dict(tally.skipped + parser.skipped), **parser.counts}
    return {"counts": counts, "faults": tally.faults, "truncated": tally.truncated}


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Raise the garbage collector's threshold: buffered rows contain no reference cycles."""
    threshold = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD, *threshold[1:])
    try:
        yield
    finally:
        gc.set_threshold(*threshold)


class _ShardParser:
    """Converts pages to rows, and counts them."""

    def __init__(
        self, task: ShardTask, sentences: TableWriter, redirects: TableWriter, pages: TableWriter
    ) -> None:
        self.tally = PageTally()
        self.skipped: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self._site = task.site
        self._max_seconds = task.max_page_seconds
        self._language = task.shard.dump.language
        self._splitter = SentenceSplitter(self._language, task.splitter)
        self.sentences = SentenceTable(sentences, self._language)
        self._redirects = redirects
        self._pages = pages

    def add(self, page: Page) -> None:
        """Write the rows of one page."""
        self._pages.append((self._language, page.page_id, page.title))
        if write := self.tally.attempt(page, self._parse, self._max_seconds):
            write()

    def _parse(self, page: Page) -> Callable[[], None]:
        """Return a function that writes what a page contains: a page that fails writes nothing."""
        reason = reason_to_skip(page, self._site)
        title = normalize_title(page.title, self._site)
        if reason == "redirect":
            target = resolve_target(redirect_of(page, self._site) or "", self._site)
            return partial(self._add_redirect, title, target)
        if reason is None:
            prose = read_prose(page.text.replace("\r", ""), self._site)
            columns, link_counts = split_prose(prose, self._splitter)
            if columns.texts:
                key = SentencePage(page.page_id, title, page.revision_id)
                return partial(self._add_article, key, columns, link_counts)
        return partial(self.skipped.update, [reason or "no_sentences"])

    def _add_article(self, page: SentencePage, columns: SentenceColumns, link_counts: Counter[str]) -> None:
        self.sentences.append(page, columns)
        self.counts.update(link_counts)
        self.counts.update(articles=1, links=len(columns.link_targets), sentences=len(columns.texts))

    def _add_redirect(self, title: str, target: str | None) -> None:
        self.skipped["redirect"] += 1
        if target is not None:
            self._redirects.append((self._language, title, target))
            self.counts["redirects"] += 1
