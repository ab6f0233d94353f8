"""First sentences of news articles."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.wikimedia.dumps.files import find_dumps, read_siteinfo
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.wikinews.first_sentences import FirstSentences
from ease.wikimedia.wikitext.sentences import SplitterEngine
from ease.wikimedia.wikitext.titles import SiteInfo
from tests.wikimedia.made_dumps import as_shard


def first(source: str, language: str = "en") -> str | None:
    return FirstSentences(SiteInfo(language), "icu").find(source)


@pytest.mark.parametrize(
    "source",
    [
        "'''It rained''' in [[Lima|Lima]]<ref>Seen.</ref>. It snowed.",
        "{{date|May 3, 2022}}\nIt rained in Lima.",
        "'''May 3, 2022'''\nIt rained in Lima.",
        "[[File:A.jpg|thumb|Rain.]]\n''[[May 3]], [[2022]]''\nIt rained in Lima.",
        "May 3, 2022. It rained in Lima.",
        "'''Lima, May 3, 2022'''\n\nIt rained in Lima.",
        "[[Lima]] ([[Peru]]), May 3, 2022 –\nIt rained in Lima.",
        "* A [[list]]\n# of points\n: and a remark\n\nIt rained in Lima.",
        "<!--\nMay 3, 2022\n-->It rained in Lima.",
        "----\n\nIt rained\nin Lima.",
        "It <nowiki>rained\u2028in\nLima</nowiki>.",
        "\ue000It rained in Lima.",
    ],
)
def test_the_first_sentence_of_running_prose(source: str) -> None:
    assert first(source) == "It rained in Lima."


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("It rained on\nMay 3, 2022\nin Lima.", "It rained on May 3, 2022 in Lima."),
        ("[[John F. Kennedy]] came. He left.", "John F. Kennedy came."),
    ],
)
def test_a_date_in_a_sentence_stays(source: str, expected: str) -> None:
    assert first(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("It rained in {{w|Lima}}.", "It rained in Lima."),
        ("It rained in {{w|Lima|the city}}.", "It rained in the city."),
        ("It rained {{w}}in {{x|Lima}}.", "It rained in."),
    ],
)
def test_templates_that_are_replaced_by_their_text(source: str, expected: str) -> None:
    assert FirstSentences(SiteInfo("en"), "icu", ["w"]).find(source) == expected


@pytest.mark.parametrize(
    "source", ["", "May 3, 2022", "== Sources ==\n* [http://example.org It rained] – ''Paper'', May 3, 2022"]
)
def test_a_page_without_a_sentence(source: str) -> None:
    assert first(source) is None


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("ar", "'''الثلاثاء 3 مايو 2022'''\nأمطرت في [[ليما]]. وأثلجت.", "أمطرت في ليما."),
        ("es", "'''3 de mayo de 2022'''\nLlovió en Lima. Nevó.", "Llovió en Lima."),
    ],
)
def test_dates_of_other_languages(language: str, source: str, expected: str) -> None:
    assert first(source, language) == expected


BERLIN = {
    "en": "Berlin is the capital and largest city of Germany by both area and population.",
    "ko": "베를린은 독일의 수도이다.",
}
"""First sentences of the articles on Berlin."""


@pytest.mark.parametrize(("language", "engine"), [("en", "polyglot"), *((code, "icu") for code in BERLIN)])
def test_real_pages(test_data: Path, language: str, engine: SplitterEngine) -> None:
    path = test_data / "dumps" / "wikipedia" / f"{language}wiki-mini-pages-articles.xml.bz2"
    (dump,) = find_dumps(path, [language])
    (page,) = (page for page in iterate_pages(as_shard(dump)) if page.title in {"Berlin", "베를린"})
    sentence = FirstSentences(read_siteinfo(dump.path, dump.language), engine).find(page.text)
    assert sentence is not None
    assert sentence.startswith(BERLIN[language])
    assert sentence.endswith(".")
