"""Recognise lines with only a date, or a place and a date, in any language by CLDR's names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress

import icu
from babel.core import Locale, UnknownLocaleError

from ease.wikimedia.languages import Language

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"'([^']+)'")
_DAY = re.compile(r"(?<!\d)\d{1,2}\.$")
_SENTENCE_ENDS = frozenset(".!?…。؟۔")
_LONGEST_PLACE = 40
"""Largest number of characters before a date that may be a place: "Washington, D.C. (United States), "."""

_SKELETONS = ("yMMMMEEEEd", "yMMMMd", "MMMMd")
_YEARS = (0, 1, 2, 5, 1.5)
"""Numbers of years for which languages have different words."""


class DateLines:
    """Recognises dates of one language with their parts in any order and any punctuation.

    The names come from CLDR for all countries and calendars of the language (May is مايو or أيار in Arabic, and Iran
    has Persian months), with the words between them in CLDR's patterns ("3 de mayo").
    """

    def __init__(self, language: str) -> None:
        """Collect the names of a language; for a language unknown to ICU, only numbers are recognised."""
        self._months: set[str] = set()
        self._names: set[str] = set()
        for _, symbols in _symbols(language):
            for style in (icu.DateFormatSymbols.WIDE, icu.DateFormatSymbols.ABBREVIATED):
                for context in (icu.DateFormatSymbols.FORMAT, icu.DateFormatSymbols.STANDALONE):
                    self._months.update(_words(symbols.getMonths(context, style)))
                    self._names.update(_words(symbols.getWeekdays(context, style)))
        self._names |= self._months
        self._words = self._names.union(_pattern_words(language))
        joined = sorted((word for word in self._words if word == word.upper()), key=len, reverse=True)
        self._joined = re.compile(f"(?:{'|'.join(map(re.escape, joined))})+") if joined else None
        """Names in scripts without capitals, which may be written without spaces: 3日火曜日."""

    def is_date(self, text: str) -> bool:
        """Whether a text has only numbers, the words of a date, and punctuation."""
        folded = fold(text)
        words = _WORD.findall(folded)
        dated = not words or _NUMBER.search(folded) is not None or not self._names.isdisjoint(words)
        return dated and all(map(self._is_date_word, words))

    def is_place_and_date(self, line: str) -> bool:
        """Whether a line is a short text and a date with a year, and does not end like a sentence."""
        folded = fold(line)
        words, numbers = list(_WORD.finditer(folded)), list(_NUMBER.finditer(folded))
        place = max((word.end() for word in words if not self._is_date_word(word[0])), default=0)
        dates = [number for number in numbers if number.start() >= place]
        has_month = any(word.start() >= place and word[0] in self._months for word in words)
        has_year = any(len(number[0]) == 4 for number in dates)
        end = max((part.end() for part in (*words[-1:], *numbers[-1:])), default=0)
        ended = not _SENTENCE_ENDS.isdisjoint(folded[end:])
        return has_year and (has_month or len(dates) > 2) and place <= _LONGEST_PLACE and not ended

    def is_inside_date(self, before: str, after: str) -> bool:
        """Whether the boundary between two sentences splits a date: "Am 3." and "Mai 2022 …"."""
        word = _WORD.match(fold(after).lstrip())
        return bool(_DAY.search(before)) and word is not None and word[0] in self._months

    def _is_date_word(self, word: str) -> bool:
        return word in self._words or bool(self._joined and self._joined.fullmatch(word))


def month_names(language: str) -> dict[str, list[tuple[str, int]]]:
    """Return the calendars and numbers (from 0) of the months by their folded names."""
    names: dict[str, list[tuple[str, int]]] = {}
    for calendar, symbols in _symbols(language):
        for style in (icu.DateFormatSymbols.WIDE, icu.DateFormatSymbols.ABBREVIATED):
            for context in (icu.DateFormatSymbols.FORMAT, icu.DateFormatSymbols.STANDALONE):
                for number, name in enumerate(symbols.getMonths(context, style)):
                    places = names.setdefault(fold(name).rstrip("."), [])
                    if _WORD.search(name) and (calendar, number) not in places:
                        places.append((calendar, number))
    return {name: places for name, places in names.items() if places and not _NUMBER.search(name)}


def _symbols(language: str) -> Iterator[tuple[str, icu.DateFormatSymbols]]:
    """Yield the names of months and weekdays in each country's own calendar and in the Gregorian calendar."""
    countries = [name for name in icu.Locale.getAvailableLocales() if name.startswith(f"{language}_")]
    for name in (language, *sorted(countries)):
        calendars = {"gregorian", icu.Calendar.createInstance(icu.Locale(name)).getType()}
        for calendar in sorted(calendars):
            locale = icu.Locale(f"{name}@calendar={calendar}")
            yield calendar, icu.SimpleDateFormat("y", locale).getDateFormatSymbols()


def _pattern_words(language: str) -> Iterator[str]:
    """Yield the words between the numbers and names of a date: "de", "年", "года", "rd"."""
    locale = Language(language).locale
    # Both ICU's patterns and Babel's, whose versions of CLDR differ: Catalan changed "de 2022" to "del 2022".
    generator = icu.DateTimePatternGenerator.createInstance(locale)
    patterns = [generator.getBestPattern(skeleton) for skeleton in _SKELETONS]
    with suppress(UnknownLocaleError, ValueError):  # a code without a locale
        patterns += [form.pattern for form in Locale.parse(language).date_formats.values()]
    for pattern in patterns:
        parts = _QUOTED.split(pattern)
        yield from _words(parts[1::2])
        yield from _words(re.sub("[A-Za-z]", " ", part) for part in parts[::2])
    ordinals = icu.RuleBasedNumberFormat(icu.URBNFRuleSetTag.ORDINAL, locale)
    yield from _words(ordinals.format(day) for day in range(1, 32))
    years, unit = icu.MeasureFormat(locale, icu.UMeasureFormatWidth.WIDE), icu.MeasureUnit.createYear()
    yield from _words(years.formatMeasure(icu.Measure(number, unit)) for number in _YEARS)


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from _WORD.findall(fold(text))


def fold(text: str) -> str:
    """Return a text without case and differences of width, with the digits 0 to 9 for those of other scripts."""
    return unicodedata.normalize("NFKC", text).casefold()
