"""The sample's world: facts and names from CLDR, the wikis' sites, and phrases of the languages."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from babel import Locale
from babel.core import get_global

from ease.io.files import read_data_file
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.titles import capitalize_first

_TABLES = read_data_file("ease.sample", "frames.yml")
STANDARDS: dict[str, str] = _TABLES["kinds"]
"""Standards that name the entities of each kind by codes."""
ENTITY_KINDS = tuple(STANDARDS)
"""Kinds of entities; each kind is a class in the sample's Wikidata dump."""
FRAMES: dict[str, list[str]] = _TABLES["slots"]
"""The slots of each frame's templates, in the order of a statement's entities."""
SHARED_FRAMES: dict[str, str] = _TABLES["shared"]
"""By relation, the frames that state it for two territories at once."""
# In percent of a territory's population: from here on, a language without official status counts as spoken there.
MINIMUM_SPEAKERS = 10.0
# Synthetic Wikidata numbers start here, far above the real ones.
QID_BASE = 9_000_000_000


class Entity(NamedTuple):
    """Subject of an article, identified by its kind and its ISO or UN code."""

    kind: str
    code: str

    @property
    def qid(self) -> int:
        """Wikidata number, derived only from the entity (codes have at most four letters or digits)."""
        # Base 36, the digits and letters of codes: four of them need less than 10 million numbers.
        return QID_BASE + (ENTITY_KINDS.index(self.kind) + 1) * 10_000_000 + int(self.code, 36)


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
    """Return CLDR's facts about some territories, and the entities of these facts."""
    facts: list[Fact] = []
    for continent, region, territory in _pick_territories(territories):
        facts += [Fact("part", region, continent), Fact("located", territory, region)]
        facts += _currency_facts(territory, region)
        facts += _language_facts(territory, region)
    # Sorted, since the draws of the sample depend on the order.
    unique = sorted(set(facts))
    entities = {entity for fact in unique for entity in (fact.subject, fact.object)}
    return World(tuple(sorted(entities, key=lambda e: (ENTITY_KINDS.index(e.kind), e.code))), tuple(unique))


def _pick_territories(count: int) -> list[tuple[Entity, Entity, Entity]]:
    """Return the continent, region and territory of some territories.

    They are taken in turn from the UN's regions, so that even a small world has all continents.
    """
    by_region = [
        (Entity("continent", continent), Entity("region", region), codes.split())
        for continent, regions in read_data_file("ease.sample", "regions.yml").items()
        for region, codes in regions.items()
    ]
    turns = max(len(codes) for _, _, codes in by_region)
    places = [
        (continent, region, Entity("territory", codes[turn]))
        for turn in range(turns)
        for continent, region, codes in by_region
        if turn < len(codes)
    ]
    return places[:count]


def _currency_facts(territory: Entity, region: Entity) -> Iterator[Fact]:
    for code, _, end, is_tender in get_global("territory_currencies").get(territory.code, []):
        # CLDR also lists former currencies, and some that are no legal tender.
        if is_tender and end is None:
            currency = Entity("currency", code)
            yield Fact("pays", territory, currency)
            yield Fact("circulates", currency, region)


def _language_facts(territory: Entity, region: Entity) -> Iterator[Fact]:
    for code, use in get_global("territory_languages").get(territory.code, {}).items():
        is_spoken = use["official_status"] or (use["population_percent"] or 0) >= MINIMUM_SPEAKERS
        # Varieties such as `zh_Hant` are not languages.
        if not is_spoken or "_" in code:
            continue
        language = Entity("language", code)
        yield Fact("speaks", territory, language)
        yield Fact("heard", language, region)
        if subtags := get_global("likely_subtags").get(code):
            yield Fact("writes", language, Entity("script", subtags.split("_")[1]))


def facts_by_entity(facts: Iterable[Fact], entities: Iterable[Entity]) -> dict[Entity, list[Fact]]:
    """Return the facts about each entity, of those whose two entities are both among the entities."""
    facts_of: dict[Entity, list[Fact]] = {entity: [] for entity in entities}
    for fact in facts:
        if fact.subject in facts_of and fact.object in facts_of:
            facts_of[fact.subject].append(fact)
            facts_of[fact.object].append(fact)
    return facts_of


_BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
# A full stop inside a name would end the sentence; the other characters are wiki syntax.
_UNFIT = re.compile(r"[.。?!#<>\[\]{}|/:_«»\"]")
_SLOT = re.compile(r"\{(\w+)\}")
_NUMBERS = (-2, -1, *range(1, 16))


def clean_name(name: str) -> str:
    """Normalise to NFC; remove bidirectional control characters and double spaces, as MediaWiki does."""
    return " ".join(unicodedata.normalize("NFC", name).translate(_BIDI).split())


@dataclass(frozen=True)
class Site:
    """A wiki's namespaces by number (0, articles, has an empty name), and its redirect keyword."""

    language: str
    names: Mapping[int, str]
    redirect_keyword: str
    project: str = "wikipedia"

    @property
    def dbname(self) -> str:
        """Name of the wiki's database, the beginning of its dumps' names."""
        project = self.project
        # Wikimedia names the databases of Wikipedias after wikis, not after the project.
        if project == "wikipedia":
            project = "wiki"
        return Language(self.language).database + project


