"""Categories of a page, redirects between categories, and the topics' categories in further languages."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.pages import Page, iterate_pages
from ease.wikimedia.dumps.sql import TableReader
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.markup import hide_extensions
from ease.wikimedia.wikitext.titles import (
    CATEGORY,
    SiteInfo,
    TargetKind,
    normalize_title,
    read_target,
    redirect_target,
)

logger = logging.getLogger(__name__)


_LINK = re.compile(r"\[\[([^\[\]|\n{}<>]++)(?:\|[^\[\]]*+)?\]\]")
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|(?:\s*+1\s*+=)?([^{}|]++)")


def read_categories(source: str, site: SiteInfo) -> list[str]:
    """Return the distinct categories of a page in order.

    Links in the page's text and in arguments of templates count, with any name of the namespace. Links in comments and
    `<nowiki>` do not count, nor links with a leading colon, which only refer to a category.
    """
    text, _ = hide_extensions(source)
    names = (category_title(link[1], site) for link in _LINK.finditer(text))
    return list(dict.fromkeys(name for name in names if name))


def category_title(link: str, site: SiteInfo) -> str:
    """Return the normalised title of a category link without its namespace; empty for other links."""
    if read_target(link, site).kind is not TargetKind.CATEGORY:
        return ""
    prefixes = normalize_title(link, site).split(":")
    for index, prefix in enumerate(prefixes):
        if site.namespaces.get(prefix.strip().lower()) == CATEGORY:
            return normalize_title(":".join(prefixes[index + 1 :]), site)
    return ""


def category_redirect(page: Page, site: SiteInfo, templates: frozenset[str]) -> tuple[str, str] | None:
    """Return (title, target) of a category that is a redirect; None for other pages.

    `templates` are the normalised titles of those that redirect a category, such as `{{Category redirect|Sports}}`.
    """
    if page.namespace != CATEGORY:
        return None
    target = page.redirect or redirect_target(page.text, site)
    found = [] if target else _TEMPLATE.finditer(hide_extensions(page.text)[0])
    redirecting = (template[2] for template in found if normalize_title(template[1], site) in templates)
    for text in [target] if target else redirecting:
        name = text.strip().removeprefix(":")
        title = category_title(name, site) or ("" if target else normalize_title(name, site))
        if title:
            return category_title(page.title, site), title
    return None


def follow_redirects(redirects: Mapping[str, str], topics: Mapping[str, str]) -> dict[str, str]:
    """Extend topics by category to the categories that redirect to a topic's category or to which it redirects.

    Redirects map categories to their targets; loops are allowed.
    """
    found = dict(topics)
    for category, topic in topics.items():
        # A topic's category may have been renamed.
        name = category
        while name in redirects and redirects[name] not in found:
            name = redirects[name]
            found[name] = topic
    for start in redirects:
        path: list[str] = []
        name = start
        while name not in found and name in redirects and name not in path:
            path.append(name)
            name = redirects[name]
        if name in found:
            found.update(dict.fromkeys(path, found[name]))
    return found


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
