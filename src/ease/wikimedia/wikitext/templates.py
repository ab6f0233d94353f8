"""Show the words of templates whose arguments are part of the prose: numbers, dates, quotations, names."""

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

_DATA: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
"""Templates by family, units, and words of ranges"""
_RANGES: Mapping[str, str] = _DATA["ranges"]
_MINUS = "−"
_AMERICAN = "us"  # Value of the argument `sp` for American spelling, and code of the locale
_LONGEST = 200  # Characters of a number, or of a range with its unit, in one argument
_MOST_DIGITS = 28  # Digits of a number; a longer one stays as it is written
_LANGUAGE_NAMES = 4096  # Names that are kept; a dump may have any number of codes
_GROUPED = re.compile(r"\d{1,3},\d{3}")
_HYPHEN = re.compile(r"[-–](?=\.?\d)")
_NUMBER = re.compile(
    r"(?P<sign>[+−–-]?) ?(?:(?:(?P<integer>\d{1,9})[+ ])?(?P<above>\d{1,9})//?(?P<below>\d{1,9})(?![\d.,/])"
    r"|(?P<digits>[.,]?\d(?:[\d.,]|[ '’](?=\d{3}))*+))"
)
"""`-1,234.5`, `1 234,5`, `.5`, `1/2`, `5+1/2`"""
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
        return _Number(f"{self.text}{joint}{end.text}", (self if "±" in joint else end).value)

    def times_ten_to(self, power: str) -> _Number:
        text = f"({self.text})" if "±" in self.text else self.text
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
    """Write a number with the separators of a language, `1e6` with its zeros; another word stays."""
    if _EXPONENT.fullmatch(word):
        word = f"{Decimal(word):f}"
    number, rest = _read_number(word, language)
    return word if number is None or rest else number.text


def _write_minus(word: str) -> str:
    return _MINUS + word[1:] if _HYPHEN.match(word) else word


def _read_number(words: str, language: str) -> tuple[_Number | None, str]:
    """Return the number or range with which words begin, if any, and the words after it: `5-10 km`, `5±1e3`."""
    words = " ".join(decode_entities(words).split())
    if len(words) > _LONGEST or not (found := _NUMBER.match(words)):
        return None, words
    number, position = _read(found, language), found.end()
    while (joint := _JOINT.match(words, position)) and (found := _NUMBER.match(words, joint.end())):
        number, position = number.to(_RANGES[joint[1].lower()], _read(found, language)), found.end()
    if power := _POWER_OF_TEN.match(words, position):
        number, position = number.times_ten_to(power[1]), power.end()
    return number, words[position:].strip()


def _read(found: re.Match[str], language: str) -> _Number:
    sign = found["sign"] if found["sign"] in ("", "+") else _MINUS
    if above := found["above"]:
        fraction = " ".join(filter(None, [found["integer"], f"{above}⁄{found['below']}"]))
        return _Number(sign + fraction, Decimal(found["integer"] or 0) + 1)
    digits, locale = re.sub("[ '’]", "", found["digits"]), _find_locale(language)
    if locale is None or len(digits) > _MOST_DIGITS:
        return _Number(sign + found["digits"], None)
    own_mark = get_decimal_symbol(locale)
    marks = re.findall("[.,]", digits)
    mark = marks[-1] if marks else own_mark
    if (len(marks) > 1 and len(set(marks)) == 1) or (own_mark == "." and _GROUPED.fullmatch(digits)):
        digits, mark = digits.replace(mark, ""), own_mark
    whole, _, decimals = digits.rpartition(mark) if mark in digits else (digits, "", "")
    whole = re.sub("[.,]", "", whole)
    value = Decimal(f"{whole or 0}.{decimals}" if decimals else whole)
    whole = whole.lstrip("0") or "0"
    size, further = locale.decimal_formats[None].grouping
    if len(whole) >= size + (2 if language in _DATA["ungrouped thousands"] else 1):
        head, groups = whole[:-size], [whole[-size:]]
        while head:
            head, group = head[:-further], head[-further:]
            groups.insert(0, group)
        whole = str(get_group_symbol(locale)).join(groups)
    if decimals:  # English has no decimal comma: one that groups no thousands stays
        whole += (mark if own_mark == "." and len(marks) == 1 else own_mark) + decimals
    return _Number(sign + whole, value)


