"""Articles of a Wikipedia dump as a stream, without Kedro and without files in between."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ease.io.addresses import located
from ease.wikimedia.dumps.files import Shard, recognise_dump
from ease.wikimedia.dumps.pages import DEFAULT_MAX_PAGE_BYTES, PageTally, iterate_pages, reason_to_skip
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


def read_dump(path: str | Path, max_page_bytes: int = DEFAULT_MAX_PAGE_BYTES) -> Iterator[DumpArticle]:
    """Yield the articles of a Wikipedia dump one by one; memory holds a single page and a block of the file.

    Redirects, pages of other namespaces, pages in other formats than wikitext and pages without prose are skipped.
    Broken pages and a truncated end are logged as warnings.

    Args:
        path: A pages-articles dump (.xml, .xml.bz2 or .xml.gz), local or at an address that fsspec supports.
        max_page_bytes: Pages with more bytes of XML are skipped.

    Raises:
        EaseError: The file is missing, corrupt or not a MediaWiki export.

    Example:
        for article in read_dump("enwiki-latest-pages-articles.xml.bz2"):
            for sentence in article.sentences():
                print(article.title, sentence.text, sentence.links)
    """
    _, dump = recognise_dump(located(path))
    shard = Shard(dump, 0, dump.path.stat().st_size)
    return _read_articles(shard, read_siteinfo(dump.path, dump.language), max_page_bytes)


def _read_articles(shard: Shard, site: SiteInfo, max_page_bytes: int) -> Iterator[DumpArticle]:
    tally = PageTally()
    for page in iterate_pages(shard, max_page_bytes, tally):
        if reason_to_skip(page, site):
            continue
        article = parse_wikitext(page.text, site)
        if article.text:
            yield DumpArticle(
                **vars(article),
                title=normalize_title(page.title, site),
                page_id=page.page_id,
                revision_id=page.revision_id,
            )
    for fault in tally.faults:
        logger.warning("%s: %s", shard.dump.path, fault)
    if tally.truncated:
        logger.warning("%s is truncated: articles after its end are missing", shard.dump.path)
