"""Names of the entities and titles of their articles, a wiki at a time."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from babel import Locale

from ease.sample.facts import Entity

_BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_UNFIT = re.compile(r"[.。?!#<>\[\]{}|/:_«»\"]")


@dataclass(frozen=True)
class WikiNames:
    """Names and titles in one language; an entity without a usable name there is in neither mapping."""

    language: str
    names: Mapping[Entity, str]
    titles: Mapping[Entity, str]
    ambiguous: Mapping[str, tuple[Entity, ...]]
    """Titles of disambiguation pages, with the entities that share the name."""


def read_names(language: str, entities: Iterable[Entity], nouns: Mapping[str, str]) -> WikiNames:
    """Name the entities as CLDR does, and give each a title that no other article of the wiki has.

    Args:
        language: One of the sample's languages.
        entities: In a fixed order.
        nouns: The word for each kind, which sets titles apart as in `Arabic (language)`.
    """
    locale = Locale(language)
    tables = {
        "territory": locale.territories,
        "region": locale.territories,
        "continent": locale.territories,
        "currency": locale.currencies,
        "language": locale.languages,
        "script": locale.scripts,
    }
    names = {}
    for entity in entities:
        name = clean_name(tables[entity.kind].get(entity.code, ""))
        # A full stop inside a name would be taken for the sentence's end; the others are wiki syntax.
        if name and not _UNFIT.search(name):
            names[entity] = name
    return WikiNames(language, names, *_make_titles(language, names, nouns))


def clean_name(name: str) -> str:
    """NFC without bidirectional control characters and runs of spaces, as titles are stored."""
    return " ".join(unicodedata.normalize("NFC", name).translate(_BIDI).split())


def capitalize(text: str, language: str) -> str:
    """Put the first letter in upper case as the language does it, where that is one letter (not ß)."""
    first = "İ" if language == "tr" and text[:1] == "i" else text[:1].upper()
    return first + text[1:] if len(first) == 1 else text


def _make_titles(
    language: str, names: Mapping[Entity, str], nouns: Mapping[str, str]
) -> tuple[dict[Entity, str], dict[str, tuple[Entity, ...]]]:
    sharing: dict[str, list[Entity]] = defaultdict(list)
    for entity, name in names.items():
        sharing[capitalize(name, language)].append(entity)
    titles: dict[Entity, str] = {}
    for title, entities in sharing.items():
        kinds = [entity.kind for entity in entities]
        for entity in entities:
            if len(entities) == 1:
                titles[entity] = title
            elif kinds.count(entity.kind) == 1:
                titles[entity] = f"{title} ({nouns[entity.kind]})"
            else:
                titles[entity] = f"{title} ({nouns[entity.kind]} {entity.code})"
    return titles, {title: tuple(entities) for title, entities in sharing.items() if len(entities) > 1}