def _with_unit(number: _Number, unit: str, language: str) -> str:
    """Append a unit's name in a language, in the form that fits the value."""
    if named := _DATA["named units"].get({_AMERICAN: "en"}.get(language, language), {}).get(unit.lower()):
        return f"{number.text} {named}"
    plainly = f"{number.text} {unit}".strip()
    identifier, locale = _DATA["units"].get(unit.lower()), _find_locale(language)
    if identifier is None or locale is None or number.value is None:
        return plainly
    try:
        shown = str(format_unit(number.value, identifier, locale=locale))
        plain = str(format_decimal(number.value, locale=locale))
    except (NumberFormatError, ValueError, ArithmeticError):
        return plainly
    # CLDR lacks some names.
    return plainly if identifier in shown or plain not in shown else shown.replace(plain, number.text, 1)


class _Arguments(NamedTuple):
    """Arguments of a template, by position from 0 and by name; and the wiki's language."""

    positional: list[str]
    named: dict[str, str]
    language: str

    def at(self, place: int) -> str:
        """Return a positional argument; empty if there is none."""
        return self.positional[place] if -len(self.positional) <= place < len(self.positional) else ""


def _quantity(arguments: _Arguments) -> str:
    """Write `5|km`, `5|-|10|km` or `30 km` as a number or range with its unit, and `6|ft|4|in` with both units."""
    language, named = arguments.language, arguments.named
    number, rest = _read_number(arguments.at(0), language)
    if number is None:  # Roman numerals, or a template that is not shown
        return "" if GAP in rest else " ".join(filter(None, arguments.positional[:2]))
    if rest:
        return f"{number.text} {rest}"
    number, further = _read_range(number, arguments)
    unit, *after = further or [""]
    if language == "en" and (large := _POWER.fullmatch(unit.lower())):
        value = number.value and number.value * 1000
        number, unit = _Number(f"{number.text} {_POWERS[large[1]]}", value), large[2]
    spelling = _AMERICAN if named.get("sp") == _AMERICAN and language == "en" else language
    if language == "en" and named.get("adj") in ("on", "mid"):
        return _adjective(number.text, unit, after, spelling)
    shown = _with_unit(number, unit, spelling)
    if len(after) > 1 and after[1].lower() in _DATA["smaller units"].get(unit, []):
        smaller, rest = _read_number(after[0], language)
        if smaller and not rest:
            return f"{shown} {_with_unit(smaller, after[1], spelling)}"
    return shown


def _read_range(number: _Number, arguments: _Arguments) -> tuple[_Number, list[str]]:
    """Append the further ends and the power of a number, and return the positional arguments after them."""

    def end_of(word: str) -> _Number:  # a word that is no number stays as it is written
        end, rest = _read_number(word, arguments.language)
        return _Number(word, None) if end is None or rest else end

    further, named = arguments.positional[1:], arguments.named
    while len(further) > 1 and (joint := _RANGES.get(decode_entities(further[0]).lower())):
        number, further = number.to(joint, end_of(further[1])), further[2:]
    for name, value in named.items():
        if joint := _RANGES.get(name):
            number = number.to(joint, end_of(value))
    if power := named.get("e"):
        number = number.times_ten_to(power)
    if named.get("comma") == "off" and arguments.language == "en":
        number = number._replace(text=re.sub(r"(?<=\d),(?=\d)", "", number.text))
    return number, further


def _adjective(words: str, unit: str, after: list[str], language: str) -> str:
    """Write a quantity before a noun: 10-inch, or 204-metre-high with the words that follow."""
    identifier, locale = _DATA["units"].get(unit.lower()), _find_locale(language)
    singular = identifier and locale and str(format_unit(1, identifier, locale=locale)).removeprefix("1 ")
    if not singular or singular == identifier:  # CLDR lacks the name
        return f"{words} {unit}".strip()
    ending = after[-1] if after and after[-1].startswith("-") else ""
    return f"{words} {singular}".replace(" ", "-") + ending


