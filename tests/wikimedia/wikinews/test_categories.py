"""Categories of pages, and category redirects."""

from __future__ import annotations

import pytest

from ease.wikimedia.dumps.pages import Page
from ease.wikimedia.wikinews.categories import category_redirect, follow_redirects, read_categories
from ease.wikimedia.wikitext.titles import SiteInfo

ENGLISH, GERMAN = SiteInfo("en"), SiteInfo("de", namespaces={"kategorie": 14})
TURKISH = SiteInfo("tr", namespaces={"kategori": 14})


@pytest.mark.parametrize(
    ("site", "source", "expected"),
    [
        (ENGLISH, "[[Category:Sports]]", ["Sports"]),
        (ENGLISH, "[[Category:Sports|Ball, Foot]]", ["Sports"]),
        (ENGLISH, "[[Category:Sports|\n]]", ["Sports"]),
        (ENGLISH, "[[category:sports]] [[ CATEGORY : Sports ]]", ["Sports"]),
        (ENGLISH, "[[Category:Crime_and__law]]", ["Crime and law"]),
        (ENGLISH, "[[Category:\u200eCrime and law\u200e]]", ["Crime and law"]),
        (ENGLISH, "[[Category:Crime<!-- or -->_and law]]", ["Crime and law"]),
        (ENGLISH, "[[Category:R&amp;B]] [[Category:A%20b]]", ["R&B", "A b"]),
        (ENGLISH, "[[Category:Star Trek: Picard]]", ["Star Trek: Picard"]),
        (ENGLISH, "[[en:Category:Sports]]", ["Sports"]),
        (ENGLISH, "{{box|text=[[Category:Sports]]}}", ["Sports"]),
        (ENGLISH, "[[Category:Weather]] [[Category:Sports]] [[Category:Weather]]", ["Weather", "Sports"]),
        (GERMAN, "[[Kategorie:Sport]] [[Category:Wetter]]", ["Sport", "Wetter"]),
        (TURKISH, "[[Kategori:istanbul]]", ["İstanbul"]),
        (ENGLISH, "[[:Category:Sports]] [[Sports]] [[w:Category:Sports]] [[de:Kategorie:Sport]]", []),
        (ENGLISH, "<!-- [[Category:Sports]] --> <nowiki>[[Category:Sports]]</nowiki>", []),
        (ENGLISH, "[[Category:]] [[Category:#Sports]] [[Kategorie:Sport]]", []),
    ],
)
def test_categories_of_a_page(site: SiteInfo, source: str, expected: list[str]) -> None:
    assert read_categories(source, site) == expected


def category_page(title: str, text: str, namespace: int = 14, redirect: str | None = None) -> Page:
    return Page(1, title, namespace, 2, redirect, text, "wikitext")


TEMPLATES = frozenset({"Category redirect", "Seecat"})


@pytest.mark.parametrize(
    ("text", "redirect"),
    [
        ("#REDIRECT [[:Category:Sports]]", None),
        ("#redirect [[Category:sports]]", None),
        ("", "Category:Sports"),
        ("{{Category redirect|Sports}}", None),
        ("{{category_redirect| 1 = :Category:sports |reason=none}}", None),
        ("Moved.\n{{seecat|Sports}}", None),
    ],
)
def test_category_redirects(text: str, redirect: str | None) -> None:
    page = category_page("Category:Sport", text, redirect=redirect)
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
