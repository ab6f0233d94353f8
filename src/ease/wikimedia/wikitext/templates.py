"""Show templates that write words, such as `{{convert|5|km}}` or `{{lang|fr|mot}}`, as text.

`templates.yml` lists them by family. Other templates (citations, notes, boxes) are left for the parser to remove. Each
pass is linear in the length of the text: a template's content is bounded, and so is the number of passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import count

from ease.wikimedia.wikitext.markup import BREAK, GAP
from ease.wikimedia.wikitext.numbers import DATA, format_number, unformat_number, write_minus
from ease.wikimedia.wikitext.template_families import FAMILIES, Arguments, name_language

_PASSES = 2
"""Templates four deep are shown; deeper ones are removed."""
_LONGEST = 2000
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
        if len(template[0]) > _LONGEST:
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
