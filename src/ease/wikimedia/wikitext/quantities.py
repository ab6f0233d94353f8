"""Write the numbers, quantities and currencies of templates as a wiki's language writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from babel.numbers import NumberFormatError, format_decimal, get_currency_symbol, get_decimal_symbol, get_group_symbol
from babel.units import format_unit

from ease.wikimedia.wikitext.markup import GAP, HOLE
from ease.wikimedia.wikitext.template_arguments import AMERICAN, Arguments, Writer, find_locale, template_data
from ease.wikimedia.wikitext.titles import decode_entities

_MINUS = "−"
# Characters of a number, or of a range with its unit, in one argument; a longer argument is no quantity.
_LONGEST = 200
# Digits of a number, as many as `Decimal` computes with; a longer number stays as it is written.
_MOST_DIGITS = 28
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
        return _Number(f"{text}×10^{write_minus(power)}", self.value and Decimal(1000))


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


def write_minus(word: str) -> str:
    """Return a number with a minus sign in the place of a hyphen or a dash before it."""
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
    names = template_data()["named units"].get({AMERICAN: "en"}.get(language, language), {})
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
        if keywords.get("sp") == AMERICAN:
            spelling = AMERICAN
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
    unit = " ".join(unit + write_minus(power) for unit, power in pairs if unit)
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
            word = write_minus(word)
        return "×10^".join([word, *map(write_minus, powers)])

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
    return f"{words}10^{write_minus(power)}"


def _unit_symbol(keywords: Mapping[str, str], name: str) -> str:
    """Return the symbol of the unit in an argument, or in the argument for a unit with a link, whose name ends in l."""
    code = keywords.get(name) or keywords.get(f"{name}l") or ""
    return str(template_data()["symbols of units"].get(code, code))


def _fraction(arguments: Arguments) -> str:
    """Write `1|2` as 1⁄2, and `3|1|2` as 3 1⁄2."""
    parts = [write_minus(part) for part in arguments.positional if part]
    if not parts:
        return ""
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join([*parts[:-2], f"{parts[-2]}⁄{parts[-1]}"])


def _power(arguments: Arguments) -> str:
    """Write `7|15` as 7×10^15, and `15` as ×10^15."""
    *factors, power = map(write_minus, arguments.positional[:2] or [""])
    if factors and not power:
        return f"×10^{factors[0]}"
    return f"{''.join(factors)}×10^{power}"


def _currency(arguments: Arguments) -> str:
    """Write `13 billion|USD` as US$13 billion."""
    locale = find_locale(arguments.language)
    symbol = arguments.at(1).upper()
    if locale and symbol:
        symbol = get_currency_symbol(symbol, locale=locale)
    amount = write_minus(_format_number(arguments.at(0), arguments.language))
    if not amount:
        return ""
    # The minus stands before the symbol.
    if amount.startswith(_MINUS):
        return f"{_MINUS}{symbol}{amount.removeprefix(_MINUS)}"
    return f"{symbol}{amount}"


def _number(arguments: Arguments) -> str:
    number = _format_number(arguments.at(0), arguments.language)
    return " ".join(filter(None, [number, arguments.at(1)]))


def show_number(number: str, option: str, language: str) -> str:
    """Show `{{formatnum:…}}`; `{{formatnum:1,234.5|R}}` without separators of groups and with a decimal point."""
    if not option:
        return _format_number(number, language)
    if option.upper() == "R":
        if locale := find_locale(language):
            number = number.replace(get_group_symbol(locale), "").replace(get_decimal_symbol(locale), ".")
        # Some languages group by spaces, for which authors use several characters.
        number = re.sub(r"\s", "", number)
    return write_minus(number)


QUANTITIES: Mapping[str, Writer] = {
    "fraction": _fraction,
    "value": _value,
    "measure": _measure,
    "quantity": _quantity,
    "powers": _powers,
    "power": _power,
    "currency": _currency,
    "number": _number,
}
"""Writers of templates by family"""
