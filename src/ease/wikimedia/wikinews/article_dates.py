"""Read the date of a news article from its date line or date template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime

import icu

from ease.wikimedia.languages import Language
from ease.wikimedia.wikinews.date_lines import DateLines, fold, month_names

FIRST_YEAR, LAST_YEAR = 2003, 2026
"""Wikinews started in 2004 and has been read-only since 2026; other years are not an article's date."""
_NUMBER = re.compile(r"\d+")
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|([^{}]*+)\}\}")
_TAG = re.compile(r"<[^<>]*+>|'{2,}")
_DASH = re.compile(r"\s[-–—]+\s")
"""Between place and date, and the first sentence."""
_LINES = 40
"""Lines of a page in which its date is looked for."""
_LONGEST_LINE = 200


class ArticleDates:
    """Finds the dates of the articles of one wiki."""

    def __init__(self, language: str) -> None:
        """Load the names of months and the order of numeric dates."""
        self._lines = DateLines(language)
        self._months = month_names(language)
        """(calendar, number from 0) by folded name."""
        names = sorted(self._months, key=len, reverse=True)
        # Without names (months of Chinese, Japanese and Korean are numbers) the pattern matches nothing.
        self._month = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, names)) or '(?!)'})(?![^\W\d_])")
        self._day_first = _day_first(language)

    def find(self, source: str) -> date | None:
        """Return the date of a page's first date line or date template; None if there is none."""
        return next((found for text in self._candidates(source) if (found := self.read(text))), None)

    def read(self, text: str) -> date | None:
        """Return the date that a text names by year, month and day."""
        folded = fold(text)
        month = self._month.search(folded)
        numbers = [int(number[0]) for number in _NUMBER.finditer(folded)]
        year = next((number for number in numbers if number > 999), None)
        if year is None:
            return None
        others = [number for number in numbers if number != year]
        if month is not None and len(others) == 1:
            return _in_gregorian(self._months[month[0]], year, others[0])
        if month is None and len(others) == 2:
            first, second = others
            month_first = numbers[0] == year or not self._day_first
            number, day = (first, second) if month_first else (second, first)
            return _in_gregorian([("gregorian", number - 1)], year, day)
        return None

    def _candidates(self, source: str) -> Iterator[str]:
        """Yield the arguments of templates and the lines that look like dates."""
        for line in source.split("\n")[:_LINES]:
            if len(line) > _LONGEST_LINE:
                continue
            for template in _TEMPLATE.finditer(line):
                for words in (template[2].replace("|", " "), *template[2].split("|")):
                    if self._lines.is_date(words):
                        yield words
            words = _TAG.sub("", _TEMPLATE.sub("", line)).strip()
            for part in (words, *_DASH.split(words, maxsplit=1)[:1]):
                if self._lines.is_date(part) or self._lines.is_place_and_date(part):
                    yield part


def _in_gregorian(months: list[tuple[str, int]], year: int, day: int) -> date | None:
    """Return the day of the first calendar that has it in Wikinews' time."""
    for calendar, number in months:
        dates = icu.Calendar.createInstance(icu.TimeZone.getGMT(), icu.Locale(f"@calendar={calendar}"))
        dates.clear()
        dates.setLenient(False)
        try:
            dates.set(year, number, day)
            found = datetime.fromtimestamp(dates.getTime(), UTC).date()
        except (icu.ICUError, ValueError, OverflowError, OSError):
            continue
        if FIRST_YEAR <= found.year <= LAST_YEAR:
            return found
    return None


def _day_first(language: str) -> bool:
    """Whether a numeric date of the language has the day before the month."""
    pattern = icu.DateFormat.createDateInstance(icu.DateFormat.SHORT, Language(language).locale).toPattern()
    return bool(pattern.find("d") < pattern.lower().find("m"))
