"""Write the dates, years and centuries of templates as a wiki's language writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache

from ease.wikimedia.wikitext.markup import GAP, HOLE
from ease.wikimedia.wikitext.quantities import write_minus
from ease.wikimedia.wikitext.template_arguments import Arguments, Writer, find_locale

# Wikis whose templates write English words.
_ENGLISH = ("en", "simple")


def _as_of(arguments: Arguments) -> str:
    """Write `As of 2014`, with the parts of a date in the order year, month, day."""
    if arguments.language not in _ENGLISH:
        return GAP + HOLE
    keywords = arguments.keywords
    year = arguments.at(0)
    month = _month(arguments.at(1), arguments.language)
    day = arguments.at(2)
    if keywords.get("df", "").upper() == "US" and day:
        date = f"{month} {day}, {year}"
    else:
        date = " ".join(filter(None, [day, month, year]))
    if not date:
        return ""
    if keywords.get("bare"):
        before = ""
    elif keywords.get("since"):
        before = "since "
    else:
        before = "as of "
    if "lc" not in keywords:
        before = before.capitalize()
    return (keywords.get("alt") or before + date) + keywords.get("post", "")


def _month(number: str, language: str) -> str:
    """Return a month's name in a language; another word unchanged."""
    if not number.isdecimal() or len(number) > 2:
        return number
    return _month_names(language).get(int(number), number)


@cache
def _month_names(language: str) -> dict[int, str]:
    locale = find_locale(language)
    if locale is None:
        return {}
    return {number: str(name) for number, name in locale.months["format"]["wide"].items()}


def _date(arguments: Arguments) -> str:
    """Write `3|mars|1996` or `1996|3|3` as 3 mars 1996, with the month's name and the order of the language."""
    parts = [part for part in arguments.positional if part]
    before: list[str] = []
    if len(parts) > 3 and parts[0].isalpha():
        # The name of the weekday.
        before = parts[:1]
    parts = parts[len(before) :][:3]
    # ISO 8601 in one argument
    if len(parts) == 1 and (iso := _ISO_DATE.fullmatch(parts[0])):
        parts = list(iso.groups())
    language = arguments.language
    if language == "fr":
        if len(parts) == 1 and (numbers := _DAY_MONTH_YEAR.fullmatch(parts[0])):
            parts = list(numbers.groups())
        parts = ["1" if part == "1er" else part for part in parts]
    year, month, day = _order_date(parts)
    number = month_number(month, language)
    if language == "fr":
        if year.startswith(("-", "−")):
            year = f"{year[1:]} av. J.-C."
        day = day.lstrip("0")
        if day == "1":
            day = "1er"
        return " ".join(filter(None, [*before, day, _month(month, language).lower(), year]))
    if language == "en" and not arguments.keywords.get("df") and number:
        # The default of American dates; without a year or a day, no comma.
        words = " ".join(filter(None, [_month(str(number), language), day.lstrip("0")]))
        separator = ", " if day and year else " "
        return separator.join(filter(None, [words, year]))
    return " ".join([*before, _write_date(year, number, day, language) or " ".join(filter(None, parts))])


_ISO_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_DAY_MONTH_YEAR = re.compile(r"(\d\d?)(?:er)?[ /.-](\w+)[ /.-](\d{3,4})")
_YEAR = re.compile(r"[-−]?\d{3,4}")
_YEAR_WORDS = {"ru": "г.", "uk": "р.", "be": "г.", "be-tarask": "г."}
_SKELETONS = {(True, True): "yMMMMd", (True, False): "yMMMM", (False, True): "MMMMd"}


def _order_date(parts: list[str]) -> tuple[str, str, str]:
    """Return year, month and day of a date that begins or ends with its year; a missing part is empty."""
    if parts and _YEAR.match(parts[0]):
        year, month, day = (*parts, "", "")[:3]
        return year, month, day
    day, month, year = (*parts, "", "", "")[:3]
    if day and not day.isdecimal():
        # Month and year.
        return month, day, ""
    return year, month, day


def month_number(month: str, language: str) -> int | None:
    """Return the number of a month that is given by number or by its name in a language; None for other words."""
    if month.isdecimal() and len(month) <= 2:
        number = int(month)
        return number if 1 <= number <= 12 else None
    return _months(language).get(month.casefold())


@cache
def _months(language: str) -> dict[str, int]:
    """Return the numbers of the months by their names in a language, in all widths and forms."""
    locale = find_locale(language)
    if locale is None:
        return {}
    names: dict[str, int] = {}
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            names |= {str(name).casefold(): number for number, name in locale.months[context][width].items()}
    return names


def _write_date(year: str, month: int | None, day: str, language: str) -> str:
    """Return a date in the long form of a language; empty if CLDR lacks the language or a part is no number."""
    locale = find_locale(language)
    if locale is None or month is None or not (day or "1").isdecimal() or not (year or "1").isdecimal():
        return ""
    skeleton = _SKELETONS.get((bool(year), bool(day)))
    if skeleton is None:
        return ""
    # With the time zones that it reads, a hundredth of a second that every command would pay.
    from babel.dates import format_date, format_skeleton

    try:
        form = date(int(year or 2000), month, int(day or 1))
    except ValueError:
        return ""
    if skeleton == "yMMMMd":
        words = str(format_date(form, "long", locale))
        # CLDR adds the word for year, which the templates do not.
        return words.removesuffix(_YEAR_WORDS.get(language, "")).rstrip()
    try:
        return str(format_skeleton(skeleton, form, locale=locale))
    except KeyError:
        return ""


