"""Replace templates whose arguments are part of the prose by their words: numbers, dates, quotations, names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.numbers import NumberFormatError, format_decimal, get_currency_symbol, get_decimal_symbol, get_group_symbol
from babel.units import format_unit

from ease.io.files import read_data_file
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language
from ease.wikimedia.wikitext.markup import GAP, HOLE
from ease.wikimedia.wikitext.titles import decode_entities

_MINUS = "−"
# Value of the argument `sp` for American spelling, and code of the locale.
_AMERICAN = "us"
# Characters of a number, or of a range with its unit, in one argument; a longer argument is no quantity.
_LONGEST = 200
# Wikis whose templates write English words.
_ENGLISH = ("en", "simple")
# Digits of a number, as many as `Decimal` computes with; a longer number stays as it is written.
_MOST_DIGITS = 28
# Language names that are cached; a dump may have any number of codes.
_LANGUAGE_NAMES = 4096
# A position that a number names; more arguments have no number.
_PLACE = re.compile(r"[1-9]\d{0,6}")
_GROUPED = re.compile(r"\d{1,3},\d{3}")
_HYPHEN = re.compile(r"[-–](?=\.?\d)")
_NUMBER = re.compile(
    r"(?P<sign>[+−–-]?) ?(?:(?:(?P<integer>\d{1,9})[+ ])?(?P<above>\d{1,9})//?(?P<below>\d{1,9})(?![\d.,/])"
    r"|(?P<digits>[.,]?\d(?:[\d.,]|[ '’](?=\d{3}))*+))"
)
"""`-1,234.5`, `1 234,5`, `.5`, `1/2`, `5+1/2`"""
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?1?\d")
_POWER_OF_TEN = re.compile(r" ?[eE]([+−-]?\d{1,3})(?!\w)")
_TEN_EXPONENT = re.compile(r"(?<=[\d)])[eE](?=[+−-]?\d)")
_POWER = re.compile(r"e([369])(.+)")
_POWERS = {"3": "thousand", "6": "million", "9": "billion"}
"""What `e6` and the like before a unit mean in English"""


# The lists are read when a page is parsed: every command imports this module, and few parse wikitext.
@cache
def template_data() -> dict[str, Any]:
    """Return the content of `templates.yml`: templates by family, units, and words of ranges."""
    content: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
    return content


@cache
def _ranges() -> Mapping[str, str]:
    """Return the words between the numbers of a range by what the template's argument says."""
    ranges: dict[str, str] = template_data()["ranges"]
    return ranges


@cache
def _joint() -> re.Pattern[str]:
    """Match what joins the numbers of a range."""
    # The longest first, since an alternative of a pattern wins over its own beginnings.
    joints = sorted(map(re.escape, _ranges().keys() - set(",+")), key=len, reverse=True)
    return re.compile(rf" ?({'|'.join(joints)}) ?(?=[+−–-]?[.,]?\d)", re.IGNORECASE)


class _Number(NamedTuple):
    """A number or a range as a wiki writes it, and the value that the form of a unit depends on; None if unknown."""

    text: str
    value: Decimal | None

    def to(self, joint: str, end: _Number) -> _Number:
        """Append the end of a range, or the uncertainty of a number."""
        value = end.value
        if "±" in joint:
            value = self.value
        return _Number(f"{self.text}{joint}{end.text}", value)

    def times_ten_to(self, power: str) -> _Number:
        """Append a power of ten; any large value gives the unit the same form."""
        text = self.text
        if "±" in text:
            text = f"({text})"
        return _Number(f"{text}×10^{_write_minus(power)}", self.value and Decimal(1000))


