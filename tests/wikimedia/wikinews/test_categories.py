"""Categories of pages, category redirects, and names of topics in further languages."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.pages import Page
from ease.wikimedia.wikinews.mewsc16 import (
    category_redirect,
    follow_redirects,
    read_categories,
    with_linked_names,
)
from ease.wikimedia.wikitext.titles import SiteInfo
from tests.wikimedia.made_dumps import make_page
from tests.wikimedia.made_news import article, dumps_in, write_news

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


TOPICS = {
    "Weather": {"en": "Weather", "de": "Wetter"},
    "Health": {"en": "Health"},
    "Sports": {"en": "Sports"},
}
TABLE = b"""-- MariaDB dump 10.19
CREATE TABLE `langlinks` (
  `ll_from` int(8) unsigned NOT NULL DEFAULT 0,
  `ll_lang` varbinary(35) NOT NULL DEFAULT '',
  `ll_title` varbinary(255) NOT NULL DEFAULT '',
  PRIMARY KEY (`ll_from`,`ll_lang`)
) ENGINE=InnoDB;
INSERT INTO `langlinks` VALUES %s;
-- Dump completed on 2026-06-01  0:00:00
"""
ROWS = [
    "(7,'it','Categoria:Meteo')",
    "(7,'de','Kategorie:Anderes Wetter')",
    "(8,'it','Categoria:Salute e l\\'igiene')",
    "(7,'fr','Catégorie:Météo de l''année')",
    "(8,'fr','Santé')",
    "(9,'it','Categoria:Un\\'altra: categoria')",
    "(99,'it','Categoria:Altro')",
]


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "enwikinews-20260601-langlinks.sql.gz"
    path.write_bytes(gzip.compress(TABLE % ",".join(ROWS).encode()))
    return path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Write an English dump with the topics' categories and one other page of the same name."""
    write_news(
        tmp_path / "dumps",
        make_page(7, "Category:Weather", "About.", 14),
        make_page(8, "Category:Health", "About.", 14),
        make_page(9, "Category:sports", "About.", 14),
        make_page(99, "Health", "An article."),
        article(10),
    )
    return tmp_path / "dumps"


def test_names_are_those_that_english_categories_link_to(links: Path, dump: Path) -> None:
    english = dumps_in(dump, "en")
    assert with_linked_names(TOPICS, ["en", "de", "fr", "it"], english, links) == {
        "Weather": {"en": "Weather", "de": "Wetter", "fr": "Météo de l'année", "it": "Meteo"},
        "Health": {"en": "Health", "it": "Salute e l'igiene"},
        "Sports": {"en": "Sports", "it": "Un'altra: categoria"},
    }
    with pytest.raises(
        EaseError, match="no link from a topic's English category to one in zh: name the categories"
    ):
        with_linked_names(TOPICS, ["en", "zh"], english, links)