def _numbered_date(arguments: Arguments) -> str:
    """Write `1|17|10|1973`, a date after a word such as `mf`, as a date."""
    return _date(arguments._replace(positional=arguments.positional[1:]))


def _daton(arguments: Arguments) -> str:
    """Write `18|januaro|1791` as 18-an de januaro 1791, in Esperanto."""
    return _esperanto_date(arguments, "an")


def _dato(arguments: Arguments) -> str:
    """Write `18|januaro|1791` as 18-a de januaro 1791, in Esperanto."""
    return _esperanto_date(arguments, "a")


def _esperanto_date(arguments: Arguments, ending: str) -> str:
    day, month, year = (arguments.at(place) for place in range(3))
    if not day:
        return ""
    return " ".join(filter(None, [f"{day}-{ending}", month and f"de {_month(month, 'eo')}", year]))


def _old_style_date(arguments: Arguments) -> str:
    """Write `16|мая|1896|4` as 4 (16) мая 1896, the Julian date first; English sets it second, after O.S."""
    if arguments.language in _ENGLISH:
        day, year, old = (arguments.at(place) for place in range(3))
        if not old:
            return GAP + HOLE
        if _YEAR_AT_END.search(old):
            return f"{day} {year} [O.S. {old}]"
        return f"{day} [O.S. {old}] {year}".rstrip()
    day, month, year, old_day = (arguments.at(place) for place in range(4))
    if not day or not month or not old_day:
        return GAP + HOLE
    old = " ".join(filter(None, arguments.positional[3:6]))
    month = _month(month, arguments.language)
    words = f"{old} ({day} {month})"
    if old.isdecimal():
        words = f"{old} ({day}) {month}"
    return f"{words} {year}".rstrip()


_YEAR_AT_END = re.compile(r"\d{3,4}$")
_DOTTED_DATE = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{3,4})")
# Julian day of the day before 1 March of the year 0, and of the day before the first one of `datetime`.
_JULIAN_START = 1721117
_DATETIME_START = 1721425


def _julian_date(arguments: Arguments) -> str:
    """Write `22.10.1721`, a Julian date, as 22 октября (2 ноября) 1721, with the Gregorian one in brackets."""
    match = _DOTTED_DATE.fullmatch(arguments.at(0))
    if match is None:
        return GAP + HOLE
    day, month, year = map(int, match.groups())
    # `datetime` has no year 10000.
    if not 1 <= day <= 31 or not 1 <= month <= 12 or year == 9999:
        return GAP + HOLE
    # Years and months are counted from March, since the leap day ends such a year.
    march_year = year + (month - 3) // 12
    days = day + (153 * ((month - 3) % 12) + 2) // 5 + 365 * march_year + march_year // 4
    new = date.fromordinal(days + _JULIAN_START - _DATETIME_START)
    name = _month(str(month), arguments.language)
    new_name = _month(str(new.month), arguments.language)
    if new.year != year:
        return f"{day} {name} {year} ({new.day} {new_name} {new.year})"
    if new.month != month:
        return f"{day} {name} ({new.day} {new_name}) {year}"
    return f"{day} ({new.day}) {name} {year}"


def _century(arguments: Arguments, word: str = " siècle", era: str = "") -> str:
    """Write `XXI|e` as XXIe siècle, and `XVIII|e|ou|XIX|e` as XVIIIe ou XIXe siècles, in French."""
    parts = [part for part in arguments.positional if part]
    if not parts:
        return ""
    words: list[str] = []
    centuries = 0
    after = ""
    for part in parts:
        if _ROMAN.fullmatch(part):
            words.append(part)
            centuries += 1
        elif part in ("e", "er", "re", "ème", "è") and words:
            words[-1] += part
        elif words and part.startswith("av"):
            after = f" {part}"
        else:
            words.append(part)
    if word and centuries > 1:
        word += "s"
    return f"{' '.join(words)}{word}{after}{era}"


_ROMAN = re.compile(r"[IVXLCDMivxlcdm\d]+")


def _catalan_century(arguments: Arguments) -> str:
    """Write `XIII|s` as segle XIII, and `XIII` as XIII, in Catalan."""
    number = arguments.at(0)
    words = {"s": "segle ", "S": "Segle ", "ss": "segles ", "Ss": "Segles "}
    if not number:
        return ""
    return words.get(arguments.at(1), "") + number


def _lifetime(arguments: Arguments) -> str:
    """Write `1990年|1月2日|2020年|3月4日` as （1990年1月2日—2020年3月4日）, as Chinese does."""
    birth_year, birth_day, death_year, death_day = (arguments.at(place) for place in range(4))
    if not birth_year and not death_year:
        return ""
    return f"（{birth_year}{birth_day}－{death_year}{death_day}）"


def _circa(arguments: Arguments) -> str:
    """Write `1500|1510` as c. 1500–1510."""
    if arguments.language not in _ENGLISH:
        return GAP + HOLE
    if not arguments.at(0):
        return "c."
    years = map(write_minus, filter(None, arguments.positional))
    return f"c. {'–'.join(years)}"


DATES: Mapping[str, Writer] = {
    "as_of": _as_of,
    "circa": _circa,
    "date": _date,
    "numbered_date": _numbered_date,
    "old_style_date": _old_style_date,
    "julian_date": _julian_date,
    "daton": _daton,
    "dato": _dato,
    "century": _century,
    "century_bc": lambda arguments: _century(arguments, era=" av. J.-C."),
    "century_number": lambda arguments: _century(arguments, ""),
    "millennium": lambda arguments: _century(arguments, " millénaire"),
    "catalan_century": _catalan_century,
    "lifetime": _lifetime,
}
"""Writers of templates by family"""
