"""Categories of pages, and category redirects."""

from __future__ import annotations

import pytest

from ease.wikimedia.dumps.pages import Page
from ease.wikimedia.wikinews.mewsc16 import category_redirect, read_categories
from ease.wikimedia.wikitext.titles import SiteInfo

ENGLISH, TURKISH = SiteInfo("en"), SiteInfo("tr", namespaces={"kategori": 14})


@pytest.mark.parametrize(
    ("site", "source", "expected"),
    [
        (ENGLISH, "[[Category:R&amp;B]] [[Category:A%20b]]", ["R&B", "A b"]),
        (ENGLISH, "[[Category:Star Trek: Picard]]", ["Star Trek: Picard"]),
        (ENGLISH, "[[en:Category:Sports]]", ["Sports"]),
        (ENGLISH, "{{box|text=[[Category:Sports]]}}", ["Sports"]),
        (TURKISH, "[[Kategori:istanbul]]", ["İstanbul"]),
        (ENGLISH, "[[:Category:Sports]] [[Sports]] [[w:Category:Sports]] [[de:Kategorie:Sport]]", []),
        (ENGLISH, "[[Category:]] [[Category:#Sports]] [[Kategorie:Sport]]", []),
    ],
)
def test_categories_of_a_page(site: SiteInfo, source: str, expected: list[str]) -> None:
    assert read_categories(source, site) == expected


TEMPLATES = frozenset({"Category redirect"})


@pytest.mark.parametrize(
    ("text", "redirect"),
    [
        ("", "Category:Sports"),
        ("{{Category redirect|Sports}}", None),
        ("{{category_redirect| 1 = :Category:sports |reason=none}}", None),
    ],
)
def test_category_redirects(text: str, redirect: str | None) -> None:
    page = Page(1, "Category:Sport", 14, 2, redirect, text, "wikitext")
    assert category_redirect(page, ENGLISH, TEMPLATES) == ("Sport", "Sports")
