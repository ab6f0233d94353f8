"""What families of templates show, such as `{{convert|5|km}}` as "5 kilometres": a function for each family."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from babel.numbers import get_currency_symbol

from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES
from ease.wikimedia.wikitext.html_entities import decode_entities
from ease.wikimedia.wikitext.markup import GAP
from ease.wikimedia.wikitext.numbers import (
    AMERICAN,
    DATA,
    Number,
    find_locale,
    format_number,
    join,
    raise_to,
    read_number,
    unit_name,
    with_unit,
    write_minus,
)

_POWER = re.compile(r"e([369])(.+)")
_POWERS = {"3": "thousand", "6": "million", "9": "billion"}
"""What `e6` and the like before a unit mean in English"""
_EXPONENT = re.compile(r"(?<=[\d)])[eE](?=[+−-]?\d)")
_LANGUAGE_NAMES = 4096
"""Names that are kept; a dump may have any number of codes."""


class Arguments(NamedTuple):
    """Arguments of a template, by position from 0 and by name."""

    positional: list[str]
    named: dict[str, str]

    def at(self, place: int) -> str:
        """Return a positional argument; empty if there is none."""
        return self.positional[place] if -len(self.positional) <= place < len(self.positional) else ""


@lru_cache(maxsize=_LANGUAGE_NAMES)
def language_name(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = find_locale(language)
    return str(locale.languages.get(code, "")) if locale else ""


def _quantity(arguments: Arguments, language: str) -> str:
    """Write `5|km`, `5|-|10|km` or `30 km` as a number or range with its unit, and `6|ft|4|in` with both units."""
    number, rest = read_number(arguments.at(0), language)
    if number is None:  # Roman numerals, or a template that is not shown
        return "" if GAP in rest else " ".join(filter(None, arguments.positional[:2]))
    if rest:
        return f"{number.text} {rest}"
    number, further = _read_range(number, arguments, language)
    unit, *after = further or [""]
    if language == "en" and (large := _POWER.fullmatch(unit.lower())):
        number, unit = (
            Number(f"{number.text} {_POWERS[large[1]]}", number.value and number.value * 1000),
            large[2],
        )
    spelling = AMERICAN if arguments.named.get("sp") == AMERICAN and language == "en" else language
    if language == "en" and arguments.named.get("adj") in ("on", "mid"):
        return _adjective(number.text, unit, after, spelling)
    shown = with_unit(number, unit, spelling)
    if len(after) > 1 and after[1].lower() in DATA["smaller units"].get(unit, []):
        smaller, rest = read_number(after[0], language)
        if smaller and not rest:
            return f"{shown} {with_unit(smaller, after[1], spelling)}"
    return shown


def _read_range(number: Number, arguments: Arguments, language: str) -> tuple[Number, list[str]]:
    """Append the further ends and the power of a number, and return the positional arguments after them."""
    further = arguments.positional[1:]
    while len(further) > 1 and (joint := DATA["ranges"].get(decode_entities(further[0]).lower())):
        number, further = _join(number, joint, further[1], language), further[2:]
    for name, value in arguments.named.items():
        if joint := DATA["ranges"].get(name):
            number = _join(number, joint, value, language)
    if power := arguments.named.get("e"):
        number = raise_to(number, power)
    if arguments.named.get("comma") == "off" and language == "en":
        number = number._replace(text=re.sub(r"(?<=\d),(?=\d)", "", number.text))
    return number, further


def _join(number: Number, joint: str, word: str, language: str) -> Number:
    """Append the further end of a range; a word that is no number stays as it is written."""
    end, rest = read_number(word, language)
    return join(number, joint, Number(word, None) if end is None or rest else end)


def _powers(arguments: Arguments, language: str) -> str:
    """Write `5|km|2|s|-1`, a number with the powers of its units, as 5 km2 s−1."""
    ends = 1
    while arguments.at(ends).lower() in DATA["ranges"]:
        ends += 2
    numbers, units = arguments.positional[:ends] or [""], arguments.positional[ends:]
    pairs = zip_longest(units[::2], units[1::2], fillvalue="")
    unit = " ".join(unit + write_minus(power) for unit, power in pairs if unit)
    return _quantity(Arguments([*numbers, *filter(None, [unit])], arguments.named), language)


def _adjective(words: str, unit: str, after: list[str], language: str) -> str:
    """Write a quantity before a noun: 10-inch, or 204-metre-high with the words that follow."""
    name = unit_name(unit, language)
    if name is None:
        return f"{words} {unit}".strip()
    ending = after[-1] if after and after[-1].startswith("-") else ""
    return f"{words} {name}".replace(" ", "-") + ending


def _measure(arguments: Arguments, language: str) -> str:
    """Write `5|k|m`, a number with a unit and its prefix, as 5 km, and `5,2|0,1|u=kg` as 5,2±0,1 kg."""
    words, named = arguments
    words = [word if "." in word else format_number(word, language) for word in words]
    prefix, unit = arguments.at(1), arguments.at(2)
    if unit or read_number(prefix, language)[0] is None:
        unit = unit or named.get("u") or named.get("ul") or ""
        words, named = words[:1], {**named, "u": ("" if prefix == "-" else prefix) + unit}
    return _value(Arguments(words, named), language)


def _nihongo(arguments: Arguments, language: str) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    shown, *inside = (arguments.at(place).rstrip(", ") for place in (0, 1, 2))
    brackets = ", ".join(filter(None, inside))
    return f"{shown} ({brackets})" if shown and brackets else shown or brackets


def _as_of(arguments: Arguments, language: str) -> str:
    """Write `As of 2014`, with the parts of a date in the order year, month, day."""
    named = arguments.named
    year, month, date = arguments.at(0), _month(arguments.at(1), language), arguments.at(2)
    if named.get("df", "").upper() == "US" and date:
        day = f"{month} {date}, {year}"
    else:
        day = " ".join(filter(None, [date, month, year]))
    before = "" if named.get("bare") else "since " if named.get("since") else "as of "
    words = named.get("alt") or (before if "lc" in named else before.capitalize()) + day
    return words + named.get("post", "") if day else ""


def _month(number: str, language: str) -> str:
    locale = find_locale(language)
    names = locale.months["format"]["wide"] if locale else {}
    return str(names.get(int(number), number)) if number.isdecimal() and len(number) < 3 else number


def _date(arguments: Arguments, language: str) -> str:
    """Write `3|mars|1996` as 3 mars 1996, in French."""
    parts = arguments.positional
    day, month, year = parts[1:4] if len(parts) > 3 and parts[0].isalpha() else (*parts, "", "", "")[:3]
    before = [parts[0]] if len(parts) > 3 and parts[0].isalpha() else []
    if year.startswith(("-", "−")):
        year = f"{year[1:]} av. J.-C."
    day = "1er" if day.lstrip("0") == "1" else day.lstrip("0")
    return " ".join(filter(None, [*before, day, _month(month, language).lower(), year]))


def _circa(arguments: Arguments, language: str) -> str:
    years = map(write_minus, filter(None, arguments.positional))
    return f"c. {'–'.join(years)}" if arguments.at(0) else "c."


def _fraction(arguments: Arguments, language: str) -> str:
    """Write `1|2` as 1⁄2, and `3|1|2` as 3 1⁄2."""
    parts = [write_minus(part) for part in arguments.positional if part]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join([*parts[:-2], f"{parts[-2]}⁄{parts[-1]}"]) if parts else ""


def _value(arguments: Arguments, language: str) -> str:
    """Write a number or a range with its uncertainty, its power of ten and its unit."""
    named = arguments.named

    def show(word: str) -> str:
        word, *powers = _EXPONENT.split(word)
        word = format_number(word, language) if named.get("fmt") == "commas" else write_minus(word)
        return "×10^".join([word, *map(write_minus, powers)])

    words, *more = map(show, arguments.positional or [""])
    power, is_uncertain = named.get("e"), bool(more and more[0])
    if is_uncertain and more[0].lower() in DATA["ranges"]:
        words += "".join(DATA["ranges"].get(word.lower(), word) for word in more)
    elif is_uncertain and more[0].startswith("("):
        words, is_uncertain = words + more[0], False
    elif is_uncertain and more[1:]:
        words += f"+{more[0].lstrip('+')}−{more[1].lstrip('−')}"
    elif is_uncertain:
        words += f"±{more[0].lstrip('±')}"
    if power and is_uncertain:
        words = f"({words})"
    if power:
        words += f"{'×' if words else ''}10^{write_minus(power)}"
    unit, per = (named.get(name) or named.get(f"{name}l") or "" for name in ("u", "up"))
    unit, per = (DATA["symbols of units"].get(code, code) for code in (unit, per))
    space = "" if unit.startswith(("%", "‰", "′", "″")) or unit == "°" else " "
    unit += f"/{per}" if per else ""
    return f"{named.get('p', '')}{words}{space}{unit}".strip() + named.get("s", "")


def _joined(arguments: Arguments, language: str) -> str:
    return "".join(arguments.positional)


def _brackets(arguments: Arguments, language: str) -> str:
    return f"⟨{arguments.at(0)}⟩" if arguments.at(0) else ""


def _power(arguments: Arguments, language: str) -> str:
    """Write `7|15` as 7×10^15, and `15` as ×10^15."""
    *number, power = map(write_minus, arguments.positional[:2] or [""])
    return f"{''.join(number)}×10^{power}" if power or not number else f"×10^{number[0]}"


def _words(arguments: Arguments, language: str) -> str:
    return " ".join(arguments.positional[:2])


def _formatted(arguments: Arguments, language: str) -> str:
    return " ".join(filter(None, [format_number(arguments.at(0), language), arguments.at(1)]))


def _named_language(arguments: Arguments, language: str) -> str:
    """Write `de|Berlin` as German: Berlin."""
    return name_language(arguments.at(0), arguments.at(1), arguments, language)


def name_language(code: str, words: str, arguments: Arguments, language: str) -> str:
    """Return words of a language after its name, both in the language of a wiki; the words alone without a name.

    The argument `label` replaces the name, or removes it.
    """
    name = arguments.named.get("label") or language_name(code.lower(), language)
    return f"{name}: {words}" if name and name != "none" and words else words


def _interlanguage(arguments: Arguments, language: str) -> str:
    """Show the label of `title|de|other title`, or of the older form `de|other title|label`."""
    if arguments.at(0) in WIKIPEDIA_LANGUAGES and arguments.at(1):
        return arguments.at(2) or arguments.at(1)
    return arguments.named.get("lt") or arguments.at(0)


def _currency(arguments: Arguments, language: str) -> str:
    """Write `13 billion|USD` as US$13 billion."""
    locale, code = find_locale(language), arguments.at(1).upper()
    symbol = get_currency_symbol(code, locale=locale) if locale and code else code
    amount = write_minus(format_number(arguments.at(0), language))
    sign = "−" if amount.startswith("−") else ""
    return f"{sign}{symbol}{amount.removeprefix(sign)}" if amount else ""


FAMILIES: Mapping[str, Callable[..., str]] = {
    "nihongo": _nihongo,
    "as_of": _as_of,
    "circa": _circa,
    "fraction": _fraction,
    "value": _value,
    "joined": _joined,
    "measure": _measure,
    "quantity": _quantity,
    "powers": _powers,
    "date": _date,
    "brackets": _brackets,
    "power": _power,
    "words": _words,
    "number": _formatted,
    "named_language": _named_language,
    "interlanguage": _interlanguage,
    "currency": _currency,
}
"""Functions of a template's arguments and the wiki's language; an empty text removes the template"""
