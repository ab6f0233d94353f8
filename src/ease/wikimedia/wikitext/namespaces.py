"""Prefixes of titles: namespaces by their names in many languages, other wikis, other languages.

The names are in `namespaces.yml`, the prefixes of other wikis in `prefixes.yml`.
"""

from __future__ import annotations

from functools import cache

from ease.io.data_files import read_data_file
from ease.wikimedia.languages import OLDER_CODES, WIKIPEDIA_LANGUAGES

MEDIA, FILE, CATEGORY = -2, 6, 14

_PREFIXES = read_data_file("ease.wikimedia.wikitext", "prefixes.yml")

LANGUAGE_PREFIXES = WIKIPEDIA_LANGUAGES | OLDER_CODES.keys() | frozenset(_PREFIXES["languages"])
"""Prefixes of links to the same article in another language."""

WIKI_PREFIXES = frozenset(_PREFIXES["wikis"])
"""Prefixes of links to other wikis and sites."""


@cache
def known_namespaces(language: str) -> dict[str, int]:
    """Return the numbers of namespaces by lower-case name: English names and those of a language."""
    table = _read_names()
    return {
        name.lower(): number
        for code in ("en", OLDER_CODES.get(language, language), language)
        for number, names in table.get(code, {}).items()
        for name in names
    }


@cache
def _read_names() -> dict[str, dict[int, list[str]]]:
    table: dict[str, dict[int, list[str]]] = read_data_file("ease.wikimedia.wikitext", "namespaces.yml")
    return table
