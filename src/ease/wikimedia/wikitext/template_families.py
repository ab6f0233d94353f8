"""What families of templates show, such as `{{convert|5|km}}` as "5 kilometres": a function for each family."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.numbers import NumberFormatError, format_decimal, get_currency_symbol, parse_decimal
from babel.units import format_unit

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language

DATA: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
"""Templates by family"""

_NUMBER = re.compile(r"[+−-]?\d[\d.,]*")
_POWER = re.compile(r"e([369])(.+)")
_POWERS = {"3": "thousand", "6": "million", "9": "billion"}
"""What `e6` and the like before a unit mean in English"""
_NO_NUMBER = (NumberFormatError, ValueError, ArithmeticError)
"""Raised for texts that only resemble numbers, and for numbers with more digits than decimals have"""
_US = "us"
"""Value of the argument `sp` for American spelling"""


class Arguments(NamedTuple):
    """Arguments of a template, by position from 0 and by name."""

    positional: list[str]
    named: dict[str, str]

    def at(self, place: int) -> str:
        """Return a positional argument; empty if there is none."""
        return self.positional[place] if -len(self.positional) <= place < len(self.positional) else ""


@cache
def language_name(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = _locale(language)
    return str(locale.languages.get(code, "")) if locale else ""


@cache
def _locale(language: str) -> Locale | None:
    """Return CLDR's locale of a Wikipedia; the English one writes British English, as its templates do."""
    try:
        return Locale.parse({"en": "en-GB", _US: "en-US"}.get(language) or Language(language).bcp_47, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


def format_number(digits: str, language: str) -> str:
    """Write a number with the separators of a language."""
    locale = _locale(language)
    if locale is None:
        return digits
    zeros = re.search(r"\.\d*?(0+)$", digits)
    try:
        number = parse_decimal(digits.replace(",", ""), locale="en")
        # CLDR's pattern would drop the last zeros.
        pattern = f"#,##0.{'0' * len(zeros[0][1:])}" if zeros else None
        return str(format_decimal(number, pattern, locale=locale, decimal_quantization=False))
    except _NO_NUMBER:
        return digits


def _quantity(arguments: Arguments, language: str) -> str:
    """Write `5|km` or `5|-|10|km` as a number or a range with its unit, and `6|ft|4|in` with both units."""
    words, place = "", 0
    for word in arguments.positional:
        if _NUMBER.fullmatch(word):
            words += _signed(word, language)
        elif word.lower() in DATA["ranges"] and words:
            words += DATA["ranges"][word.lower()]
        else:
            break
        place += 1
    if not words:
        return ""
    unit, *after = arguments.positional[place:] or [""]
    if language == "en" and (power := _POWER.fullmatch(unit.lower())):
        words, unit = f"{words} {_POWERS[power[1]]}", power[2]
    locale = _locale(_US if arguments.named.get("sp") == _US and language == "en" else language)
    if language == "en" and arguments.named.get("adj") in ("on", "mid"):
        return _adjective(words, unit, after, locale)
    shown = _with_unit(words, unit, locale, language)
    if len(after) > 1 and after[0].isdigit() and after[1].lower() in DATA["smaller units"].get(unit, []):
        return f"{shown} {_with_unit(after[0], after[1], locale, language)}"
    return shown


def _signed(word: str, language: str) -> str:
    """Write a number with its sign; a minus as a minus."""
    sign = "−" if word[0] in "−-" else word[0] if word[0] == "+" else ""
    return sign + format_number(word.lstrip("+−-"), language)


def _adjective(words: str, unit: str, after: list[str], locale: Locale | None) -> str:
    """Write a quantity before a noun: 10-inch, or 204-metre-high with the words that follow."""
    identifier = DATA["units"].get(unit.lower())
    if identifier is None or locale is None:
        return f"{words} {unit}".strip()
    name = str(format_unit(1, identifier, locale=locale)).removeprefix("1 ")
    ending = after[-1] if after and after[-1].startswith("-") else ""
    return f"{words} {name}".replace(" ", "-") + ending


def _with_unit(words: str, unit: str, locale: Locale | None, language: str) -> str:
    """Append a unit's name in a language, in the form that fits the last number."""
    if named := DATA["named units"].get(language, {}).get(unit.lower()):
        return f"{words} {named}"
    identifier = DATA["units"].get(unit.lower())
    if identifier is None or locale is None:
        return f"{words} {unit}".strip()
    try:
        # "1 million" is plural.
        number = parse_decimal(re.findall(r"[\d.,]+", words)[-1], locale=locale) * (
            1000 if words[-1].isalpha() else 1
        )
        shown = str(format_unit(number, identifier, locale=locale))
        plain = str(format_decimal(number, locale=locale))
    except (*_NO_NUMBER, IndexError):
        return f"{words} {unit}"
    return shown.replace(plain, words, 1) if plain in shown else f"{words} {unit}"


def _measure(arguments: Arguments, language: str) -> str:
    """Write `5|k|m`, a number with a unit and its prefix, as 5 km."""
    number, prefix, unit = (arguments.at(place) for place in range(3))
    return f"{number} {'' if prefix == '-' else prefix}{unit}".strip()


def _nihongo(arguments: Arguments, language: str) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    shown, *inside = (arguments.at(place).rstrip(", ") for place in (0, 1, 2))
    brackets = ", ".join(filter(None, inside))
    return f"{shown} ({brackets})" if shown and brackets else shown or brackets


def _as_of(arguments: Arguments, language: str) -> str:
    """Write `As of 2014`, with the parts of a date in the order year, month, day."""
    day = " ".join(filter(None, [arguments.at(2), _month(arguments.at(1), language), arguments.at(0)]))
    words = arguments.named.get("alt") or f"{'as' if 'lc' in arguments.named else 'As'} of {day}"
    return words + arguments.named.get("post", "") if day else ""


def _month(number: str, language: str) -> str:
    locale = _locale(language)
    names = locale.months["format"]["wide"] if locale else {}
    return str(names.get(int(number), number)) if number.isdecimal() else number


def _circa(arguments: Arguments, language: str) -> str:
    return f"c. {'–'.join(filter(None, arguments.positional))}" if arguments.at(0) else "c."


def _fraction(arguments: Arguments, language: str) -> str:
    """Write `1|2` as 1⁄2, and `3|1|2` as 3 1⁄2."""
    parts = [part for part in arguments.positional if part]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join([*parts[:-2], f"{parts[-2]}⁄{parts[-1]}"]) if parts else ""


def _value(arguments: Arguments, language: str) -> str:
    """Write a number with its power of ten and its unit."""
    power = arguments.named.get("e")
    words = arguments.at(0) + (f"×10^{power}" if power else "")
    return f"{words} {arguments.named.get('u') or arguments.named.get('ul') or ''}".strip()


def _joined(arguments: Arguments, language: str) -> str:
    return "".join(arguments.positional)


def _brackets(arguments: Arguments, language: str) -> str:
    return f"⟨{arguments.at(0)}⟩" if arguments.at(0) else ""


def _power(arguments: Arguments, language: str) -> str:
    """Write `7|15` as 7×10^15, and `15` as ×10^15."""
    return "×10^".join(arguments.positional[:2]) if arguments.at(1) else f"×10^{arguments.at(0)}"


def _words(arguments: Arguments, language: str) -> str:
    return " ".join(arguments.positional[:2])


def _formatted(arguments: Arguments, language: str) -> str:
    return format_number(arguments.at(0), language)


def _named_language(arguments: Arguments, language: str) -> str:
    """Write `de|Berlin` as German: Berlin."""
    return name_language(arguments.at(0), arguments.at(1), language)


def name_language(code: str, words: str, language: str) -> str:
    """Return words of a language after its name, both in the language of a wiki; the words alone without a name."""
    name = language_name(code.lower(), language)
    return f"{name}: {words}" if name and words else words


def _interlanguage(arguments: Arguments, language: str) -> str:
    """Show the label of `title|de|other title`, or of the older form `de|other title|label`."""
    if arguments.at(0) in WIKIPEDIA_LANGUAGES and arguments.at(1):
        return arguments.at(2) or arguments.at(1)
    return arguments.named.get("lt") or arguments.at(0)


def _currency(arguments: Arguments, language: str) -> str:
    """Write `13 billion|USD` as US$13 billion."""
    locale, code = _locale(language), arguments.at(1).upper()
    symbol = get_currency_symbol(code, locale=locale) if locale and code else code
    return f"{symbol}{arguments.at(0)}" if arguments.at(0) else ""


FAMILIES: Mapping[str, Callable[..., str]] = {
    "nihongo": _nihongo,
    "as_of": _as_of,
    "circa": _circa,
    "fraction": _fraction,
    "value": _value,
    "joined": _joined,
    "measure": _measure,
    "quantity": _quantity,
    "brackets": _brackets,
    "power": _power,
    "words": _words,
    "number": _formatted,
    "named_language": _named_language,
    "interlanguage": _interlanguage,
    "currency": _currency,
}
"""Functions of a template's arguments and the wiki's language; an empty text removes the template"""
