"""Draw the stories of a sample Wikinews, without markup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Literal

from babel.dates import format_date

from ease.sample.facts import Entity, World
from ease.sample.names import clean_name
from ease.sample.news.words import Topic
from ease.sample.phrases import Phrasebook, Sentence
from ease.wikimedia.wikitext.titles import capitalize_first

_FIRST_DAY, _DAYS = date(2005, 1, 1), 6900
_NUMBERS = tuple(str(tens + ones) for tens in (10, 20, 30, 40) for ones in range(5 if tens > 10 else 1, 10))
"""11 to 19, 25 to 29 and so on: Slavic languages and Arabic use one form of the noun after these numbers."""
_SHORTEST, _LONGEST = 2, 4


def write_day(day: date, style: Literal["full", "long"], language: str) -> str:
    """Write a date as CLDR does, with plain spaces as in titles."""
    return clean_name(format_date(day, style, locale=language))


@dataclass(frozen=True)
class Story:
    """News from a territory: two to four sentences about one topic."""

    topic: Topic
    territory: Entity
    day: date
    title: str
    sentences: tuple[Sentence, ...]


class Reporter:
    """Draws stories with distinct titles and distinct first sentences."""

    def __init__(self, book: Phrasebook, world: World, random: Random) -> None:
        self._book, self._random = book, random
        names = book.wiki.names
        self._territories = [e for e in world.entities if e.kind == "territory" and e in names]
        self._others: dict[tuple[str, Entity], list[Entity]] = defaultdict(list)
        for fact in world.facts:
            slot = {"pays": "C", "speaks": "L"}.get(fact.relation)
            if slot and fact.object in names:
                self._others[slot, fact.subject].append(fact.object)
        self._used: set[str] = set()

    def report(self, topic: Topic) -> Story:
        """Draw a story about a topic."""
        while True:
            story = self._draw(topic)
            keys = {story.title, story.sentences[0].text}
            if not keys & self._used:
                self._used |= keys
                return story

    def _draw(self, topic: Topic) -> Story:
        random = self._random
        territory = random.choice(self._territories)
        facts = {slot for slot, subject in self._others if subject == territory}
        fitting = [
            template for template in topic.templates if facts.issuperset({"C", "L"} & {*template[1::2]})
        ]
        count = random.randint(_SHORTEST, min(_LONGEST, len(fitting)))
        sentences = tuple(self._fill(template, territory) for template in random.sample(fitting, count))
        day = _FIRST_DAY + timedelta(days=random.randrange(_DAYS))
        language = self._book.language
        name = capitalize_first(self._book.wiki.names[territory], language)
        title = f"{name} – {write_day(day, 'long', language)}"
        return Story(topic, territory, day, title, sentences)

    def _fill(self, template: Sequence[str], territory: Entity) -> Sentence:
        entities = {"T": territory}
        for slot in template[1::2]:
            if slot == "T2":
                entities[slot] = self._random.choice([e for e in self._territories if e != territory])
            elif slot in ("C", "L"):
                entities[slot] = self._random.choice(self._others[slot, territory])
        return self._book.fill(template, entities, {"N": self._random.choice(_NUMBERS)})