def _powers(arguments: _Arguments) -> str:
    """Write `5|km|2|s|-1`, a number with the powers of its units, as 5 km2 s−1."""
    ends = 1
    while arguments.at(ends).lower() in _RANGES:
        ends += 2
    numbers, units = arguments.positional[:ends] or [""], arguments.positional[ends:]
    pairs = zip_longest(units[::2], units[1::2], fillvalue="")
    unit = " ".join(unit + _write_minus(power) for unit, power in pairs if unit)
    return _quantity(arguments._replace(positional=[*numbers, *filter(None, [unit])]))


def _measure(arguments: _Arguments) -> str:
    """Write `5|k|m`, a number with a unit and its prefix, as 5 km, and `5,2|0,1|u=kg` as 5,2±0,1 kg."""
    words, named, language = arguments
    words = [word if "." in word else _format_number(word, language) for word in words]
    prefix, unit = arguments.at(1), arguments.at(2)
    if unit or _read_number(prefix, language)[0] is None:
        unit = unit or named.get("u") or named.get("ul") or ""
        words, named = words[:1], {**named, "u": ("" if prefix == "-" else prefix) + unit}
    return _value(_Arguments(words, named, language))


def _value(arguments: _Arguments) -> str:
    named = arguments.named

    def show(word: str) -> str:
        word, *powers = _TEN_EXPONENT.split(word)
        commas = named.get("fmt") == "commas"
        word = _format_number(word, arguments.language) if commas else _write_minus(word)
        return "×10^".join([word, *map(_write_minus, powers)])

    words, *more = map(show, arguments.positional or [""])
    power, is_uncertain = named.get("e"), bool(more and more[0])
    if is_uncertain and more[0].lower() in _RANGES:
        words += "".join(_RANGES.get(word.lower(), word) for word in more)
    elif is_uncertain and more[0].startswith("("):
        words, is_uncertain = words + more[0], False
    elif is_uncertain and more[1:]:
        words += f"+{more[0].lstrip('+')}−{more[1].lstrip('−')}"
    elif is_uncertain:
        words += f"±{more[0].lstrip('±')}"
    if power:
        words = f"({words})" if is_uncertain else words
        words += f"{'×' if words else ''}10^{_write_minus(power)}"
    unit, per = (named.get(name) or named.get(f"{name}l") or "" for name in ("u", "up"))
    unit, per = (_DATA["symbols of units"].get(code, code) for code in (unit, per))
    space = "" if unit.startswith(("%", "‰", "′", "″")) or unit == "°" else " "
    unit += f"/{per}" if per else ""
    return f"{named.get('p', '')}{words}{space}{unit}".strip() + named.get("s", "")


def _nihongo(arguments: _Arguments) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    shown, *inside = (arguments.at(place).rstrip(", ") for place in (0, 1, 2))
    brackets = ", ".join(filter(None, inside))
    return f"{shown} ({brackets})" if shown and brackets else shown or brackets


def _as_of(arguments: _Arguments) -> str:
    """Write `As of 2014`, with the parts of a date in the order year, month, day."""
    named = arguments.named
    year, month, date = arguments.at(0), _month(arguments.at(1), arguments.language), arguments.at(2)
    if named.get("df", "").upper() == "US" and date:
        day = f"{month} {date}, {year}"
    else:
        day = " ".join(filter(None, [date, month, year]))
    before = "" if named.get("bare") else "since " if named.get("since") else "as of "
    words = named.get("alt") or (before if "lc" in named else before.capitalize()) + day
    return words + named.get("post", "") if day else ""


def _month(number: str, language: str) -> str:
    locale = _find_locale(language)
    names = locale.months["format"]["wide"] if locale else {}
    return str(names.get(int(number), number)) if number.isdecimal() and len(number) < 3 else number


def _date(arguments: _Arguments) -> str:
    """Write `3|mars|1996` as 3 mars 1996, in French."""
    parts = arguments.positional
    before = parts[:1] if len(parts) > 3 and parts[0].isalpha() else []
    day, month, year = (*parts[len(before) :], "", "", "")[:3]
    if year.startswith(("-", "−")):
        year = f"{year[1:]} av. J.-C."
    day = "1er" if day.lstrip("0") == "1" else day.lstrip("0")
    return " ".join(filter(None, [*before, day, _month(month, arguments.language).lower(), year]))


