"""Replace templates whose arguments are part of the prose by their words: numbers, dates, quotations, names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, lru_cache
from itertools import count, zip_longest
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.numbers import NumberFormatError, format_decimal, get_currency_symbol, get_decimal_symbol, get_group_symbol
from babel.units import format_unit

from ease.io.files import read_data_file
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language
from ease.wikimedia.wikitext.markup import BREAK, GAP
from ease.wikimedia.wikitext.titles import decode_entities

# Templates by family, units, and words of ranges.
_DATA: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
_RANGES: Mapping[str, str] = _DATA["ranges"]
_MINUS = "−"
# Value of the argument `sp` for American spelling, and code of the locale.
_AMERICAN = "us"
# Characters of a number, or of a range with its unit, in one argument; a longer argument is no quantity.
_LONGEST = 200
# Digits of a number, as many as `Decimal` computes with; a longer number stays as it is written.
_MOST_DIGITS = 28
# Language names that are cached; a dump may have any number of codes.
_LANGUAGE_NAMES = 4096
_GROUPED = re.compile(r"\d{1,3},\d{3}")
_HYPHEN = re.compile(r"[-–](?=\.?\d)")
_NUMBER = re.compile(
    r"(?P<sign>[+−–-]?) ?(?:(?:(?P<integer>\d{1,9})[+ ])?(?P<above>\d{1,9})//?(?P<below>\d{1,9})(?![\d.,/])"
    r"|(?P<digits>[.,]?\d(?:[\d.,]|[ '’](?=\d{3}))*+))"
)
"""`-1,234.5`, `1 234,5`, `.5`, `1/2`, `5+1/2`"""
# The longest first, since an alternative of a pattern wins over its own beginnings.
_JOINTS = sorted(map(re.escape, _RANGES.keys() - set(",+")), key=len, reverse=True)
_JOINT = re.compile(rf" ?({'|'.join(_JOINTS)}) ?(?=[+−–-]?[.,]?\d)", re.IGNORECASE)
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?1?\d")
_POWER_OF_TEN = re.compile(r" ?[eE]([+−-]?\d{1,3})(?!\w)")
_TEN_EXPONENT = re.compile(r"(?<=[\d)])[eE](?=[+−-]?\d)")
_POWER = re.compile(r"e([369])(.+)")
_POWERS = {"3": "thousand", "6": "million", "9": "billion"}
"""What `e6` and the like before a unit mean in English"""


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
def _find_locale(language: str) -> Locale | None:
    """Return CLDR's locale of a Wikipedia; the English one writes British English, as its templates do."""
    tags = {"en": "en-GB", _AMERICAN: "en-US"}
    try:
        return Locale.parse(tags.get(language) or Language(language).bcp_47, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


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
    while (joint := _JOINT.match(words, position)) and (match := _NUMBER.match(words, joint.end())):
        number = number.to(_RANGES[joint[1].lower()], _parse_number(match, language))
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
    locale = _find_locale(language)
    if locale is None or len(digits) > _MOST_DIGITS:
        return _Number(sign + match["digits"], None)

    # Templates accept the decimal mark of the language and the English one.
    own_mark = get_decimal_symbol(locale)
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
    text = _group_digits(integer.lstrip("0") or "0", locale, language)
    if decimals:
        # English has no decimal comma: one that groups no thousands stays.
        if own_mark == "." and len(marks) == 1:
            text += mark + decimals
        else:
            text += own_mark + decimals
    return _Number(sign + text, value)


def _group_digits(digits: str, locale: Locale, language: str) -> str:
    """Return an integer with a language's separators between its groups of digits."""
    # India's languages group the digits above the thousands by two.
    size, further_size = locale.decimal_formats[None].grouping
    least = size + 1
    if language in _DATA["ungrouped thousands"]:
        least = size + 2
    if len(digits) < least:
        return digits
    groups = [digits[-size:]]
    rest = digits[:-size]
    while rest:
        groups.insert(0, rest[-further_size:])
        rest = rest[:-further_size]
    return str(get_group_symbol(locale)).join(groups)


def _with_unit(number: _Number, unit: str, language: str) -> str:
    """Return a number with a unit's name in a language, in the form that fits the value."""
    names = _DATA["named units"].get({_AMERICAN: "en"}.get(language, language), {})
    if name := names.get(unit.lower()):
        return f"{number.text} {name}"
    symbol_form = f"{number.text} {unit}".strip()
    identifier = _DATA["units"].get(unit.lower())
    locale = _find_locale(language)
    if identifier is None or locale is None or number.value is None:
        return symbol_form
    try:
        phrase = str(format_unit(number.value, identifier, locale=locale))
        value_text = str(format_decimal(number.value, locale=locale))
    except (NumberFormatError, ValueError, ArithmeticError):
        return symbol_form
    # For a name that CLDR lacks, Babel writes the identifier.
    if identifier in phrase or value_text not in phrase:
        return symbol_form
    return phrase.replace(value_text, number.text, 1)


class _Arguments(NamedTuple):
    """Arguments of a template, by position from 0 and by name; and the wiki's language."""

    positional: list[str]
    keywords: dict[str, str]
    language: str

    def at(self, place: int) -> str:
        """Return a positional argument; empty if there is none."""
        if -len(self.positional) <= place < len(self.positional):
            return self.positional[place]
        return ""


def _quantity(arguments: _Arguments) -> str:
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
    if len(after) > 1 and after[1].lower() in _DATA["smaller units"].get(unit, []):
        smaller, rest = _read_number(after[0], language)
        if smaller and not rest:
            return f"{words} {_with_unit(smaller, after[1], spelling)}"
    return words


def _read_range(number: _Number, arguments: _Arguments) -> tuple[_Number, list[str]]:
    """Append the further ends and the power of a number, and return the positional arguments after them."""

    def end_of(word: str) -> _Number:
        end, rest = _read_number(word, arguments.language)
        if end is None or rest:
            # A word that is no number stays as it is written.
            return _Number(word, None)
        return end

    further = arguments.positional[1:]
    keywords = arguments.keywords
    while len(further) > 1 and (joint := _RANGES.get(decode_entities(further[0]).lower())):
        number = number.to(joint, end_of(further[1]))
        further = further[2:]
    # `{{convert|5|km|+/-=1}}`: the joint may be the name of an argument.
    for name, value in keywords.items():
        if joint := _RANGES.get(name):
            number = number.to(joint, end_of(value))
    if power := keywords.get("e"):
        number = number.times_ten_to(power)
    if keywords.get("comma") == "off" and arguments.language == "en":
        number = number._replace(text=re.sub(r"(?<=\d),(?=\d)", "", number.text))
    return number, further


def _adjective(words: str, unit: str, after: list[str], language: str) -> str:
    """Write a quantity before a noun: 10-inch, or 204-metre-high with the words that follow."""
    identifier = _DATA["units"].get(unit.lower())
    locale = _find_locale(language)
    singular = identifier and locale and str(format_unit(1, identifier, locale=locale)).removeprefix("1 ")
    # For a name that CLDR lacks, Babel writes the identifier.
    if not singular or singular == identifier:
        return f"{words} {unit}".strip()
    ending = ""
    if after and after[-1].startswith("-"):
        ending = after[-1]
    return f"{words} {singular}".replace(" ", "-") + ending


def _powers(arguments: _Arguments) -> str:
    """Write `5|km|2|s|-1`, a number with the powers of its units, as 5 km2 s−1."""
    ends = 1
    while arguments.at(ends).lower() in _RANGES:
        ends += 2
    numbers = arguments.positional[:ends] or [""]
    units = arguments.positional[ends:]
    pairs = zip_longest(units[::2], units[1::2], fillvalue="")
    unit = " ".join(unit + _write_minus(power) for unit, power in pairs if unit)
    return _quantity(arguments._replace(positional=[*numbers, *filter(None, [unit])]))


def _measure(arguments: _Arguments) -> str:
    """Write `5|k|m`, a number with a unit and its prefix, as 5 km, and `5,2|0,1|u=kg` as 5,2±0,1 kg."""
    words, keywords, language = arguments
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
    return _value(_Arguments(words, keywords, language))


def _value(arguments: _Arguments) -> str:
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
    if is_uncertain and more[0].lower() in _RANGES:
        words += "".join(_RANGES.get(word.lower(), word) for word in more)
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
    return str(_DATA["symbols of units"].get(code, code))


def _nihongo(arguments: _Arguments) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    english, *originals = (arguments.at(place).rstrip(", ") for place in (0, 1, 2))
    brackets = ", ".join(filter(None, originals))
    if english and brackets:
        return f"{english} ({brackets})"
    return english or brackets


def _as_of(arguments: _Arguments) -> str:
    """Write `As of 2014`, with the parts of a date in the order year, month, day."""
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
    locale = _find_locale(language)
    if locale is None or not number.isdecimal() or len(number) > 2:
        return number
    return str(locale.months["format"]["wide"].get(int(number), number))


def _date(arguments: _Arguments) -> str:
    """Write `3|mars|1996` as 3 mars 1996, in French."""
    parts = arguments.positional
    before: list[str] = []
    if len(parts) > 3 and parts[0].isalpha():
        # The name of the weekday.
        before = parts[:1]
    day, month, year = (*parts[len(before) :], "", "", "")[:3]
    if year.startswith(("-", "−")):
        year = f"{year[1:]} av. J.-C."
    day = day.lstrip("0")
    if day == "1":
        day = "1er"
    return " ".join(filter(None, [*before, day, _month(month, arguments.language).lower(), year]))


def _circa(arguments: _Arguments) -> str:
    """Write `1500|1510` as c. 1500–1510."""
    if not arguments.at(0):
        return "c."
    years = map(_write_minus, filter(None, arguments.positional))
    return f"c. {'–'.join(years)}"


def _fraction(arguments: _Arguments) -> str:
    """Write `1|2` as 1⁄2, and `3|1|2` as 3 1⁄2."""
    parts = [_write_minus(part) for part in arguments.positional if part]
    if not parts:
        return ""
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join([*parts[:-2], f"{parts[-2]}⁄{parts[-1]}"])


def _power(arguments: _Arguments) -> str:
    """Write `7|15` as 7×10^15, and `15` as ×10^15."""
    *factors, power = map(_write_minus, arguments.positional[:2] or [""])
    if factors and not power:
        return f"×10^{factors[0]}"
    return f"{''.join(factors)}×10^{power}"


def _with_language(code: str, words: str, arguments: _Arguments) -> str:
    """Return words of a language after its name, both in the language of a wiki; the words alone without a name.

    The argument `label` replaces the name, or removes it.
    """
    name = arguments.keywords.get("label") or _language_name(code.lower(), arguments.language)
    if name and name != "none" and words:
        return f"{name}: {words}"
    return words


@lru_cache(maxsize=_LANGUAGE_NAMES)
def _language_name(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = _find_locale(language)
    if locale is None:
        return ""
    return str(locale.languages.get(code, ""))


def _interlanguage(arguments: _Arguments) -> str:
    """Show the label of `title|de|other title`, or of the older form `de|other title|label`."""
    if arguments.at(0) in WIKIPEDIA_LANGUAGES and arguments.at(1):
        return arguments.at(2) or arguments.at(1)
    return arguments.keywords.get("lt") or arguments.at(0)


def _currency(arguments: _Arguments) -> str:
    """Write `13 billion|USD` as US$13 billion."""
    locale = _find_locale(arguments.language)
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


def _brackets(arguments: _Arguments) -> str:
    if not arguments.at(0):
        return ""
    return f"⟨{arguments.at(0)}⟩"


def _number(arguments: _Arguments) -> str:
    number = _format_number(arguments.at(0), arguments.language)
    return " ".join(filter(None, [number, arguments.at(1)]))


_Writer = Callable[[_Arguments], str]  # Returns a template's text; empty to remove the template

_FAMILIES: Mapping[str, _Writer] = {
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
    "words": lambda arguments: " ".join(arguments.positional[:2]),
    "number": _number,
    "named_language": lambda arguments: _with_language(arguments.at(0), arguments.at(1), arguments),
}

# Templates four deep are shown; deeper ones are removed.
_PASSES = 2
# Characters of a template's arguments; a longer template is removed.
_LONGEST_TEMPLATE = 2000
_INNER = r"\{\{(?:[^{}\[]++|\[\[[^{}\[\]]*+\]\]|\[(?!\[)|-\{[^{}]*+\}-)*+\}\}"
_LINK = rf"\[\[(?:[^\[\]{{]++|\[\[[^\[\]{{}}]*+\]\]|{_INNER}|\{{(?!\{{)|\[(?!\[)|\](?!\]))*+\]\]"
_INNER_TEMPLATE = re.compile(_INNER)
# A template's arguments. As in MediaWiki, braces inside `[[…]]` do not end them.
_CONTENT = rf"(?:[^{{}}\[]++|{_INNER}|{_LINK}|\[(?!\[)|\{{(?!\{{)|\}}(?!\}}))*+"
# An argument; the bar of a link or of a script variant in it does not end it.
_PART = re.compile(r"(?:[^|\[-]++|\[\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]\]|-\{(?:-\{[^{}]*+\}-|[^{}])*+\}-|[\[-])*+")
_NAMED_BY_LANGUAGE = (
    rf"lang-([a-z]{{2,3}})(?:-[a-z-]+)?\s*+\|({_CONTENT})"
    rf"|(?:{'|'.join(_DATA['formatnum']).replace(' ', '[ _]')}):([^{{}}|\[\]]*+)(\|[^{{}}]*+)?"
)
"""`{{lang-fr|mot}}`, and `{{formatnum:5000}}` by its names in the languages of `templates.yml`.

With an option, such as `|NOSEP`, the number stays as it is written.
"""
_NAME = re.compile(r"[\w ±×/+*–-]+")
_PLACE = re.compile(r"[1-9][0-9]?")
_LINE_MARKS = (*"*#:;=", "----")


def show_templates(text: str, language: str) -> str:
    """Return wikitext in which the text of templates with words replaces the templates.

    Args:
        text: Wikitext without comments and extension tags.
        language: Wikipedia's code; names, numbers and units are those of the language.

    Example:
        >>> show_templates("It is {{convert|5|km|mi}} to {{lang|fr|Lyon}}.{{citation needed}}", "en")
        'It is 5 kilometres to Lyon.{{citation needed}}'
    """
    if "{{" not in text:
        return text
    pattern, writers = _templates(language)

    def replacement(template: re.Match[str]) -> str:
        name, content, code, words, number, option = template.groups()
        if len(template[0]) > _LONGEST_TEMPLATE:
            return GAP
        if number is not None:
            output = _show_number(number.strip(), (option or "").strip("| "), language)
        else:
            # Templates inside have no templates inside.
            arguments = _arguments(pattern.sub(replacement, content or words or ""), language)
            if name:
                output = writers[" ".join(name.replace("_", " ").lower().split())](arguments)
            else:
                output = _with_language(code, arguments.at(0), arguments)
        output = output or GAP
        # The template's marks do not begin a list.
        if output.startswith(_LINE_MARKS):
            output = BREAK + output
        return output

    for _ in range(_PASSES):
        text, replacements = pattern.subn(replacement, text)
        if not replacements:
            break
    return text


@cache
def _templates(language: str) -> tuple[re.Pattern[str], Mapping[str, _Writer]]:
    """Return a pattern for the templates of a language's wiki that write words, and their writers by name."""

    def argument(place: int) -> _Writer:
        # Positions in the file count from 1, or from -1 backwards.
        index = place
        if place > 0:
            index = place - 1
        return lambda arguments: arguments.at(index)

    def prefixed(prefix: str) -> _Writer:
        return lambda arguments: f"{prefix}{arguments.at(0)}".strip()

    def constant(output: str) -> _Writer:
        return lambda arguments: output

    writers: dict[str, _Writer] = {}
    for code in ("all", language):
        for family, names in _DATA["own"].get(code, {}).items():
            writers |= dict.fromkeys(names, _FAMILIES[family])
        for place, names in _DATA["argument"].get(code, {}).items():
            writers |= dict.fromkeys(names, argument(place))
        writers |= {name: prefixed(prefix) for name, prefix in _DATA["prefix"].get(code, {}).items()}
        writers |= {str(name): constant(output) for name, output in _DATA["text"].get(code, {}).items()}
    # Alternatives by their first letter: a template of another name fails after one comparison a letter.
    by_letter: dict[str, list[str]] = {}
    for name in sorted(writers, key=len, reverse=True):
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]).replace(r"\ ", "[ _]"))
    names = "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    # Three braces are a parameter, not a template.
    start = r"\{\{(?<!\{\{\{)[\s_]*+"
    end = r"\}\}(?!\}(?!\}))"
    by_name = rf"({names})[\s_]*+(?:\|({_CONTENT}))?"
    return re.compile(rf"{start}(?:{by_name}|{_NAMED_BY_LANGUAGE}){end}", re.IGNORECASE), writers


