"""Dates and abbreviations in news of many languages: lines with only a date, dates of articles, cut sentences."""

from __future__ import annotations

from datetime import date

import pytest
from babel.dates import format_date

from ease.wikimedia.languages import MEWSC16_LANGUAGES
from ease.wikimedia.wikinews.first_sentences import Abbreviations, Dates


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_every_date_of_a_year_in_cldrs_forms(language: str) -> None:
    dates = Dates(language)
    days = [date(2022, month, 2 * month) for month in range(1, 13)]
    forms = ("full", "long", "medium", "short")
    written = [format_date(day, form, locale=language) for day in days for form in forms]
    assert [text for text in written if not dates.is_date(text)] == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "'''November 13, 2004'''"),
        ("fr", "1er mai 2022"),
        ("ru", "вторник, 3 мая 2022 года"),
        ("sv", "3:e maj 2022"),
        ("ar", "الثلاثاء 3 أيار 2022"),
        ("fa", "سه‌شنبه ۱۳ اردیبهشت ۱۴۰۱"),
        ("en", "* * *"),
    ],
)
def test_dates_as_people_write_them(language: str, text: str) -> None:
    assert Dates(language).is_date(text)


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "On May 3, 2022, it rained."), ("en", "May I?"), ("ja", "5月3日、雨が降った。")],
)
def test_texts_that_are_not_dates(language: str, text: str) -> None:
    assert not Dates(language).is_date(text)


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
        ("en", "{{date|November 13, 2004}}\nIt rained.", date(2004, 11, 13)),
        ("en", "5/3/2022\nIt rained.", date(2022, 5, 3)),
        ("fr", "{{date|9|septembre|2005}}", date(2005, 9, 9)),
        ("pl", "{{data|2010-05-06|Warszawa}}", date(2010, 5, 6)),
        ("ja", "【2005年1月2日】\n雨が降った。", date(2005, 1, 2)),
        ("ar", "الثلاثاء 3 أيار 2010", date(2010, 5, 3)),
        ("fa", "{{تاریخ|۱۸ مهر ۱۳۹۰}}", date(2011, 10, 10)),
    ],
)
def test_dates_as_wikis_write_them(language: str, source: str, expected: date) -> None:
    assert Dates(language).find(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "It rained on May 3, 2022 in Lima, and the minister said that it would go on.",
        "{{date|February 30, 2022}}",
        "{{date|May 3, 1822}}",
        "",
    ],
)
def test_pages_without_a_date(source: str) -> None:
    assert Dates("en").find(source) is None


@pytest.mark.parametrize(
    ("language", "sentence", "is_cut"),
    [
        ("en", "The president of Brazil, Mr.", True),
        ("en", "It was signed by George W.", True),
        ("ru", "Это случилось в 2008 г.", True),
        ("ko", "워싱턴 D.C.", True),
        ("pt", "Foi uma crise política nacional.", False),  # "al." is an abbreviation
        ("ko", "2006년에 촬영한 달.", False),  # a word of one syllable
    ],
)
def test_cut_sentences(language: str, sentence: str, is_cut: bool) -> None:
    assert Abbreviations(language).ends(sentence) is is_cut
