"""What the writers of templates read: a template's arguments, the shipped lists, and the locale of a wiki."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError

from ease.io.files import read_data_file
from ease.wikimedia.languages import Language

# Value of the argument `sp` for American spelling, and code of the locale.
AMERICAN = "us"
# A position that a number names; more arguments have no number.
_PLACE = re.compile(r"[1-9]\d{0,6}")
# An argument; the bar of a link or of a script variant in it does not end it.
_PART = re.compile(r"(?:[^|\[-]++|\[\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]\]|-\{(?:-\{[^{}]*+\}-|[^{}])*+\}-|[\[-])*+")
_ARGUMENT_NAME = re.compile(r"[\w ±×/+*–-]+")


# The lists are read when a page is parsed: every command imports this module, and few parse wikitext.
@cache
def template_data() -> dict[str, Any]:
    """Return the content of `templates.yml`: templates by family, units, and words of ranges."""
    content: dict[str, Any] = read_data_file("ease.wikimedia.wikitext", "templates.yml")
    return content


@cache
def find_locale(language: str) -> Locale | None:
    """Return CLDR's locale of a Wikipedia; the English one writes British English, as its templates do."""
    tags = {"en": "en-GB", AMERICAN: "en-US"}
    try:
        return Locale.parse(tags.get(language) or Language(language).bcp_47, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


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


def read_arguments(source: str, language: str, title: str = "") -> Arguments:
    """Split a template's content at its bars, but not at those of links."""
    exact: dict[str, str] = {}
    unnumbered = count(1)
    for part in _split_at_bars(source):
        name, sign, value = part.partition("=")
        name = name.strip()
        if sign and _ARGUMENT_NAME.fullmatch(name):
            exact[name] = value.strip()
        else:
            exact[str(next(unnumbered))] = part.strip()
    return make_arguments(exact, language, title)


def _split_at_bars(source: str) -> list[str]:
    # Without what the pattern protects, the simple way is several times as fast.
    if "[[" not in source and "-{" not in source:
        return source.split("|")
    parts: list[str] = []
    position = 0
    while position <= len(source):
        part = _PART.match(source, position)
        # The pattern also matches the empty text.
        assert part is not None
        position = part.end() + 1
        parts.append(part[0])
    return parts


Writer = Callable[[Arguments], str]  # Returns a template's text; empty to remove the template