@cache
def find_locale(language: str) -> Locale | None:
    """Return CLDR's locale of a Wikipedia; the English one writes British English, as its templates do."""
    tags = {"en": "en-GB", _AMERICAN: "en-US"}
    try:
        return Locale.parse(tags.get(language) or Language(language).bcp_47, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


class _Grouping(NamedTuple):
    """How a language writes numbers: marks, sizes of groups, and the fewest digits that are grouped."""

    decimal_mark: str
    separator: str
    size: int
    further_size: int
    least: int


@cache
def _find_grouping(language: str) -> _Grouping | None:
    # Babel looks each of these up anew, which would take most of the time of a number.
    locale = find_locale(language)
    if locale is None:
        return None
    # India's languages group the digits above the thousands by two.
    size, further_size = locale.decimal_formats[None].grouping
    least = size + 1
    if language in template_data()["ungrouped thousands"]:
        least = size + 2
    return _Grouping(get_decimal_symbol(locale), get_group_symbol(locale), size, further_size, least)


def _format_number(word: str, language: str) -> str:
    """Return a number with the separators of a language, and `1e6` with its zeros; another word unchanged."""
    if _EXPONENT.fullmatch(word):
        word = f"{Decimal(word):f}"
    number, rest = _read_number(word, language)
    if number is None or rest:
        return word
    return number.text


def _write_minus(word: str) -> str:
    if _HYPHEN.match(word):
        return _MINUS + word[1:]
    return word


def _read_number(words: str, language: str) -> tuple[_Number | None, str]:
    """Return the number or range with which words begin, if any, and the words after it: `5-10 km`, `5±1e3`."""
    words = " ".join(decode_entities(words).split())
    match = None
    if len(words) <= _LONGEST:
        match = _NUMBER.match(words)
    if match is None:
        return None, words
    number = _parse_number(match, language)
    position = match.end()
    while (joint := _joint().match(words, position)) and (match := _NUMBER.match(words, joint.end())):
        number = number.to(_ranges()[joint[1].lower()], _parse_number(match, language))
        position = match.end()
    power = _POWER_OF_TEN.match(words, position)
    if power:
        number = number.times_ten_to(power[1])
        position = power.end()
    return number, words[position:].strip()


def _parse_number(match: re.Match[str], language: str) -> _Number:
    """Return a match of `_NUMBER` as the language's templates write it."""
    sign = match["sign"]
    if sign not in ("", "+"):
        sign = _MINUS
    if match["above"]:
        fraction = " ".join(filter(None, [match["integer"], f"{match['above']}⁄{match['below']}"]))
        # The next integer has the form of the unit: 1⁄2 kilometre, 1 1⁄2 kilometres.
        return _Number(sign + fraction, Decimal(match["integer"] or 0) + 1)
    digits = re.sub("[ '’]", "", match["digits"])
    grouping = _find_grouping(language)
    if grouping is None or len(digits) > _MOST_DIGITS:
        return _Number(sign + match["digits"], None)

    # Templates accept the decimal mark of the language and the English one.
    own_mark = grouping.decimal_mark
    marks = re.findall("[.,]", digits)
    mark = own_mark
    if marks:
        mark = marks[-1]
    # The same mark twice groups thousands, and so does a comma before three digits where the point is decimal.
    if (len(marks) > 1 and len(set(marks)) == 1) or (own_mark == "." and _GROUPED.fullmatch(digits)):
        digits = digits.replace(mark, "")
        mark = own_mark
    integer = digits
    decimals = ""
    if mark in digits:
        integer, _, decimals = digits.rpartition(mark)
    integer = re.sub("[.,]", "", integer)
    if decimals:
        value = Decimal(f"{integer or 0}.{decimals}")
    else:
        value = Decimal(integer)
    text = _group_digits(integer.lstrip("0") or "0", grouping)
    if decimals:
        # English has no decimal comma: one that groups no thousands stays.
        if own_mark == "." and len(marks) == 1:
            text += mark + decimals
        else:
            text += own_mark + decimals
    return _Number(sign + text, value)


def _group_digits(digits: str, grouping: _Grouping) -> str:
    """Return an integer with a language's separators between its groups of digits."""
    if len(digits) < grouping.least:
        return digits
    groups = [digits[-grouping.size :]]
    rest = digits[: -grouping.size]
    while rest:
        groups.insert(0, rest[-grouping.further_size :])
        rest = rest[: -grouping.further_size]
    return grouping.separator.join(groups)


def _with_unit(number: _Number, unit: str, language: str) -> str:
    """Return a number with a unit's name in a language, in the form that fits the value."""
    names = template_data()["named units"].get({_AMERICAN: "en"}.get(language, language), {})
    if own_name := names.get(unit.lower()):
        return f"{number.text} {own_name}"
    if "oilbbl" in unit.lower():
        # The code is no word of any language.
        return number.text + GAP + HOLE
    symbol_form = f"{number.text} {unit}".strip()
    identifier = template_data()["units"].get(unit.lower())
    locale = find_locale(language)
    if identifier is None or locale is None or number.value is None:
        return symbol_form
    try:
        plural_form = str(locale.plural_form(number.value))
        key = (identifier, language, plural_form)
        if key not in _UNIT_NAMES:
            phrase = str(format_unit(number.value, identifier, locale=locale))
            _UNIT_NAMES[key] = _read_unit_name(phrase, str(format_decimal(number.value, locale=locale)), identifier)
    except (NumberFormatError, ValueError, ArithmeticError):
        return symbol_form
    if (name := _UNIT_NAMES[key]) is None:
        return symbol_form
    return f"{name[0]}{number.text}{name[1]}"


# The text before and after the number by unit, language and plural form; None if CLDR has no name with a number.
_UNIT_NAMES: dict[tuple[str, str, str], tuple[str, str] | None] = {}


def _read_unit_name(phrase: str, number: str, identifier: str) -> tuple[str, str] | None:
    # For a name that CLDR lacks, Babel writes the identifier.
    if identifier in phrase or number not in phrase:
        return None
    before, _, after = phrase.partition(number)
    return before, after


class Arguments(NamedTuple):
    """Arguments of a template, by position from 0 and by lower-case name; and the wiki's language.

    `exact` has all of them by their names as they are written, positions included. `title` is the page's title; empty
    if it is unknown.
    """

    positional: list[str]
    keywords: dict[str, str]
    language: str
    exact: Mapping[str, str] = {}
    title: str = ""

    def at(self, place: int) -> str:
        """Return a positional argument; empty if there is none."""
        if -len(self.positional) <= place < len(self.positional):
            return self.positional[place]
        return ""


def make_arguments(exact: Mapping[str, str], language: str, title: str = "") -> Arguments:
    """Return arguments by their names as they are written, positions included."""
    positional: dict[int, str] = {}
    keywords: dict[str, str] = {}
    for name, value in exact.items():
        if _PLACE.fullmatch(name):
            positional[int(name)] = value.strip()
        else:
            keywords[name.lower()] = value
    places = range(1, max(positional, default=0) + 1)
    return Arguments([positional.get(place, "") for place in places], keywords, language, exact, title)


def _quantity(arguments: Arguments) -> str:
    """Write `5|km`, `5|-|10|km` or `30 km` as a number or range with its unit, and `6|ft|4|in` with both units."""
    language = arguments.language
    keywords = arguments.keywords
    number, rest = _read_number(arguments.at(0), language)
    if number is None:
        # Roman numerals, or a template that is not shown.
        if GAP in rest:
            return ""
        return " ".join(filter(None, arguments.positional[:2]))
    if rest:
        return f"{number.text} {rest}"
    number, further = _read_range(number, arguments)
    unit, *after = further or [""]
    spelling = language
    if language == "en":
        if large := _POWER.fullmatch(unit.lower()):
            value = number.value and number.value * 1000
            number = _Number(f"{number.text} {_POWERS[large[1]]}", value)
            unit = large[2]
        if keywords.get("sp") == _AMERICAN:
            spelling = _AMERICAN
        if keywords.get("adj") in ("on", "mid"):
            return _adjective(number.text, unit, after, spelling)
    words = _with_unit(number, unit, spelling)
    # Further arguments are the units to convert to, unless they continue the quantity: 6 feet 4 inches.
    if len(after) > 1 and after[1].lower() in template_data()["smaller units"].get(unit, []):
        smaller, rest = _read_number(after[0], language)
        if smaller and not rest:
            return f"{words} {_with_unit(smaller, after[1], spelling)}"
    return words


def _read_range(number: _Number, arguments: Arguments) -> tuple[_Number, list[str]]:
    """Append the further ends and the power of a number, and return the positional arguments after them."""

    def end_of(word: str) -> _Number:
        end, rest = _read_number(word, arguments.language)
        if end is None or rest:
            # A word that is no number stays as it is written.
            return _Number(word, None)
        return end

    further = arguments.positional[1:]
    keywords = arguments.keywords
    while len(further) > 1 and (joint := _ranges().get(decode_entities(further[0]).lower())):
        number = number.to(joint, end_of(further[1]))
        further = further[2:]
    # `{{convert|5|km|+/-=1}}`: the joint may be the name of an argument.
    for name, value in keywords.items():
        if joint := _ranges().get(name):
            number = number.to(joint, end_of(value))
    if power := keywords.get("e"):
        number = number.times_ten_to(power)
    if keywords.get("comma") == "off" and arguments.language == "en":
        number = number._replace(text=re.sub(r"(?<=\d),(?=\d)", "", number.text))
    return number, further


def _adjective(words: str, unit: str, after: list[str], language: str) -> str:
    """Write a quantity before a noun: 10-inch, or 204-metre-high with the words that follow."""
    identifier = template_data()["units"].get(unit.lower())
    locale = find_locale(language)
    singular = identifier and locale and str(format_unit(1, identifier, locale=locale)).removeprefix("1 ")
    # For a name that CLDR lacks, Babel writes the identifier.
    if not singular or singular == identifier:
        return f"{words} {unit}".strip()
    ending = ""
    if after and after[-1].startswith("-"):
        ending = after[-1]
    return f"{words} {singular}".replace(" ", "-") + ending


def _powers(arguments: Arguments) -> str:
    """Write `5|km|2|s|-1`, a number with the powers of its units, as 5 km2 s−1."""
    ends = 1
    while arguments.at(ends).lower() in _ranges():
        ends += 2
    numbers = arguments.positional[:ends] or [""]
    units = arguments.positional[ends:]
    pairs = zip_longest(units[::2], units[1::2], fillvalue="")
    unit = " ".join(unit + _write_minus(power) for unit, power in pairs if unit)
    return _quantity(arguments._replace(positional=[*numbers, *filter(None, [unit])]))


def _measure(arguments: Arguments) -> str:
    """Write `5|k|m`, a number with a unit and its prefix, as 5 km, and `5,2|0,1|u=kg` as 5,2±0,1 kg."""
    words = arguments.positional
    keywords = arguments.keywords
    language = arguments.language
    # A number with a point is written for a program, and stays.
    words = [word if "." in word else _format_number(word, language) for word in words]
    prefix = arguments.at(1)
    unit = arguments.at(2)
    # If the second argument is a number, it is an uncertainty, not a prefix.
    if unit or _read_number(prefix, language)[0] is None:
        unit = unit or keywords.get("u") or keywords.get("ul") or ""
        if prefix != "-":
            unit = prefix + unit
        words = words[:1]
        keywords = {**keywords, "u": unit}
    return _value(Arguments(words, keywords, language))


def _value(arguments: Arguments) -> str:
    """Write `5.2|0.1|e=6|u=kg` as (5.2±0.1)×10^6 kg."""
    keywords = arguments.keywords
    with_commas = keywords.get("fmt") == "commas"

    def write(word: str) -> str:
        word, *powers = _TEN_EXPONENT.split(word)
        if with_commas:
            word = _format_number(word, arguments.language)
        else:
            word = _write_minus(word)
        return "×10^".join([word, *map(_write_minus, powers)])

    words, *more = map(write, arguments.positional or [""])
    is_uncertain = bool(more and more[0])
    if is_uncertain and more[0].lower() in _ranges():
        words += "".join(_ranges().get(word.lower(), word) for word in more)
    elif is_uncertain and more[0].startswith("("):
        # The uncertainty of the last digits, 5.25(3), needs no brackets around it.
        words += more[0]
        is_uncertain = False
    elif is_uncertain and more[1:]:
        words += f"+{more[0].lstrip('+')}−{more[1].lstrip('−')}"
    elif is_uncertain:
        words += f"±{more[0].lstrip('±')}"
    if power := keywords.get("e"):
        words = _times_power(words, power, is_uncertain)

    unit = _unit_symbol(keywords, "u")
    space = " "
    if unit.startswith(("%", "‰", "′", "″")) or unit == "°":
        space = ""
    if divisor := _unit_symbol(keywords, "up"):
        unit += f"/{divisor}"
    return f"{keywords.get('p', '')}{words}{space}{unit}".strip() + keywords.get("s", "")


def _times_power(words: str, power: str, is_uncertain: bool) -> str:
    if is_uncertain:
        words = f"({words})"
    if words:
        words += "×"
    return f"{words}10^{_write_minus(power)}"


def _unit_symbol(keywords: Mapping[str, str], name: str) -> str:
    """Return the symbol of the unit in an argument, or in the argument for a unit with a link, whose name ends in l."""
    code = keywords.get(name) or keywords.get(f"{name}l") or ""
    return str(template_data()["symbols of units"].get(code, code))


def _nihongo(arguments: Arguments) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    english, *originals = (arguments.at(place).rstrip(", ") for place in (0, 1, 2))
    brackets = ", ".join(filter(None, originals))
    if english and brackets:
        return f"{english} ({brackets})"
    return english or brackets


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
    year, month, day = _order_date(parts)
    number = month_number(month, arguments.language)
    language = arguments.language
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


def _ship(arguments: Arguments) -> str:
    """Write `HMS|Victory|1765` as HMS Victory (1765); the fourth argument says which parts are shown."""
    prefix, name, number, form = (arguments.at(place) for place in range(4))
    if arguments.keywords.get("up"):
        form = "2"
    if form == "1":
        return number or f"{prefix} {name}"
    if form in ("3", "6"):
        prefix = ""
    if form in ("2", "6", "5"):
        number = ""
    words = " ".join(filter(None, [prefix, name]))
    if number and words:
        return f"{words} ({number})"
    return words


def _ship_of(prefix: str) -> Writer:
    """Return the writer of the template of one prefix: `{{HMS|Victory|1765}}`."""
    return lambda arguments: _ship(arguments._replace(positional=[prefix, *arguments.positional]))


def _ship_class(arguments: Arguments) -> str:
    """Write `Nimitz|aircraft carrier` as Nimitz-class aircraft carrier."""
    name, kind, form = (arguments.at(place) for place in range(3))
    if not name:
        return ""
    if form in ("0", "5"):
        return f"{name} {kind}".strip()
    if not kind:
        return f"{name} class"
    return f"{name}-class {kind}"


def _native_name(arguments: Arguments) -> str:
    """Write `nap|Abbrùzze` as Abbrùzze (Neapolitan)."""
    code = arguments.at(0)
    words = arguments.at(1)
    name = name_language(code.lower(), arguments.language)
    if not words or not name or arguments.keywords.get("paren") == "omit":
        return words
    return f"{words} ({name})"


def _reading(arguments: Arguments) -> str:
    """Write `青木 花子|あおき はなこ` with the reading in brackets, as Japanese does."""
    words = arguments.at(0)
    readings = "、".join(filter(None, arguments.positional[1:3]))
    if not words or not readings:
        return words
    return f"{words}（{readings}）"


def _quoted(arguments: Arguments) -> str:
    """Write words between the quotation marks of the wiki's language."""
    words = arguments.at(0) or arguments.keywords.get("text") or arguments.keywords.get("quote") or ""
    if not words:
        return ""
    start, end = Language(arguments.language).quotation_marks
    if arguments.language == "fr":
        # French sets spaces inside its marks.
        return f"{start} {words} {end}"
    return f"{start}{words}{end}"


def _pronunciation(arguments: Arguments) -> str:
    """Drop `es|anˈɡola`, a pronunciation of the word before it; `a` alone is a lost word of the sentence."""
    if arguments.at(1):
        return ""
    return GAP + HOLE


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
    years = map(_write_minus, filter(None, arguments.positional))
    return f"c. {'–'.join(years)}"


def _fraction(arguments: Arguments) -> str:
    """Write `1|2` as 1⁄2, and `3|1|2` as 3 1⁄2."""
    parts = [_write_minus(part) for part in arguments.positional if part]
    if not parts:
        return ""
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join([*parts[:-2], f"{parts[-2]}⁄{parts[-1]}"])


def _power(arguments: Arguments) -> str:
    """Write `7|15` as 7×10^15, and `15` as ×10^15."""
    *factors, power = map(_write_minus, arguments.positional[:2] or [""])
    if factors and not power:
        return f"×10^{factors[0]}"
    return f"{''.join(factors)}×10^{power}"


def with_language(code: str, words: str, arguments: Arguments) -> str:
    """Return words of a language after its name, both in the language of a wiki; the words alone without a name.

    The argument `label` replaces the name, or removes it.
    """
    name = arguments.keywords.get("label") or name_language(code.lower(), arguments.language)
    if name and name != "none" and words:
        return f"{name}: {words}"
    return words


_NO_COUNTRIES = frozenset({"BUR", "DDR", "FXX", "QUU", "TMP", "XAA", "XBB", "YMD", "ZAR", "ZZZ"})
"""Codes of former countries and of none, which CLDR nevertheless replaces by a code with a name"""


@cache
def name_country(code: str, language: str) -> str:
    """Return the name of a country by its code, ISO's or the Olympic one; empty if CLDR lacks it."""
    locale = find_locale(language)
    if locale is None:
        return ""
    return str(locale.territories.get(_territory(code), ""))


def _territory(code: str) -> str:
    """Return ISO's code of two letters for one of three, of ISO or of the Olympic Games; others as they are."""
    # CLDR lists codes of three letters as aliases of those of two; former countries may have several successors.
    territories = get_global("territory_aliases").get(code, [])
    if len(code) == 3 and code not in _NO_COUNTRIES and len(territories) == 1:
        return str(territories[0])
    return str(template_data()["olympic codes"].get(code, code))


@lru_cache(maxsize=_LANGUAGE_NAMES)
def name_language(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = find_locale(language)
    if locale is None:
        return ""
    return str(locale.languages.get(code, ""))


_LABELS = ("lt", "label", "text", "texte", "texto", "testo", "display", "d", "a", "nom", "vis", "نص", "متن")
"""Names of the argument with the words of a link to another language's article"""


# Names of the argument with the title in the wiki itself, besides the language's code
_OWN_TITLES = {"ar": ("عر", "عنوان")}


def _interlanguage(arguments: Arguments) -> str:
    """Show the words of a link to an article that only another wiki has.

    Wikis write `title|de|other title`, `de|other title|label`, `title|label|de|other title`, or `title|other title`.
    """
    for name in _LABELS:
        if label := arguments.keywords.get(name):
            return label
    first, second, third = (arguments.at(place) for place in range(3))
    if second and first.lower() in WIKIPEDIA_LANGUAGES:
        return arguments.at(3) or third or second
    if third and third.lower() in WIKIPEDIA_LANGUAGES:
        return second or first
    # `title|de|other title|label`; several languages follow each other without a label.
    label = arguments.at(3)
    if label and second.lower() in WIKIPEDIA_LANGUAGES and label.lower() not in WIKIPEDIA_LANGUAGES:
        return label
    # A title may be named by the code of the wiki's language.
    names = (arguments.language, *_OWN_TITLES.get(arguments.language, ()))
    return first or next(filter(None, map(arguments.keywords.get, names)), "")


def _currency(arguments: Arguments) -> str:
    """Write `13 billion|USD` as US$13 billion."""
    locale = find_locale(arguments.language)
    symbol = arguments.at(1).upper()
    if locale and symbol:
        symbol = get_currency_symbol(symbol, locale=locale)
    amount = _write_minus(_format_number(arguments.at(0), arguments.language))
    if not amount:
        return ""
    # The minus stands before the symbol.
    if amount.startswith(_MINUS):
        return f"{_MINUS}{symbol}{amount.removeprefix(_MINUS)}"
    return f"{symbol}{amount}"


def _coordinates(arguments: Arguments) -> str:
    """Mark coordinates in a sentence, which are not shown, as a hole; those in the page's title print nothing there."""
    if arguments.keywords.get("display", "").strip() in ("title", "t"):
        return ""
    return GAP + HOLE


def _named_flag(arguments: Arguments) -> str:
    """Write `Norvegia|nome` as Norvegia; a flag alone prints no word."""
    if arguments.at(1).lower() in ("nome", "name"):
        return arguments.at(0)
    return ""


def _flag(arguments: Arguments) -> str:
    """Write `Peru`, `PER` or `UN` as the name of the country; the argument `name` replaces it."""
    if name := arguments.keywords.get("name"):
        return name
    country = arguments.at(0)
    if country.isascii() and country.isalpha() and country.isupper() and len(country) <= 3:
        return name_country(country, arguments.language) or GAP + HOLE
    return country


def _accidental(arguments: Arguments) -> str:
    """Write `flat` as ♭; another symbol of music by its name."""
    return {"flat": "♭", "sharp": "♯", "natural": "♮"}.get(arguments.at(0), arguments.at(0))


def _brackets(arguments: Arguments) -> str:
    if not arguments.at(0):
        return ""
    return f"⟨{arguments.at(0)}⟩"


def _number(arguments: Arguments) -> str:
    number = _format_number(arguments.at(0), arguments.language)
    return " ".join(filter(None, [number, arguments.at(1)]))


Writer = Callable[[Arguments], str]  # Returns a template's text; empty to remove the template

FAMILIES: Mapping[str, Writer] = {
    "nihongo": _nihongo,
    "as_of": _as_of,
    "circa": _circa,
    "fraction": _fraction,
    "value": _value,
    "measure": _measure,
    "quantity": _quantity,
    "powers": _powers,
    "date": _date,
    "power": _power,
    "interlanguage": _interlanguage,
    "currency": _currency,
    "joined": lambda arguments: "".join(arguments.positional),
    "brackets": _brackets,
    "flag": _flag,
    "accidental": _accidental,
    "coordinates": _coordinates,
    "named_flag": _named_flag,
    "list": lambda arguments: " · ".join(filter(None, arguments.positional)),
    "words": lambda arguments: " ".join(arguments.positional[:2]),
    "number": _number,
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
    "ship": _ship,
    "ship_class": _ship_class,
    "native_name": _native_name,
    "reading": _reading,
    "quoted": _quoted,
    "lifetime": _lifetime,
    "pronunciation": _pronunciation,
    "all_words": lambda arguments: " ".join(filter(None, arguments.positional)),
    "named_language": lambda arguments: with_language(arguments.at(0), arguments.at(1), arguments),
}


def show_number(number: str, option: str, language: str) -> str:
    """Show `{{formatnum:…}}`; `{{formatnum:1,234.5|R}}` without separators of groups and with a decimal point."""
    if not option:
        return _format_number(number, language)
    if option.upper() == "R":
        if locale := find_locale(language):
            number = number.replace(get_group_symbol(locale), "").replace(get_decimal_symbol(locale), ".")
        # Some languages group by spaces, for which authors use several characters.
        number = re.sub(r"\s", "", number)
    return _write_minus(number)
