"""Names of the topics' categories in further languages, by the links between the language editions of Wikinews."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, split_into_shards
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.dumps.siteinfo import read_siteinfo
from ease.wikimedia.dumps.sql import TableReader
from ease.wikimedia.languages import Language
from ease.wikimedia.wikinews.categories import category_title
from ease.wikimedia.wikitext.namespaces import CATEGORY
from ease.wikimedia.wikitext.titles import normalize_title

logger = logging.getLogger(__name__)

Topics = dict[str, dict[str, str]]
"""Name of each topic's category in each language."""

_COLUMNS = {"ll_from": rb"(\d{1,18})", "ll_title": rb"(?:_binary )?'([^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+)'"}
_ESCAPED = re.compile(rb"\\(.)|'(')", re.DOTALL)
_SHARD_BYTES = 1 << 40


def with_linked_names(
    topics: Mapping[str, Mapping[str, str]],
    languages: Sequence[str],
    english: Sequence[DumpFile],
    links: Path,
) -> Topics:
    """Add the categories that English categories link to in other languages.

    Args:
        topics: Names of the categories, also in English; languages that have one already are left as they are.
        languages: Wikinews language codes.
        english: The dump of the English Wikinews, in one file or several, with its category pages.
        links: `enwikinews-DATE-langlinks.sql.gz`, the links of these pages
            (https://www.mediawiki.org/wiki/Manual:Langlinks_table).

    Raises:
        EaseError: A file is broken, or no category links to one in a language.
    """
    named = {language for names in topics.values() for language in names}
    found: Topics = {topic: dict(names) for topic, names in topics.items()}
    wanted = [language for language in languages if language not in named]
    pages = _category_pages(english, topics) if wanted else {}
    for language in wanted:
        names = _linked_titles(links, language, pages)
        if not names:
            raise EaseError(
                f"{links} has no link from a topic's English category to one in {language}: name the categories of "
                f"{language} in `topics`, or remove it from `languages`."
            )
        for topic, name in names.items():
            found[topic][language] = name
        logger.info("Topics of %s by links from English: %s", language, ", ".join(sorted(names.values())))
    return found


def _category_pages(english: Sequence[DumpFile], topics: Mapping[str, Mapping[str, str]]) -> dict[int, str]:
    """Return the topics by the ids of their English category pages."""
    site = read_siteinfo(english[0].path, english[0].language)
    titles = {normalize_title(names["en"], site): topic for topic, names in topics.items() if "en" in names}
    return {
        page.page_id: titles[title]
        for file in english
        for shard in split_into_shards(file, _SHARD_BYTES)
        for page in iterate_pages(shard, namespaces=())
        if page.namespace == CATEGORY and (title := category_title(page.title, site)) in titles
    }


def _linked_titles(links: Path, language: str, pages: Mapping[int, str]) -> dict[str, str]:
    """Return the titles, without namespace, that the pages link to in a language, by topic."""
    reader = TableReader(links, "langlinks", _COLUMNS, ("ll_lang", Language(language).bcp_47))
    return {
        pages[int(page)]: name
        for rows in reader
        for page, title in rows
        if int(page) in pages and (name := _unescaped(title).partition(":")[2])
    }


def _unescaped(title: bytes) -> str:
    """Return a title without the escapes of SQL: a backslash, or a doubled quote."""
    return _ESCAPED.sub(rb"\1\2", title).decode("utf-8", errors="replace")
