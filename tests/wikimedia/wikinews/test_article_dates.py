"""Dates of articles in the forms that wikis use."""

from __future__ import annotations

from datetime import date

import pytest

from ease.wikimedia.wikinews.first_sentences import ArticleDates


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("en", "{{date|November 13, 2004}}\nIt rained.", date(2004, 11, 13)),
        ("en", "Tuesday, 3 May 2022\nIt rained.", date(2022, 5, 3)),
        ("en", "'''[[May 3]], 2022'''\nIt rained.".replace("[[", "").replace("]]", ""), date(2022, 5, 3)),
        ("en", "5/3/2022\nIt rained.", date(2022, 5, 3)),
        ("de", "Berlin (Deutschland), 03.05.2022 – Es regnet.", date(2022, 5, 3)),
        ("de", "Veröffentlicht: 3. Mai 2022", date(2022, 5, 3)),
        ("fr", "{{date|9|septembre|2005}}", date(2005, 9, 9)),
        ("pl", "{{data|2010-05-06|Warszawa}}", date(2010, 5, 6)),
        ("ja", "【2005年1月2日】\n雨が降った。", date(2005, 1, 2)),
        ("ko", "{{날짜|2010년 3월 5일}}", date(2010, 3, 5)),
        ("ar", "الثلاثاء 3 أيار 2010", date(2010, 5, 3)),
        ("fa", "{{تاریخ|۱۸ مهر ۱۳۹۰}}", date(2011, 10, 10)),
        ("ru", "{{дата|5 января 2010}}", date(2010, 1, 5)),
    ],
)
def test_dates_as_wikis_write_them(language: str, source: str, expected: date) -> None:
    assert ArticleDates(language).find(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "It rained on May 3, 2022 in Lima, and the minister said that it would go on.",
        "{{Infobox|year=2022}}\nIt rained.",
        "{{date|May 3}}",
        "{{date|February 30, 2022}}",
        "{{date|May 3, 1822}}",
        "",
    ],
)
def test_pages_without_a_date(source: str) -> None:
    assert ArticleDates("en").find(source) is None
