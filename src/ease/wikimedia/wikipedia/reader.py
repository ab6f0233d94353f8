"""Articles of a Wikipedia dump as a stream, without Kedro and without files in between."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ease.io.addresses import located
from ease.wikimedia.dumps.files import Shard, recognise_dump
from ease.wikimedia.dumps.pages import (
    ARTICLES,
    DEFAULT_MAX_PAGE_BYTES,
    DEFAULT_MAX_PAGE_SECONDS,
    Page,
    PageTally,
    iterate_pages,
    reason_to_skip,
)
from ease.wikimedia.dumps.siteinfo import read_siteinfo
from ease.wikimedia.wikitext.article import Article
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DumpArticle(Article):
    """An article of a dump: its prose, links and sentences, as `parse_wikitext` returns them, and its page.

    Attributes:
        title: Normalised title.
        page_id: Number of the page in its wiki.
        revision_id: Number of the page's revision in the dump.
    """

    title: str
    page_id: int
    revision_id: int


def read_dump(
    path: str | Path,
    max_page_bytes: int = DEFAULT_MAX_PAGE_BYTES,
    max_page_seconds: float = DEFAULT_MAX_PAGE_SECONDS,
) -> Iterator[DumpArticle]:
    """Yield the articles of a Wikipedia dump one by one; memory holds a single page and a block of the file.

    Redirects, pages of other namespaces, pages in other formats than wikitext and pages without prose are skipped.
    Pages that cannot be read and a truncated end are logged as warnings.

    Args:
        path: A dump (.xml, .xml.bz2, .xml.gz or .xml.zst), local or at an address that fsspec supports.
        max_page_bytes: Pages with more bytes of XML are skipped.
        max_page_seconds: Pages that take more CPU time are skipped, if this runs in the main thread.

    Raises:
        EaseError: The file is missing, corrupt or not a MediaWiki export, or more than a tenth of at least 100 pages
            cannot be read.

    Example:
        for article in read_dump("enwiki-latest-pages-articles.xml.bz2"):
            for sentence in article.sentences():
                print(article.title, sentence.text, sentence.links)
    """
    _, dump = recognise_dump(located(path))
    shard = Shard(dump, 0, dump.path.stat().st_size)
    return _read_articles(shard, read_siteinfo(dump.path, dump.language), max_page_bytes, max_page_seconds)


def _read_articles(
    shard: Shard, site: SiteInfo, max_page_bytes: int, max_page_seconds: float
) -> Iterator[DumpArticle]:
    def parse(page: Page) -> DumpArticle | None:
        if reason_to_skip(page, site):
            return None
        title, article = normalize_title(page.title, site), parse_wikitext(page.text, site)
        found = DumpArticle(**vars(article), title=title, page_id=page.page_id, revision_id=page.revision_id)
        return found if found.text else None

    tally = PageTally()
    for page in iterate_pages(shard, max_page_bytes, tally, ARTICLES):
        if article := tally.attempt(page, parse, max_page_seconds):
            yield article
    for fault in tally.faults:
        logger.warning("%s: %s", shard.dump.path, fault)
    if tally.truncated:
        logger.warning("%s is truncated: articles after its end are missing", shard.dump.path)
