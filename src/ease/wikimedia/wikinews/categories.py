"""Categories of a page from its wikitext, and redirects between categories."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ease.wikimedia.dumps.pages import Page
from ease.wikimedia.wikitext.markup import hide_extensions
from ease.wikimedia.wikitext.namespaces import CATEGORY
from ease.wikimedia.wikitext.redirects import redirect_target
from ease.wikimedia.wikitext.titles import SiteInfo, TargetKind, normalize_title, read_target

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
