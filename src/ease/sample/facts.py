"""Entities and facts of the sample wiki, from CLDR by way of Babel.

A fact is a relation between two entities: a territory and its currency, a language and its script, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from babel.core import get_global

from ease.io.data_files import read_data_file

STANDARDS: dict[str, str] = read_data_file("ease.sample", "frames.yml")["kinds"]
"""Standards that name the entities of each kind by codes."""
KINDS = tuple(STANDARDS)
"""Kinds of entities; each kind is a class in the sample's Wikidata dump."""

MINIMUM_SPEAKERS = 10.0
"""A language without official status counts as spoken in a territory from this percentage of the population."""

QID_BASE = 9_000_000_000
"""Synthetic Wikidata numbers start here, far above the real ones."""


class Entity(NamedTuple):
    """Subject of an article, identified by its kind and its ISO or UN code."""

    kind: str
    code: str

    @property
    def qid(self) -> int:
        """Wikidata number, derived only from the entity (codes have at most four letters or digits)."""
        return QID_BASE + (KINDS.index(self.kind) + 1) * 10_000_000 + int(self.code, 36)


class Fact(NamedTuple):
    """A relation between two entities."""

    relation: str
    subject: Entity
    object: Entity

    @property
    def key(self) -> str:
        """Name of the fact in the held-out tables, such as `pays:JP:JPY`."""
        return f"{self.relation}:{self.subject.code}:{self.object.code}"


@dataclass(frozen=True)
class World:
    """All entities and facts of the sample, in a fixed order."""

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]


def read_world(territories: int) -> World:
    """Read CLDR's facts about some territories.

    Territories are chosen in turn from the UN's regions, so that even a small world has all continents.
    """
    by_region = [
        (Entity("continent", continent), Entity("region", region), codes.split())
        for continent, regions in read_data_file("ease.sample", "regions.yml").items()
        for region, codes in regions.items()
    ]
    longest = max(len(codes) for _, _, codes in by_region)
    places = [
        (continent, region, Entity("territory", codes[turn]))
        for turn in range(longest)
        for continent, region, codes in by_region
        if turn < len(codes)
    ][:territories]
    facts: list[Fact] = []
    for continent, region, territory in places:
        facts.append(Fact("part", region, continent))
        facts.append(Fact("located", territory, region))
        for code, _, end, is_tender in get_global("territory_currencies").get(territory.code, []):
            if is_tender and end is None:  # legal tender today
                currency = Entity("currency", code)
                facts += [Fact("pays", territory, currency), Fact("circulates", currency, region)]
        for language in _languages(territory.code):
            facts += [Fact("speaks", territory, language), Fact("heard", language, region)]
            if likely := get_global("likely_subtags").get(language.code):
                facts.append(Fact("writes", language, Entity("script", likely.split("_")[1])))
    unique = sorted(set(facts))
    entities = {entity for fact in unique for entity in (fact.subject, fact.object)}
    return World(tuple(sorted(entities, key=lambda e: (KINDS.index(e.kind), e.code))), tuple(unique))


def _languages(territory: str) -> list[Entity]:
    """Return the official languages and those with enough speakers, without varieties such as `zh_Hant`."""
    spoken = get_global("territory_languages").get(territory, {})
    return [
        Entity("language", code)
        for code, use in spoken.items()
        if "_" not in code
        and (use["official_status"] or (use["population_percent"] or 0) >= MINIMUM_SPEAKERS)
    ]
