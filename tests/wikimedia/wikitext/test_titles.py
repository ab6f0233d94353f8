"""Titles are resolved as in MediaWiki."""

from __future__ import annotations

import pytest
from wikipedia2vec.utils.utils import CATEGORY_ALIASES, MEDIA_ALIASES

from ease.wikimedia.wikitext import titles
from ease.wikimedia.wikitext.titles import SiteInfo, TargetKind, normalize_title, read_target, resolve_target

ENGLISH = SiteInfo("en")


@pytest.mark.parametrize(
    ("site", "raw", "title"),
    [
        (ENGLISH, "  _Berlin__ Wall _", "Berlin Wall"),
        (ENGLISH, "Berlin\u200e Wall\u200f", "Berlin Wall"),
        (ENGLISH, "AT&amp;T", "AT&T"),
        (ENGLISH, "Caf%C3%A9", "Café"),
        (ENGLISH, "Cafe\u0301", "Café"),
        (ENGLISH, "100%", "100%"),
        (ENGLISH, "Foo%23bar", "Foo"),
        (ENGLISH, "ǆ", "Ǆ"),
        (SiteInfo("tr"), "istanbul", "İstanbul"),
        (SiteInfo("ka"), "ბერლინი", "ბერლინი"),
        (SiteInfo("jbo", case="case-sensitive"), "berlin", "berlin"),
    ],
)
def test_normalized_titles(site: SiteInfo, raw: str, title: str) -> None:
    assert normalize_title(raw, site) == title


@pytest.mark.parametrize(
    ("raw", "kind", "title"),
    [
        ("File:A.jpg", TargetKind.FILE, ""),
        (":File:A.jpg", TargetKind.OTHER, ""),
        ("Category:Cities", TargetKind.CATEGORY, ""),
        ("WP:NPOV", TargetKind.OTHER, ""),
        ("de:Berlin", TargetKind.LANGUAGE, ""),
        (":de:Berlin", TargetKind.OTHER, ""),
        ("wikt:word", TargetKind.OTHER, ""),
        ("#Section", TargetKind.OTHER, ""),
        ("", TargetKind.INVALID, ""),
        ("A\x07b", TargetKind.INVALID, ""),
        ("A" * 256, TargetKind.INVALID, ""),
        ("2001: A Space Odyssey", TargetKind.ARTICLE, "2001: A Space Odyssey"),
        ("Berlin#History", TargetKind.ARTICLE, "Berlin"),
        (":berlin", TargetKind.ARTICLE, "Berlin"),
        ("/dev/null", TargetKind.ARTICLE, "/dev/null"),
        ("A" * 255, TargetKind.ARTICLE, "A" * 255),
    ],
)
def test_links_lead_to_articles_or_elsewhere(raw: str, kind: TargetKind, title: str) -> None:
    assert read_target(raw, ENGLISH) == (kind, title)
    assert resolve_target(raw, ENGLISH) == (title or None)


@pytest.mark.parametrize(("language", "file", "category"), [("de", "Bild", "Kategorie"), ("zh-yue", "檔", "類")])
def test_local_names_are_known_even_if_the_dump_has_english_ones(language: str, file: str, category: str) -> None:
    site = SiteInfo(language, "enwiki", namespaces={"File": 6, "Category": 14})
    assert read_target(f"{file}:X.jpg", site).kind is TargetKind.FILE
    assert read_target(f"{category.upper()}: X", site).kind is TargetKind.CATEGORY
    assert read_target(f":{category}:X", site).kind is TargetKind.OTHER
    assert resolve_target(f"{file}:X.jpg", ENGLISH) is not None


def test_the_names_that_wikipedia2vec_knows_are_known() -> None:
    for number, table in ((titles.FILE, MEDIA_ALIASES), (titles.CATEGORY, CATEGORY_ALIASES)):
        for language, names in table.items():
            numbers = titles.known_namespaces(language.replace("_", "-"))
            assert {numbers.get(name.replace("_", " ").lower()) for name in names} <= {number}, language


def test_the_dumps_own_namespaces_have_precedence() -> None:
    site = SiteInfo("en", namespaces={"Wikiproject_X": 102, "Draft": 6})
    assert read_target("wikiproject x:A", site).kind is TargetKind.OTHER
    assert read_target("draft:A", site).kind is TargetKind.FILE
    assert read_target("User:A", site).kind is TargetKind.OTHER


def test_the_wikis_own_prefix_is_followed_up_to_a_limit() -> None:
    assert read_target("en:en: Berlin", ENGLISH) == (TargetKind.ARTICLE, "Berlin")
    assert read_target("en:de:Berlin", ENGLISH).kind is TargetKind.LANGUAGE
    assert read_target("en:" * 100 + "Berlin", ENGLISH).kind is TargetKind.INVALID
