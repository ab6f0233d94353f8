"""Read the numbers in templates' arguments, and write them with the separators of a wiki's language."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.numbers import NumberFormatError, format_decimal, get_decimal_symbol, get_group_symbol
from babel.units import format_unit

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.html_entities import decode_entities

DATA: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
"""Templates by family, units, and words of ranges"""
MINUS = "−"
AMERICAN = "us"
"""Value of the argument `sp` for American spelling, and code of the locale"""

_LONGEST = 200
"""Characters of a number, or of a range with its unit, in one argument"""
_MOST_DIGITS = 28
"""Digits of a number; a longer one stays as it is written."""
_GROUPED = re.compile(r"\d{1,3},\d{3}")
_HYPHEN = re.compile(r"[-–](?=\.?\d)")
_NUMBER = re.compile(
    r"(?P<sign>[+−–-]?) ?(?:(?:(?P<integer>\d{1,9})[+ ])?(?P<above>\d{1,9})//?(?P<below>\d{1,9})(?![\d.,/])"
    r"|(?P<digits>[.,]?\d(?:[\d.,]|[ '’](?=\d{3}))*+))"
)
"""`-1,234.5`, `1 234,5`, `.5`, `1/2`, `5+1/2`"""
_JOINTS = sorted(map(re.escape, DATA["ranges"].keys() - set(",+")), key=len, reverse=True)
_JOINT = re.compile(rf" ?({'|'.join(_JOINTS)}) ?(?=[+−–-]?[.,]?\d)", re.IGNORECASE)
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?1?\d")
_POWER_OF_TEN = re.compile(r" ?[eE]([+−-]?\d{1,3})(?!\w)")


class Number(NamedTuple):
    """A number or a range as a wiki writes it, and the value that the form of a unit depends on; None if unknown."""

    text: str
    value: Decimal | None


@cache
def find_locale(language: str) -> Locale | None:
    """Return CLDR's locale of a Wikipedia; the English one writes British English, as its templates do."""
    try:
        return Locale.parse(
            {"en": "en-GB", AMERICAN: "en-US"}.get(language) or Language(language).bcp_47, sep="-"
        )
    except (UnknownLocaleError, ValueError):
        return None


def format_number(word: str, language: str) -> str:
    """Write a number with the separators of a language, `1e6` with its zeros; another word stays."""
    if _EXPONENT.fullmatch(word):
        word = f"{Decimal(word):f}"
    number, rest = read_number(word, language)
    return word if number is None or rest else number.text


def unformat_number(word: str, language: str) -> str:
    """Write a number without separators of groups and with a decimal point, as `{{formatnum:1,234.5|R}}` does."""
    if locale := find_locale(language):
        word = word.replace(get_group_symbol(locale), "").replace(get_decimal_symbol(locale), ".")
    return re.sub(r"\s", "", word)


def write_minus(word: str) -> str:
    """Write the hyphen before a number as a minus."""
    return MINUS + word[1:] if _HYPHEN.match(word) else word


def read_number(words: str, language: str) -> tuple[Number | None, str]:
    """Return the number or range with which words begin, if any, and the words after it: `5-10 km`, `5±1e3`."""
    words = " ".join(decode_entities(words).split())
    if len(words) > _LONGEST or not (found := _NUMBER.match(words)):
        return None, words
    number, position = _read(found, language), found.end()
    while (joint := _JOINT.match(words, position)) and (found := _NUMBER.match(words, joint.end())):
        number, position = join(number, DATA["ranges"][joint[1].lower()], _read(found, language)), found.end()
    if power := _POWER_OF_TEN.match(words, position):
        return raise_to(number, power[1]), words[power.end() :].strip()
    return number, words[position:].strip()


def join(number: Number, joint: str, end: Number) -> Number:
    """Append the end of a range, or the uncertainty of a number."""
    return Number(f"{number.text}{joint}{end.text}", (number if "±" in joint else end).value)


def raise_to(number: Number, power: str) -> Number:
    """Multiply a number by a power of ten."""
    text = f"({number.text})" if "±" in number.text else number.text
    return Number(f"{text}×10^{write_minus(power)}", number.value and Decimal(1000))


def _read(found: re.Match[str], language: str) -> Number:
    sign = found["sign"] if found["sign"] in ("", "+") else MINUS
    if above := found["above"]:
        fraction = " ".join(filter(None, [found["integer"], f"{above}⁄{found['below']}"]))
        return Number(sign + fraction, Decimal(found["integer"] or 0) + 1)
    digits, locale = re.sub("[ '’]", "", found["digits"]), find_locale(language)
    if locale is None or len(digits) > _MOST_DIGITS:
        return Number(sign + found["digits"], None)
    own_mark = get_decimal_symbol(locale)
    marks = re.findall("[.,]", digits)
    mark = marks[-1] if marks else own_mark
    if (len(marks) > 1 and len(set(marks)) == 1) or (own_mark == "." and _GROUPED.fullmatch(digits)):
        digits, mark = digits.replace(mark, ""), own_mark
    whole, _, decimals = digits.rpartition(mark) if mark in digits else (digits, "", "")
    whole = re.sub("[.,]", "", whole)
    written = _group(whole, locale, language)
    if decimals:  # English has no decimal comma: one that groups no thousands stays
        written += (mark if own_mark == "." and len(marks) == 1 else own_mark) + decimals
    return Number(sign + written, Decimal(f"{whole or 0}.{decimals}" if decimals else whole))


def _group(whole: str, locale: Locale, language: str) -> str:
    whole = whole.lstrip("0") or "0"
    size, further = locale.decimal_formats[None].grouping
    if len(whole) < size + (2 if language in DATA["ungrouped thousands"] else 1):
        return whole
    head, groups = whole[:-size], [whole[-size:]]
    while head:
        head, group = head[:-further], head[-further:]
        groups.insert(0, group)
    return str(get_group_symbol(locale)).join(groups)


def with_unit(number: Number, unit: str, language: str) -> str:
    """Append a unit's name in a language, in the form that fits the value."""
    if named := DATA["named units"].get({AMERICAN: "en"}.get(language, language), {}).get(unit.lower()):
        return f"{number.text} {named}"
    identifier, locale = DATA["units"].get(unit.lower()), find_locale(language)
    if identifier is None or locale is None or number.value is None:
        return f"{number.text} {unit}".strip()
    try:
        shown = str(format_unit(number.value, identifier, locale=locale))
        plain = str(format_decimal(number.value, locale=locale))
    except (NumberFormatError, ValueError, ArithmeticError):
        return f"{number.text} {unit}"
    if identifier in shown or plain not in shown:  # CLDR lacks the name
        return f"{number.text} {unit}"
    return shown.replace(plain, number.text, 1)


def unit_name(unit: str, language: str) -> str | None:
    """Return the singular of a unit's name in a language, or None if CLDR lacks it."""
    identifier, locale = DATA["units"].get(unit.lower()), find_locale(language)
    if identifier is None or locale is None:
        return None
    name = str(format_unit(1, identifier, locale=locale)).removeprefix("1 ")
    return None if name == identifier else name
