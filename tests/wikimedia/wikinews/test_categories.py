"""Categories of pages, and category redirects."""

from __future__ import annotations

import pytest

from ease.wikimedia.dumps.pages import Page
from ease.wikimedia.wikinews.mewsc16 import (
    category_redirect,
    follow_redirects,
    read_categories,
)
from ease.wikimedia.wikitext.titles import SiteInfo

ENGLISH = SiteInfo("en")
TURKISH = SiteInfo("tr", namespaces={"kategori": 14})


@pytest.mark.parametrize(
    ("site", "source", "expected"),
    [
        (ENGLISH, "[[Category:Sports|Ball, Foot]]", ["Sports"]),
        (ENGLISH, "[[category:sports]] [[ CATEGORY : Sports ]]", ["Sports"]),
        (ENGLISH, "[[Category:Crime_and__law]]", ["Crime and law"]),
        (ENGLISH, "[[Category:R&amp;B]] [[Category:A%20b]]", ["R&B", "A b"]),
        (ENGLISH, "[[Category:Star Trek: Picard]]", ["Star Trek: Picard"]),
        (ENGLISH, "[[en:Category:Sports]]", ["Sports"]),
        (ENGLISH, "{{box|text=[[Category:Sports]]}}", ["Sports"]),
        (ENGLISH, "[[Category:Weather]] [[Category:Sports]] [[Category:Weather]]", ["Weather", "Sports"]),
        (TURKISH, "[[Kategori:istanbul]]", ["İstanbul"]),
        (ENGLISH, "[[:Category:Sports]] [[Sports]] [[w:Category:Sports]] [[de:Kategorie:Sport]]", []),
        (ENGLISH, "<!-- [[Category:Sports]] --> <nowiki>[[Category:Sports]]</nowiki>", []),
        (ENGLISH, "[[Category:]] [[Category:#Sports]] [[Kategorie:Sport]]", []),
    ],
)
def test_categories_of_a_page(site: SiteInfo, source: str, expected: list[str]) -> None:
    assert read_categories(source, site) == expected


TEMPLATES = frozenset({"Category redirect", "Seecat"})


@pytest.mark.parametrize(
    ("text", "redirect"),
    [
        ("#REDIRECT [[:Category:Sports]]", None),
        ("", "Category:Sports"),
        ("{{Category redirect|Sports}}", None),
        ("{{category_redirect| 1 = :Category:sports |reason=none}}", None),
        ("Moved.\n{{seecat|Sports}}", None),
    ],
)
def test_category_redirects(text: str, redirect: str | None) -> None:
    page = Page(1, "Category:Sport", 14, 2, redirect, text, "wikitext")
    assert category_redirect(page, ENGLISH, TEMPLATES) == ("Sport", "Sports")


def test_redirects_are_followed_and_loops_ignored() -> None:
    redirects = {
        "A": "B",
        "B": "Sports",
        "C": "D",
        "D": "C",
        "E": "C",
        "F": "A",
        "Weather": "Sports",
        "G": "X",
    }
    found = follow_redirects(redirects, {"Sports": "Sports", "Weather": "Weather"})
    assert found == {"Sports": "Sports", "Weather": "Weather", "A": "Sports", "B": "Sports", "F": "Sports"}
