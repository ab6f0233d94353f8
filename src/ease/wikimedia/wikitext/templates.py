"""Show the words of templates whose arguments are part of the prose: numbers, dates, quotations, names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache, lru_cache, partial
from itertools import count, zip_longest
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.numbers import (
    NumberFormatError,
    format_decimal,
    get_currency_symbol,
    get_decimal_symbol,
    get_group_symbol,
)
from babel.units import format_unit

from ease.io.files import read_data_file
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language
from ease.wikimedia.wikitext.markup import BREAK, GAP
from ease.wikimedia.wikitext.titles import decode_entities

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


_POWER = re.compile(r"e([369])(.+)")
_POWERS = {"3": "thousand", "6": "million", "9": "billion"}
"""What `e6` and the like before a unit mean in English"""
_TEN_EXPONENT = re.compile(r"(?<=[\d)])[eE](?=[+−-]?\d)")
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
        word, *powers = _TEN_EXPONENT.split(word)
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


_PASSES = 2
"""Templates four deep are shown; deeper ones are removed."""
_LONGEST_TEMPLATE = 2000
"""Characters of a template's arguments; a longer template is removed."""
_INNER = r"\{\{(?:[^{}\[]++|\[\[[^{}\[\]]*+\]\]|\[(?!\[)|-\{[^{}]*+\}-)*+\}\}"
_LINK = rf"\[\[(?:[^\[\]{{]++|\[\[[^\[\]{{}}]*+\]\]|{_INNER}|\{{(?!\{{)|\[(?!\[)|\](?!\]))*+\]\]"
_INNER_TEMPLATE = re.compile(_INNER)
_CONTENT = rf"(?:[^{{}}\[]++|{_INNER}|{_LINK}|\[(?!\[)|\{{(?!\{{)|\}}(?!\}}))*+"
"""A template's arguments. As in MediaWiki, braces inside `[[…]]` do not end them."""
_PART = re.compile(
    r"(?:[^|\[-]++|\[\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]\]|-\{(?:-\{[^{}]*+\}-|[^{}])*+\}-|[\[-])*+"
)
"""An argument; the bar of a link or of a script variant in it does not end it."""
_NAMED_BY_LANGUAGE = (
    rf"lang-([a-z]{{2,3}})(?:-[a-z-]+)?\s*+\|({_CONTENT})"
    rf"|(?:{'|'.join(DATA['formatnum']).replace(' ', '[ _]')}):([^{{}}|\[\]]*+)(\|[^{{}}]*+)?"
)
"""`{{lang-fr|mot}}`, and `{{formatnum:5000}}` by its names in the languages of `templates.yml`.

With an option, such as `|NOSEP`, the number stays as it is written.
"""
_NAME = re.compile(r"[\w ±×/+*–-]+")
_PLACE = re.compile(r"[1-9][0-9]?")
_MARKS = (*"*#:;=", "----")


Show = Callable[[Arguments], str]
"""Returns a template's text; empty to remove the template."""


def show_templates(text: str, language: str) -> str:
    """Replace the known templates by their text.

    Args:
        text: Wikitext without comments and extension tags.
        language: Wikipedia's code; names, numbers and units are those of the language.

    Example:
        >>> show_templates("It is {{convert|5|km|mi}} to {{lang|fr|Lyon}}.{{citation needed}}", "en")
        'It is 5 kilometres to Lyon.{{citation needed}}'
    """
    if "{{" not in text:
        return text
    pattern, shown = _templates(language)

    def replace(template: re.Match[str]) -> str:
        if len(template[0]) > _LONGEST_TEMPLATE:
            return GAP
        if template[1]:
            name = " ".join(template[1].replace("_", " ").lower().split())
            # Templates inside have no templates inside.
            words = shown[name](_arguments(pattern.sub(replace, template[2] or ""))) or GAP
        else:
            words = _show_by_name(template, language, partial(pattern.sub, replace)) or GAP
        return BREAK + words if words.startswith(_MARKS) else words  # the marks do not begin a list

    for _ in range(_PASSES):
        text, replaced = pattern.subn(replace, text)
        if not replaced:
            break
    return text


@cache
def _templates(language: str) -> tuple[re.Pattern[str], Mapping[str, Show]]:
    """Return a pattern of the known templates, and what each one shows."""
    shown: dict[str, Show] = {}
    for code in ("all", language):
        for family, names in DATA["own"].get(code, {}).items():
            for name in names:
                shown[name] = partial(FAMILIES[family], language=language)
        for place, names in DATA["argument"].get(code, {}).items():
            for name in names:
                shown[name] = partial(_argument, place=place - 1 if place > 0 else place)
        for name, written in DATA["prefix"].get(code, {}).items():
            shown[name] = partial(_prefixed, written=written)
        for name, written in DATA["text"].get(code, {}).items():
            shown[str(name)] = partial(_constant, written=written)
    by_letter: dict[str, list[str]] = {}
    for name in sorted(shown, key=len, reverse=True):
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]).replace(r"\ ", "[ _]"))
    names = "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    start, end = r"\{\{(?<!\{\{\{)[\s_]*+", r"\}\}(?!\}(?!\}))"
    known = rf"({names})[\s_]*+(?:\|({_CONTENT}))?"
    return re.compile(rf"{start}(?:{known}|{_NAMED_BY_LANGUAGE}){end}", re.IGNORECASE), shown


def _arguments(source: str) -> Arguments:
    """Split a template's content at its bars, but not at those of links; templates inside are removed."""
    positional: dict[int, str] = {}
    named: dict[str, str] = {}
    unnumbered = count(1)
    for part in _parts(_INNER_TEMPLATE.sub(GAP, source)):
        name, sign, value = part.partition("=")
        name = name.strip()
        if not sign or not _NAME.fullmatch(name):
            positional[next(unnumbered)] = part.strip()
        elif _PLACE.fullmatch(name):
            positional[int(name)] = value.strip()
        else:
            named[name.lower()] = value.strip()
    places = range(1, max(positional, default=0) + 1)
    return Arguments([positional.get(place, "") for place in places], named)


def _parts(source: str) -> Iterator[str]:
    """Yield the parts between bars that are not inside links."""
    position = 0
    while position <= len(source):
        part = _PART.match(source, position)
        assert part is not None
        yield part[0]
        position = part.end() + 1


def _argument(arguments: Arguments, place: int) -> str:
    return arguments.at(place)


def _constant(arguments: Arguments, written: str) -> str:
    return written


def _prefixed(arguments: Arguments, written: str) -> str:
    return f"{written}{arguments.at(0)}".strip()


def _show_by_name(template: re.Match[str], language: str, show: Callable[[str], str]) -> str:
    """Show a template whose name contains a language or a number, after those inside it."""
    if template[5] is not None:
        number, option = template[5].strip(), (template[6] or "").strip("| ")
        if option.upper() == "R":
            number = unformat_number(number, language)
        return write_minus(number) if option else format_number(number, language)
    arguments = _arguments(show(template[4]))
    return name_language(template[3], arguments.at(0), arguments, language)
