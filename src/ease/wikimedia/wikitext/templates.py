"""Show templates that write words, such as `{{convert|5|km}}` or `{{lang|fr|mot}}`, as text.

`templates.yml` lists them by family. Other templates (citations, notes, boxes) are left for the parser to remove. Each
pass is linear in the length of the text: a template's content is bounded, and so is the number of passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.numbers import NumberFormatError, format_decimal, parse_decimal
from babel.units import format_unit

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.markup import GAP

_DATA: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
_PASSES = 2
"""Templates three deep are shown; deeper ones are removed."""
_LONGEST = 2000
"""Characters of a template's arguments; a longer template is removed."""
_INNER = r"\{\{[^{}]*+\}\}"
_INNER_TEMPLATE = re.compile(_INNER)
_CONTENT = rf"(?:[^{{}}]++|{_INNER})*+"
_PART = re.compile(r"(?:[^|\[]++|\[\[[^\[\]]*+\]\]|\[)*+")
"""An argument; the bar of a link in it does not end it."""
_NAMED = re.compile(r"\s*([\w -]+?)\s*=(.*)", re.DOTALL)
_NUMBER = re.compile(r"[+−-]?\d[\d.,]*")


class Arguments(NamedTuple):
    """Arguments of a template, by position from 0 and by name."""

    positional: list[str]
    named: dict[str, str]

    def at(self, place: int) -> str:
        """Return a positional argument; empty if there is none."""
        return self.positional[place] if -len(self.positional) <= place < len(self.positional) else ""


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
        if len(template[0]) > _LONGEST:
            return GAP
        name = " ".join(template[1].replace("_", " ").lower().split())
        # Templates inside have no templates inside.
        return shown[name](_arguments(pattern.sub(replace, template[2] or ""))) or GAP

    for _ in range(_PASSES):
        text, count = pattern.subn(replace, text)
        text, prefixed = _NAMED_BY_LANGUAGE.subn(partial(_show_by_name, language=language), text)
        if not count + prefixed:
            break
    return text


@cache
def hidden_templates(language: str) -> frozenset[str]:
    """Return the templates, in lower case, that show no words of their sentence, such as `{{citation needed}}`."""
    return frozenset(name for code in ("all", language) for name in _DATA["hidden"].get(code, []))


@cache
def _templates(language: str) -> tuple[re.Pattern[str], Mapping[str, Show]]:
    """Return a pattern of the known templates, and what each one shows."""
    shown: dict[str, Show] = {}
    for name in _DATA["quantity"]["all"]:
        shown[name] = partial(_quantity, language=language)
    for code in ("all", language):
        for family, names in _DATA["own"].get(code, {}).items():
            for name in names:
                shown[name] = partial(_OWN[family], language=language)
        for place, names in _DATA["argument"].get(code, {}).items():
            for name in names:
                shown[name] = partial(_argument, place=place - 1 if place > 0 else place)
        for name, written in _DATA["prefix"].get(code, {}).items():
            shown[name] = partial(_prefixed, written=written)
        for name, written in _DATA["text"].get(code, {}).items():
            shown[str(name)] = partial(_constant, written=written)
    names = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in sorted(shown, key=len, reverse=True))
    start, end = r"\{\{(?<!\{\{\{)[\s_]*+", r"\}\}(?!\})"
    return re.compile(rf"{start}({names})[\s_]*+(?:\|({_CONTENT}))?{end}", re.IGNORECASE), shown


def _arguments(source: str) -> Arguments:
    """Split a template's content at its bars, but not at those of links; templates inside are removed."""
    positional: list[str] = []
    named: dict[str, str] = {}
    for part in _parts(_INNER_TEMPLATE.sub(GAP, source)):
        found = _NAMED.fullmatch(part)
        if found and not found[1].isdigit():
            named[found[1].lower()] = found[2].strip()
        else:
            positional.append((found[2] if found else part).strip())
    return Arguments(positional, named)


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


