"""First sentences of news articles, dates and abbreviations in many languages."""

from __future__ import annotations

from datetime import date

import pytest
from babel.dates import format_date

from ease.wikimedia.languages import MEWSC16_LANGUAGES
from ease.wikimedia.wikinews.first_sentences import Abbreviations, Dates, FirstSentences
from ease.wikimedia.wikitext.titles import SiteInfo

RAINED = "It rained in Lima."
CASES = [
    ("'''It rained''' in [[Lima|Lima]]<ref>Seen.</ref>. It snowed.", RAINED),
    ("{{date|May 3, 2022}}\nIt rained in Lima.", RAINED),
    ("[[File:A.jpg|thumb|Rain.]]\n''[[May 3]], [[2022]]''\nIt rained in Lima.", RAINED),
    ("May 3, 2022. It rained in Lima.", RAINED),
    ("'''Lima, May 3, 2022'''\n\nIt rained in Lima.", RAINED),
    ("[[Lima]] ([[Peru]]), May 3, 2022 –\nIt rained in Lima.", RAINED),
    ("* A [[list]]\n# of points\n: and a remark\n\nIt rained in Lima.", RAINED),
    ("----\n\nIt rained\nin Lima.", RAINED),
    ("It <nowiki>rained\u2028in\nLima</nowiki>.", RAINED),
    ("\ue000It rained in Lima.", RAINED),
    ("It rained on\nMay 3, 2022\nin Lima.", "It rained on May 3, 2022 in Lima."),
    ("[[John F. Kennedy]] came. He left.", "John F. Kennedy came."),
    ("It rained in {{w|Lima|the city}}.", "It rained in the city."),
    ("It rained {{w}}in {{x|Lima}}.", "It rained in."),
    ("May 3, 2022", None),
    ("== Sources ==\n* [http://example.org It rained] – ''Paper'', May 3, 2022", None),
]
ARABIC = ("ar", "'''الثلاثاء 3 مايو 2022'''\nأمطرت في [[ليما]]. وأثلجت.", "أمطرت في ليما.")


@pytest.mark.parametrize(("language", "source", "expected"), [*(("en", *case) for case in CASES), ARABIC])
def test_the_first_sentence_of_running_prose(language: str, source: str, expected: str | None) -> None:
    assert FirstSentences(SiteInfo(language), "icu", ["w"]).find(source) == expected


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_every_date_of_a_year_in_cldrs_forms(language: str) -> None:
    dates = Dates(language)
    days = [date(2022, month, 2 * month) for month in range(1, 13)]
    forms = ("full", "long", "medium", "short")
    texts = [format_date(day, form, locale=language) for day in days for form in forms]
    assert [text for text in texts if not dates.is_date(text)] == []


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("fr", "1er mai 2022", True),
        ("ru", "вторник, 3 мая 2022 года", True),
        ("ar", "الثلاثاء 3 أيار 2022", True),
        ("fa", "سه‌شنبه ۱۳ اردیبهشت ۱۴۰۱", True),
        ("en", "* * *", True),
        ("en", "On May 3, 2022, it rained.", False),
        ("en", "May I?", False),
        ("ja", "5月3日、雨が降った。", False),
    ],
)
def test_dates_as_people_write_them(language: str, text: str, expected: bool) -> None:
    assert Dates(language).is_date(text) is expected


@pytest.mark.parametrize(
    ("language", "line", "expected"),
    [
        ("de", "Berlin (Deutschland), 03.05.2022 – Es regnet.", False),
        ("en", "Washington, D.C., Tuesday, May 3, 2022", True),
        ("en", 'The mayor said on May 3, 2022."', False),
        ("en", "A line that goes on for longer than any name of a place does, May 3, 2022", False),
        ("ja", "東京、2022年5月3日", True),
    ],
)
def test_a_place_and_a_date(language: str, line: str, expected: bool) -> None:
    assert Dates(language).is_place_and_date(line) is expected


def test_a_boundary_between_a_day_and_its_month() -> None:
    dates = Dates("de")
    assert dates.is_inside_date("Am 3.", "Mai 2022 regnete es.")
    assert not dates.is_inside_date("Er wurde 3.", "Maier gewann.")
    assert not dates.is_inside_date("Es regnete 2022.", "Mai und Juni waren nass.")


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("en", "5/3/2022\nIt rained.", date(2022, 5, 3)),
        ("fr", "{{date|9|septembre|2005}}", date(2005, 9, 9)),
        ("pl", "{{data|2010-05-06|Warszawa}}", date(2010, 5, 6)),
        ("ja", "【2005年1月2日】\n雨が降った。", date(2005, 1, 2)),
        ("fa", "{{تاریخ|۱۸ مهر ۱۳۹۰}}", date(2011, 10, 10)),
        ("en", "It rained on May 3, 2022 in Lima, and the minister said that it would go on.", None),
        ("en", "{{date|February 30, 2022}}", None),
        ("en", "{{date|May 3, 1822}}", None),
    ],
)
def test_dates_as_wikis_write_them(language: str, source: str, expected: date | None) -> None:
    assert Dates(language).find(source) == expected


@pytest.mark.parametrize(
    ("language", "sentence", "is_cut"),
    [
        ("en", "The president of Brazil, Mr.", True),
        ("ru", "Это случилось в 2008 г.", True),
        ("ko", "워싱턴 D.C.", True),
        ("pt", "Foi uma crise política nacional.", False),  # "al." is an abbreviation
        ("ko", "2006년에 촬영한 달.", False),  # a word of one syllable
    ],
)
def test_cut_sentences(language: str, sentence: str, is_cut: bool) -> None:
    assert Abbreviations(language).ends(sentence) is is_cut