def _circa(arguments: _Arguments) -> str:
    years = map(_write_minus, filter(None, arguments.positional))
    return f"c. {'–'.join(years)}" if arguments.at(0) else "c."


def _fraction(arguments: _Arguments) -> str:
    """Write `1|2` as 1⁄2, and `3|1|2` as 3 1⁄2."""
    parts = [_write_minus(part) for part in arguments.positional if part]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join([*parts[:-2], f"{parts[-2]}⁄{parts[-1]}"]) if parts else ""


def _power(arguments: _Arguments) -> str:
    """Write `7|15` as 7×10^15, and `15` as ×10^15."""
    *number, power = map(_write_minus, arguments.positional[:2] or [""])
    return f"{''.join(number)}×10^{power}" if power or not number else f"×10^{number[0]}"


def _with_language(code: str, words: str, arguments: _Arguments) -> str:
    """Return words of a language after its name, both in the language of a wiki; the words alone without a name.

    The argument `label` replaces the name, or removes it.
    """
    name = arguments.named.get("label") or _language_name(code.lower(), arguments.language)
    return f"{name}: {words}" if name and name != "none" and words else words


@lru_cache(maxsize=_LANGUAGE_NAMES)
def _language_name(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = _find_locale(language)
    return str(locale.languages.get(code, "")) if locale else ""


def _interlanguage(arguments: _Arguments) -> str:
    """Show the label of `title|de|other title`, or of the older form `de|other title|label`."""
    if arguments.at(0) in WIKIPEDIA_LANGUAGES and arguments.at(1):
        return arguments.at(2) or arguments.at(1)
    return arguments.named.get("lt") or arguments.at(0)


def _currency(arguments: _Arguments) -> str:
    """Write `13 billion|USD` as US$13 billion."""
    locale, code = _find_locale(arguments.language), arguments.at(1).upper()
    symbol = get_currency_symbol(code, locale=locale) if locale and code else code
    amount = _write_minus(_format_number(arguments.at(0), arguments.language))
    sign = _MINUS if amount.startswith(_MINUS) else ""
    return f"{sign}{symbol}{amount.removeprefix(sign)}" if amount else ""


_Show = Callable[[_Arguments], str]  # Returns a template's text; empty to remove the template

_FAMILIES: Mapping[str, _Show] = {
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
    "joined": lambda given: "".join(given.positional),
    "brackets": lambda given: f"⟨{given.at(0)}⟩" if given.at(0) else "",
    "words": lambda given: " ".join(given.positional[:2]),
    "number": lambda given: " ".join(filter(None, [_format_number(given.at(0), given.language), given.at(1)])),
    "named_language": lambda given: _with_language(given.at(0), given.at(1), given),
}

_PASSES = 2  # Templates four deep are shown; deeper ones are removed
_LONGEST_TEMPLATE = 2000  # Characters of a template's arguments; a longer template is removed
_INNER = r"\{\{(?:[^{}\[]++|\[\[[^{}\[\]]*+\]\]|\[(?!\[)|-\{[^{}]*+\}-)*+\}\}"
_LINK = rf"\[\[(?:[^\[\]{{]++|\[\[[^\[\]{{}}]*+\]\]|{_INNER}|\{{(?!\{{)|\[(?!\[)|\](?!\]))*+\]\]"
_INNER_TEMPLATE = re.compile(_INNER)
_CONTENT = rf"(?:[^{{}}\[]++|{_INNER}|{_LINK}|\[(?!\[)|\{{(?!\{{)|\}}(?!\}}))*+"
"""A template's arguments. As in MediaWiki, braces inside `[[…]]` do not end them."""
_PART = re.compile(r"(?:[^|\[-]++|\[\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]\]|-\{(?:-\{[^{}]*+\}-|[^{}])*+\}-|[\[-])*+")
"""An argument; the bar of a link or of a script variant in it does not end it."""
_NAMED_BY_LANGUAGE = (
    rf"lang-([a-z]{{2,3}})(?:-[a-z-]+)?\s*+\|({_CONTENT})"
    rf"|(?:{'|'.join(_DATA['formatnum']).replace(' ', '[ _]')}):([^{{}}|\[\]]*+)(\|[^{{}}]*+)?"
)
"""`{{lang-fr|mot}}`, and `{{formatnum:5000}}` by its names in the languages of `templates.yml`.

With an option, such as `|NOSEP`, the number stays as it is written.
"""
_NAME = re.compile(r"[\w ±×/+*–-]+")
_PLACE = re.compile(r"[1-9][0-9]?")
_MARKS = (*"*#:;=", "----")


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
        name, content, code, words, number, option = template.groups()
        if len(template[0]) > _LONGEST_TEMPLATE:
            return GAP
        if number is not None:
            written = _show_number(number.strip(), (option or "").strip("| "), language)
        else:
            # Templates inside have no templates inside.
            arguments = _arguments(pattern.sub(replace, content or words or ""), language)
            if name:
                written = shown[" ".join(name.replace("_", " ").lower().split())](arguments)
            else:
                written = _with_language(code, arguments.at(0), arguments)
        written = written or GAP
        return BREAK + written if written.startswith(_MARKS) else written  # the marks do not begin a list

    for _ in range(_PASSES):
        text, replaced = pattern.subn(replace, text)
        if not replaced:
            break
    return text


@cache
def _templates(language: str) -> tuple[re.Pattern[str], Mapping[str, _Show]]:

    def argument(place: int) -> _Show:
        return lambda given: given.at(place - 1 if place > 0 else place)

    def prefixed(written: str) -> _Show:
        return lambda given: f"{written}{given.at(0)}".strip()

    def constant(written: str) -> _Show:
        return lambda given: written

    shown: dict[str, _Show] = {}
    for code in ("all", language):
        for family, names in _DATA["own"].get(code, {}).items():
            shown |= dict.fromkeys(names, _FAMILIES[family])
        for place, names in _DATA["argument"].get(code, {}).items():
            shown |= dict.fromkeys(names, argument(place))
        shown |= {name: prefixed(written) for name, written in _DATA["prefix"].get(code, {}).items()}
        shown |= {str(name): constant(written) for name, written in _DATA["text"].get(code, {}).items()}
    by_letter: dict[str, list[str]] = {}
    for name in sorted(shown, key=len, reverse=True):
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]).replace(r"\ ", "[ _]"))
    names = "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    start, end = r"\{\{(?<!\{\{\{)[\s_]*+", r"\}\}(?!\}(?!\}))"
    known = rf"({names})[\s_]*+(?:\|({_CONTENT}))?"
    return re.compile(rf"{start}(?:{known}|{_NAMED_BY_LANGUAGE}){end}", re.IGNORECASE), shown


def _show_number(number: str, option: str, language: str) -> str:
    """Show `{{formatnum:…}}`; `{{formatnum:1,234.5|R}}` without separators of groups and with a decimal point."""
    if option.upper() == "R" and (locale := _find_locale(language)):
        number = number.replace(get_group_symbol(locale), "").replace(get_decimal_symbol(locale), ".")
    if option.upper() == "R":
        number = re.sub(r"\s", "", number)
    return _write_minus(number) if option else _format_number(number, language)


def _arguments(source: str, language: str) -> _Arguments:
    """Split a template's content at its bars, but not at those of links; templates inside are removed."""
    positional: dict[int, str] = {}
    named: dict[str, str] = {}
    unnumbered = count(1)
    source = _INNER_TEMPLATE.sub(GAP, source)
    position, size = 0, len(source)
    while position <= size:
        part = _PART.match(source, position)
        assert part is not None
        position = part.end() + 1
        name, sign, value = part[0].partition("=")
        name = name.strip()
        if not sign or not _NAME.fullmatch(name):
            positional[next(unnumbered)] = part[0].strip()
        elif _PLACE.fullmatch(name):
            positional[int(name)] = value.strip()
        else:
            named[name.lower()] = value.strip()
    places = range(1, max(positional, default=0) + 1)
    return _Arguments([positional.get(place, "") for place in places], named, language)
