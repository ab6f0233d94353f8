"""Lines with only a date, in the 16 languages of MewsC-16."""

from __future__ import annotations

from datetime import date

import pytest
from babel.dates import format_date

from ease.wikimedia.wikinews.first_sentences import DateLines

LANGUAGES = ("ar", "ca", "cs", "de", "en", "eo", "es", "fa", "fr", "ja", "ko", "pl", "pt", "ru", "sv", "tr")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", ["full", "long", "medium", "short"])
def test_every_date_of_a_year_in_cldrs_forms(language: str, form: str) -> None:
    dates = DateLines(language)
    written = [format_date(date(2022, month, 2 * month), form, locale=language) for month in range(1, 13)]
    assert [text for text in written if not dates.is_date(text)] == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "'''November 13, 2004'''"),
        ("en", "3rd May 2022"),
        ("en", "2022-05-03"),
        ("en", "[[May 3]], [[2022]]"),
        ("fr", "1er mai 2022"),
        ("ca", "3 de maig de 2022"),
        ("ru", "вторник, 3 мая 2022 года"),
        ("pl", "3 maja 2022 roku"),
        ("sv", "3:e maj 2022"),
        ("ja", "2022年5月3日（火）"),
        ("ar", "الثلاثاء 3 أيار 2022"),
        ("ar", "٣ مايو ٢٠٢٢"),
        ("fa", "سه‌شنبه ۱۳ اردیبهشت ۱۴۰۱"),
        ("fa", "۳ مه ۲۰۲۲"),
        ("en", "Tuesday"),
        ("en", "* * *"),
    ],
)
def test_dates_as_people_write_them(language: str, text: str) -> None:
    assert DateLines(language).is_date(text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "On May 3, 2022, it rained."),
        ("en", "St."),
        ("en", "May I?"),
        ("de", "Am 3. Mai"),
        ("de", "3 de mayo de 2022"),
        ("ja", "5月3日、雨が降った。"),
        ("ja", "日本"),
        ("ar", "أمطرت في 3 مايو 2022"),
    ],
)
def test_texts_that_are_not_dates(language: str, text: str) -> None:
    assert not DateLines(language).is_date(text)


@pytest.mark.parametrize(
    ("language", "line", "expected"),
    [
        ("de", "Berlin (Deutschland), 03.05.2022 –", True),
        ("de", "Berlin (Deutschland), 03.05.2022 – Es regnet.", False),
        ("en", "Washington, D.C., Tuesday, May 3, 2022", True),
        ("en", "Washington, May 3", False),
        ("en", "It rained in Washington on May 3, 2022.", False),
        ("en", 'The mayor said on May 3, 2022."', False),
        ("en", "A line that goes on for longer than any name of a place does, May 3, 2022", False),
        ("es", "Lima, 3 de mayo de 2022", True),
        ("ja", "東京、2022年5月3日", True),
        ("ja", "東京で2022年5月3日に雨", False),
        ("fa", "تهران، ۱۳ اردیبهشت ۱۴۰۱", True),
    ],
)
def test_a_place_and_a_date(language: str, line: str, expected: bool) -> None:
    assert DateLines(language).is_place_and_date(line) is expected


def test_a_boundary_between_a_day_and_its_month() -> None:
    dates = DateLines("de")
    assert dates.is_inside_date("Am 3.", "Mai 2022 regnete es.")
    assert not dates.is_inside_date("Er wurde 3.", "Maier gewann.")
    assert not dates.is_inside_date("Es regnete 2022.", "Mai und Juni waren nass.")


"""All lines of the released data set that count as dates."""