def _show_number(number: str, option: str, language: str) -> str:
    """Show `{{formatnum:…}}`; `{{formatnum:1,234.5|R}}` without separators of groups and with a decimal point."""
    if not option:
        return _format_number(number, language)
    if option.upper() == "R":
        if locale := _find_locale(language):
            number = number.replace(get_group_symbol(locale), "").replace(get_decimal_symbol(locale), ".")
        # Some languages group by spaces, for which authors use several characters.
        number = re.sub(r"\s", "", number)
    return _write_minus(number)


def _arguments(source: str, language: str) -> _Arguments:
    """Split a template's content at its bars, but not at those of links; templates inside are removed."""
    positional: dict[int, str] = {}
    keywords: dict[str, str] = {}
    unnumbered = count(1)
    source = _INNER_TEMPLATE.sub(GAP, source)
    size = len(source)
    position = 0
    while position <= size:
        part = _PART.match(source, position)
        # The pattern also matches the empty text.
        assert part is not None
        position = part.end() + 1
        name, sign, value = part[0].partition("=")
        name = name.strip()
        if not sign or not _NAME.fullmatch(name):
            positional[next(unnumbered)] = part[0].strip()
        elif _PLACE.fullmatch(name):
            positional[int(name)] = value.strip()
        else:
            keywords[name.lower()] = value.strip()
    places = range(1, max(positional, default=0) + 1)
    return _Arguments([positional.get(place, "") for place in places], keywords, language)
