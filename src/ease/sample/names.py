"""Names of the entities, and titles of their articles, in each wiki."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from babel import Locale

from ease.sample.facts import Entity
from ease.wikimedia.wikitext.titles import capitalize_first

_BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_UNFIT = re.compile(r"[.。?!#<>\[\]{}|/:_«»\"]")


@dataclass(frozen=True)
class WikiNames:
    """Names and titles in one language, without the entities that have no usable name there."""

    language: str
    names: Mapping[Entity, str]
    titles: Mapping[Entity, str]
    ambiguous: Mapping[str, tuple[Entity, ...]]
    """Titles of disambiguation pages, with the entities that share each name."""


def read_names(language: str, entities: Iterable[Entity], nouns: Mapping[str, str]) -> WikiNames:
    """Return CLDR's names of the entities, and a unique title for each; nouns of kinds distinguish equal names."""
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
        # A full stop inside a name would end the sentence; the other characters are wiki syntax.
        if name and not _UNFIT.search(name):
            names[entity] = name
    return WikiNames(language, names, *_make_titles(language, names, nouns))


def clean_name(name: str) -> str:
    """Normalise to NFC; remove bidirectional control characters and double spaces, as MediaWiki does."""
    return " ".join(unicodedata.normalize("NFC", name).translate(_BIDI).split())


def _make_titles(
    language: str, names: Mapping[Entity, str], nouns: Mapping[str, str]
) -> tuple[dict[Entity, str], dict[str, tuple[Entity, ...]]]:
    sharing: dict[str, list[Entity]] = defaultdict(list)
    for entity, name in names.items():
        sharing[capitalize_first(name, language)].append(entity)
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
