"""Categories of a page by its wikitext, and categories that stand for others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ease.wikimedia.dumps.pages import Page
from ease.wikimedia.wikitext.markup import hide_extensions
from ease.wikimedia.wikitext.namespaces import CATEGORY
from ease.wikimedia.wikitext.redirects import redirect_target
from ease.wikimedia.wikitext.titles import SiteInfo, TargetKind, normalize_title, read_target

_LINK = re.compile(r"\[\[([^\[\]|\n{}<>]++)(?:\|[^\[\]]*+)?\]\]")
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|(?:\s*+1\s*+=)?([^{}|]++)")


def read_categories(source: str, site: SiteInfo) -> list[str]:
    """The categories that a page puts itself into, each once, in their order.

    Links in the page's own text count, also within a template's arguments, under any name of the namespace; those
    in comments and `<nowiki>` do not, nor those with a colon in front, which only lead to a category.
    """
    text, _ = hide_extensions(source)
    names = (category_title(link[1], site) for link in _LINK.finditer(text))
    return list(dict.fromkeys(name for name in names if name))


def category_title(link: str, site: SiteInfo) -> str:
    """The normalised title, without its namespace, of the category that a link puts a page into; empty for others."""
    if read_target(link, site).kind is not TargetKind.CATEGORY:
        return ""
    prefixes = normalize_title(link, site).split(":")
    for index, prefix in enumerate(prefixes):
        if site.namespaces.get(prefix.strip().lower()) == CATEGORY:
            return normalize_title(":".join(prefixes[index + 1 :]), site)
    return ""


def category_redirect(page: Page, site: SiteInfo, templates: frozenset[str]) -> tuple[str, str] | None:
    """A category's title and that of the category that stands for it, by a redirect or by a template.

    Args:
        page: Of any namespace; None comes for those that are no such category.
        site: The wiki.
        templates: Normalised titles of the templates that say so, as `{{Category redirect|Sports}}`.
    """
    if page.namespace != CATEGORY:
        return None
    target = page.redirect or redirect_target(page.text, site)
    targets = [target] if target else _template_targets(page.text, site, templates)
    for text in targets:
        name = text.strip().removeprefix(":")
        title = category_title(name, site) or ("" if target else normalize_title(name, site))
        if title:
            return category_title(page.title, site), title
    return None


def _template_targets(source: str, site: SiteInfo, templates: frozenset[str]) -> Iterator[str]:
    text, _ = hide_extensions(source)
    for template in _TEMPLATE.finditer(text):
        if normalize_title(template[1], site) in templates:
            yield template[2]


def follow_redirects(redirects: Mapping[str, str], topics: Mapping[str, str]) -> dict[str, str]:
    """Give the categories that lead to a topic's category, or to which it leads, that topic, past loops.

    Args:
        redirects: Categories and those that stand for them.
        topics: Topics by their categories.

    Returns:
        Topics by categories, those given among them.
    """
    found = dict(topics)
    for category, topic in topics.items():
        # A topic's category may itself have moved.
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


def topics_of(categories: Sequence[str], topics: Mapping[str, str]) -> set[str]:
    """The topics of a page's categories."""
    return {topics[category] for category in categories if category in topics}