_NAMED_BY_LANGUAGE = re.compile(
    rf"\{{\{{(?<!\{{\{{\{{)\s*+(?:lang-([a-z]{{2,3}})(?:-[a-z-]+)?\s*+\|({_CONTENT})"
    r"|formatnum:\s*+([\d.,]++)(?:\|[^{}]*+)?)\}\}(?!\})",
    re.IGNORECASE,
)
"""`{{lang-fr|mot}}` and `{{formatnum:5000}}`."""


def _show_by_name(template: re.Match[str], language: str) -> str:
    """Show a template whose name contains a language or a number."""
    if template[3]:
        return _number(template[3], language)
    words = _arguments(template[2]).at(0)
    name = _language_name(template[1].lower(), language)
    return f"{name}: {words}" if name and words else words or GAP


@cache
def _language_name(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = _locale(language)
    return str(locale.languages.get(code, "")) if locale else ""


@cache
def _locale(language: str) -> Locale | None:
    """Return CLDR's locale of a Wikipedia; the English one writes British English, as its templates do."""
    try:
        return Locale.parse(
            "en_GB" if language == "en" else Language(language).bcp_47, sep="-" if language != "en" else "_"
        )
    except (UnknownLocaleError, ValueError):
        return None


def _number(digits: str, language: str) -> str:
    """Write a number with the separators of a language."""
    locale = _locale(language)
    if locale is None:
        return digits
    try:
        return str(
            format_decimal(
                parse_decimal(digits.replace(",", ""), locale="en"), locale=locale, decimal_quantization=False
            )
        )
    except (NumberFormatError, ValueError):
        return digits


def _quantity(arguments: Arguments, language: str) -> str:
    """Write `5|km` or `5|-|10|km` as a number or a range with its unit."""
    words, unit = "", ""
    for word in arguments.positional:
        if _NUMBER.fullmatch(word):
            words += _number(word, language) if word[0].isdigit() else word
        elif word.lower() in _DATA["ranges"] and words:
            words += _DATA["ranges"][word.lower()]
        else:
            unit = word
            break
    if not words:
        return ""
    return _with_unit(words, unit, language)


def _with_unit(words: str, unit: str, language: str) -> str:
    """Append a unit's name in a language, in the form that fits the last number."""
    identifier, locale = _DATA["units"].get(unit.lower()), _locale(language)
    if identifier is None or locale is None:
        return f"{words} {unit}".strip()
    last = re.split(r"[^\d.,]+", words)[-1]
    try:
        number = parse_decimal(last, locale=locale)
    except (NumberFormatError, ValueError):
        return f"{words} {unit}"
    shown = format_unit(number, identifier, locale=locale)
    plain = format_decimal(number, locale=locale)
    return str(shown).replace(str(plain), words, 1) if plain in shown else f"{words} {unit}"


def _measure(arguments: Arguments, language: str) -> str:
    """Write `5|k|m`, a number with a unit and its prefix, as 5 km."""
    number, prefix, unit = (arguments.at(place) for place in range(3))
    return f"{number} {prefix}{unit}".strip()


def _nihongo(arguments: Arguments, language: str) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    shown, *inside = (arguments.at(place) for place in (0, 1, 2))
    brackets = ", ".join(filter(None, inside))
    return f"{shown} ({brackets})" if shown and brackets else shown or brackets


def _as_of(arguments: Arguments, language: str) -> str:
    """Write `As of 2014`, with the parts of a date in the order year, month, day."""
    day = " ".join(filter(None, [arguments.at(2), _month(arguments.at(1), language), arguments.at(0)]))
    words = arguments.named.get("alt") or f"{'as' if 'lc' in arguments.named else 'As'} of {day}"
    return words if day else ""


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


_OWN: Mapping[str, Callable[..., str]] = {
    "nihongo": _nihongo,
    "as_of": _as_of,
    "circa": _circa,
    "fraction": _fraction,
    "value": _value,
    "joined": _joined,
    "measure": _measure,
}