@cache
def read_site(language: str) -> Site:
    """Return a Wikipedia's names, as in its `<siteinfo>`."""
    content = read_data_file("ease.sample", "namespaces.yml")[language]
    names = dict(zip(_NUMBERS, content["names"], strict=True))
    return Site(language, {0: "", **names}, content["redirect"])


class Statement(NamedTuple):
    """Language-independent content of a sentence: a frame, and the entities for its slots."""

    frame: str
    entities: tuple[Entity, ...]


def statement_of(fact: Fact) -> Statement:
    """Return the statement of a single fact."""
    return Statement(fact.relation, (fact.subject, fact.object))


def statement_of_two(fact: Fact, other: Fact) -> Statement:
    """Return the statement of two facts: one relation of two territories, or a territory's currency and language."""
    if fact.relation == other.relation:
        return Statement(SHARED_FRAMES[fact.relation], (fact.subject, other.subject, fact.object))
    pays = fact
    speaks = other
    if fact.relation != "pays":
        pays = other
        speaks = fact
    return Statement("pays_speaks", (fact.subject, pays.object, speaks.object))


class Mention(NamedTuple):
    """An entity's name in a sentence, with offsets in code points."""

    start: int
    end: int
    entity: Entity


class SampleSentence(NamedTuple):
    """A sentence of prose, and the names in it in order."""

    text: str
    mentions: tuple[Mention, ...]


@cache
def read_sentence_templates(language: str) -> dict[str, Any]:
    """Return the words and templates of a language."""
    content: dict[str, Any] = read_data_file("ease.sample", f"templates/{language}.yml")
    return content


def split_template(template: str) -> tuple[str, ...]:
    """Split into literal text (even positions) and slots (odd positions)."""
    return tuple(_SLOT.split(template))


class Phrasebook:
    """Words and templates of one language, and CLDR's names of the entities that have a usable name in it."""

    def __init__(self, language: str, entities: Iterable[Entity]) -> None:
        content = read_sentence_templates(language)
        locale = Locale(language)
        self.language = language
        self.words: Mapping[str, Mapping[str, str]] = content["words"]
        self.headings: Mapping[str, str] = content["headings"]
        self.notes: Mapping[str, str] = content["notes"]
        self.templates: Mapping[str, tuple[tuple[str, ...], ...]] = {
            frame: tuple(map(split_template, lines.splitlines())) for frame, lines in content["frames"].items()
        }
        self._articles = {
            Entity(kind, code): f"{article} "
            for kind, by_article in content.get("articles", {}).items()
            for article, codes in by_article.items()
            for code in codes.split()
        }
        tables = {"currency": locale.currencies, "language": locale.languages, "script": locale.scripts}
        self.names: dict[Entity, str] = {}
        for entity in entities:
            name = clean_name(tables.get(entity.kind, locale.territories).get(entity.code, ""))
            if name and not _UNFIT.search(name):
                self.names[entity] = name
        entities_by_title: dict[str, list[Entity]] = defaultdict(list)
        for entity, name in self.names.items():
            entities_by_title[capitalize_first(name, language)].append(entity)
        self.ambiguous = {
            title: tuple(namesakes) for title, namesakes in entities_by_title.items() if len(namesakes) > 1
        }
        """Titles of disambiguation pages, with the entities that share each name."""
        self.titles: dict[Entity, str] = {}
        """A unique title of each entity; nouns of kinds, then codes, distinguish equal names."""
        for title, namesakes in entities_by_title.items():
            kinds = [entity.kind for entity in namesakes]
            for entity in namesakes:
                qualifier = self.words[entity.kind]["short"]
                if kinds.count(entity.kind) > 1:
                    qualifier += f" {entity.code}"
                self.titles[entity] = title
                if len(namesakes) > 1:
                    self.titles[entity] = f"{title} ({qualifier})"

    def say(self, statement: Statement, template: int) -> SampleSentence:
        """Word a statement with one of its frame's templates; the number wraps around."""
        choices = self.templates[statement.frame]
        entities = dict(zip(FRAMES[statement.frame], statement.entities, strict=True))
        kind = self.words[statement.entities[0].kind]
        return self.fill(choices[template % len(choices)], entities, kind)

    def note(self, name: str, entity: Entity) -> SampleSentence:
        """Word a note (a caption, a list item) about an entity."""
        return self.fill(split_template(self.notes[name]), {"X": entity}, self.words[entity.kind])

    def fill(self, template: Sequence[str], entities: Mapping[str, Entity], words: Mapping[str, str]) -> SampleSentence:
        """Fill the slots of a split template with names, which become mentions, and words."""
        text = ""
        mentions = []
        for place, piece in enumerate(template):
            if place % 2 == 0:
                text += piece
            elif piece in entities:
                entity = entities[piece]
                # An article belongs to the sentence, not to the mention.
                text += self._articles.get(entity, "")
                mentions.append(Mention(len(text), len(text) + len(self.names[entity]), entity))
                text += self.names[entity]
            else:
                text += words[piece]
        # A capital has as many characters as its letter, so the offsets stay.
        return SampleSentence(capitalize_first(text, self.language), tuple(mentions))
