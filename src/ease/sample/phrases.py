"""Sentences in several languages from hand-written templates, which are in `templates/`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ease.io.data_files import read_data_file
from ease.sample.facts import Entity, Fact
from ease.sample.names import WikiNames
from ease.wikimedia.wikitext.titles import capitalize_first

SAMPLE_LANGUAGES = tuple(sorted(file.stem for file in Path(__file__).with_name("templates").glob("*.yml")))
"""The languages of the sample wiki."""

_TABLES = read_data_file("ease.sample", "frames.yml")
FRAMES: dict[str, list[str]] = _TABLES["slots"]
"""The slots of each frame's templates, in the order of a statement's entities."""
SHARED_FRAMES: dict[str, str] = _TABLES["shared"]
"""By relation, the frames that state it for two territories at once."""

_SLOT = re.compile(r"\{(\w+)\}")


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
    pays, speaks = (fact, other) if fact.relation == "pays" else (other, fact)
    return Statement("pays_speaks", (fact.subject, pays.object, speaks.object))


class Mention(NamedTuple):
    """An entity's name in a sentence, with offsets in code points."""

    start: int
    end: int
    entity: Entity


class Sentence(NamedTuple):
    """A sentence of prose, and the names in it in order."""

    text: str
    mentions: tuple[Mention, ...]


@dataclass(frozen=True)
class Phrasebook:
    """Words, templates and names of one language."""

    language: str
    wiki: WikiNames
    words: Mapping[str, Mapping[str, str]]
    headings: Mapping[str, str]
    notes: Mapping[str, str]
    articles: Mapping[Entity, str]
    templates: Mapping[str, tuple[tuple[str, ...], ...]]
    """Templates by frame, each split into literal text (even positions) and slots (odd positions)."""

    def say(self, statement: Statement, template: int) -> Sentence:
        """Word a statement with one of its frame's templates; the number wraps around."""
        choices = self.templates[statement.frame]
        entities = dict(zip(FRAMES[statement.frame], statement.entities, strict=True))
        kind = self.words[statement.entities[0].kind]
        return self.fill(choices[template % len(choices)], entities, kind)

    def note(self, name: str, entity: Entity) -> Sentence:
        """Word a note (a caption, a list item) about an entity."""
        return self.fill(split_template(self.notes[name]), {"X": entity}, self.words[entity.kind])

    def fill(
        self, template: Sequence[str], entities: Mapping[str, Entity], words: Mapping[str, str]
    ) -> Sentence:
        """Fill the slots of a split template with names, which become mentions, and words."""
        text = ""
        mentions = []
        for place, piece in enumerate(template):
            if place % 2 == 0:
                text += piece
            elif piece in entities:
                entity = entities[piece]
                text += self.articles.get(entity, "")
                mentions.append(Mention(len(text), len(text) + len(self.wiki.names[entity]), entity))
                text += self.wiki.names[entity]
            else:
                text += words[piece]
        return Sentence(capitalize_first(text, self.language), tuple(mentions))


@cache
def read_templates(language: str) -> dict[str, Any]:
    """Read the words and templates of a language."""
    content: dict[str, Any] = read_data_file("ease.sample", f"templates/{language}.yml")
    return content


def nouns(language: str) -> dict[str, str]:
    """Return the language's word for each kind of entity."""
    return {kind: forms["short"] for kind, forms in read_templates(language)["words"].items()}


def make_phrasebook(wiki: WikiNames) -> Phrasebook:
    """Combine a language's templates and names."""
    content = read_templates(wiki.language)
    articles = {
        Entity(kind, code): f"{article} "
        for kind, by_article in content.get("articles", {}).items()
        for article, codes in by_article.items()
        for code in codes.split()
    }
    templates = {
        frame: tuple(split_template(line) for line in lines.splitlines())
        for frame, lines in content["frames"].items()
    }
    return Phrasebook(
        wiki.language, wiki, content["words"], content["headings"], content["notes"], articles, templates
    )


def split_template(template: str) -> tuple[str, ...]:
    """Split into literal text (even positions) and slots (odd positions)."""
    return tuple(_SLOT.split(template))
