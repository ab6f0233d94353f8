"""Other pages of a sample Wikinews than articles: redirects, categories, talk and project pages, templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ease.sample.news.articles import NewsPage, loop_categories
from ease.sample.news.words import NewsWords
from ease.sample.pages import WikiPage
from ease.sample.phrases import Phrasebook

REDIRECT, OTHER_NAMESPACE = "redirect", "other namespace"


def write_news_redirects(words: NewsWords, titles: Sequence[str]) -> Iterator[NewsPage]:
    """Yield redirects to articles with the wiki's keyword or the English one, each with a topic's category."""
    site = words.site
    for number, title in enumerate(titles):
        keyword = site.redirect_keyword if number % 2 else "REDIRECT"
        text = f"#{keyword} [[{title}]]\n\n[[{site.names[14]}:{words.topics[0].category}]]"
        yield NewsPage(WikiPage(f"{title} (2)", text, redirect=title), "redirect", dropped=REDIRECT)


def write_other_namespaces(book: Phrasebook, words: NewsWords, titles: Sequence[str]) -> Iterator[NewsPage]:
    """Yield pages of other namespaces, which are in topics' categories but are not news."""
    site, message = words.site, book.notes["message"]
    link = f"[[{site.names[14]}:{words.topics[0].category}]]"
    yield from _category_pages(words, message)
    for title in titles:
        yield _page(words, 1, title, f"{book.notes['talk']} [[{title}]] ~~~~\n\n{link}", "talk")
    yield _page(words, 4, words.topics[0].category, f"{message}\n\n{link}", "project")
    for name in words.templates.values():
        text = f"<noinclude>{message}</noinclude><includeonly>{{{{{{1|}}}}}}{link}</includeonly>"
        yield _page(words, 10, name, text, "template")


def _category_pages(words: NewsWords, message: str) -> Iterator[NewsPage]:
    """Yield the topics' categories (the second below the first), redirects from former names, a loop of redirects."""
    prefix = words.site.names[14]
    for number, topic in enumerate(words.topics):
        parent = words.topics[0].category if number == 1 else words.site.names[4]
        yield _page(words, 14, topic.category, f"{message}\n\n[[{prefix}:{parent}]]", "category")
    by_redirect, by_template = words.renamed
    one, other = loop_categories(words)
    text = f"{{{{Category redirect|{by_template.category}}}}}"
    redirects = [(by_redirect.former, by_redirect.category), (one, other), (other, one)]
    pages = [
        _page(
            words,
            14,
            name or "",
            f"#{words.site.redirect_keyword} [[:{prefix}:{target}]]",
            "category_redirect",
            redirect=f"{prefix}:{target}",
        )
        for name, target in redirects
    ]
    pages.insert(1, _page(words, 14, by_template.former or "", text, "category_redirect"))
    yield from pages


def _page(
    words: NewsWords, namespace: int, name: str, text: str, case: str, redirect: str | None = None
) -> NewsPage:
    page = WikiPage(f"{words.site.names[namespace]}:{name}", text, namespace, redirect)
    return NewsPage(page, case, dropped=OTHER_NAMESPACE)
