"""Plan the sentences of each article, without markup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random

from ease.sample.facts import Entity, Fact, World
from ease.sample.phrases import SHARED_FRAMES, Phrasebook, Sentence, Statement, statement_of, statement_of_two

OWN_PAGE_SHARE = 0.4
"""Share of the sentences on the page of an entity that they mention."""

_LEADS = {"territory": "located", "region": "part"}


@dataclass
class ArticlePlan:
    """Sentences of one article: the first one, those about its subject, and those about other entities."""

    entity: Entity
    lead: Sentence
    facts: list[Sentence] = field(default_factory=list)
    comparison: list[Sentence] = field(default_factory=list)


def facts_to_state(world: World, held_out: Collection[Fact], book: Phrasebook) -> dict[Entity, list[Fact]]:
    """Return the facts about each entity that are not held out and have names in the language."""
    names = book.wiki.names
    facts: dict[Entity, list[Fact]] = {entity: [] for entity in names}
    for fact in world.facts:
        if fact not in held_out and fact.subject in names and fact.object in names:
            facts[fact.subject].append(fact)
            facts[fact.object].append(fact)
    return facts


class StatementDeck:
    """Draws statements about an entity, evenly over the frames."""

    def __init__(self, world: World, held_out: Collection[Fact], book: Phrasebook) -> None:
        self._members: dict[str, list[Entity]] = defaultdict(list)
        for entity in world.entities:
            if entity in book.wiki.names:
                self._members[entity.kind].append(entity)
        self._facts: dict[Entity, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
        for entity, facts in facts_to_state(world, held_out, book).items():
            for fact in facts:
                self._facts[entity][fact.relation].append(fact)

    def lead(self, entity: Entity, random: Random) -> Statement:
        """Draw an article's first statement: the location of a place, or the kind of the subject."""
        relation = _LEADS.get(entity.kind)
        facts = [fact for fact in self._facts[entity].get(relation or "", ()) if fact.subject == entity]
        if relation is None or not facts:
            return Statement("define", (entity,))
        return statement_of(random.choice(facts))

    def draw(self, entity: Entity, random: Random) -> Statement:
        """Draw a statement that mentions the entity: first its frame, then the other entities."""
        by_relation = self._facts[entity]
        ways = ["define", "several", *by_relation]
        ways += [SHARED_FRAMES[relation] for relation in by_relation if relation in SHARED_FRAMES]
        if "pays" in by_relation or "speaks" in by_relation:
            ways.append("pays_speaks")
        way = random.choice(ways)
        if way == "several":
            return self._several(entity, random)
        if way in by_relation:
            return statement_of(random.choice(by_relation[way]))
        if way == "pays_speaks":
            return self._pays_and_speaks(entity, random)
        relations = [relation for relation, shared in SHARED_FRAMES.items() if shared == way]
        return self._shared(entity, relations[0], random) if relations else Statement("define", (entity,))

    def _several(self, entity: Entity, random: Random) -> Statement:
        others = [other for other in random.sample(self._members[entity.kind], 3) if other != entity][:2]
        if len(others) < 2:
            return Statement("define", (entity,))
        return Statement("several", tuple(random.sample([entity, *others], 3)))

    def _pays_and_speaks(self, entity: Entity, random: Random) -> Statement:
        relations = [relation for relation in ("pays", "speaks") if relation in self._facts[entity]]
        fact = random.choice(self._facts[entity][random.choice(relations)])
        other = "speaks" if fact.relation == "pays" else "pays"
        partners = self._facts[fact.subject].get(other)
        if not partners:
            return statement_of(fact)
        return statement_of_two(fact, random.choice(partners))

    def _shared(self, entity: Entity, relation: str, random: Random) -> Statement:
        fact = random.choice(self._facts[entity][relation])
        partners = [
            other
            for other in self._facts[fact.object][relation]
            if other.object == fact.object and other.subject != fact.subject
        ]
        return statement_of_two(fact, random.choice(partners)) if partners else statement_of(fact)


def plan_articles(
    world: World, held_out: Collection[Fact], book: Phrasebook, sentences: int, seed: int
) -> list[ArticlePlan]:
    """Plan one article per entity, so that all entities are mentioned about equally often.

    `sentences` is the number in all articles; each has at least one.
    """
    random = Random(f"articles {seed} {book.language}")
    deck = StatementDeck(world, held_out, book)
    plans = {
        entity: ArticlePlan(entity, book.say(deck.lead(entity, random), template=0))
        for entity in world.entities
        if entity in book.wiki.names
    }
    entities = list(plans)
    left = max(0, sentences - len(plans))
    while left:
        random.shuffle(entities)
        for entity in entities[:left]:
            statement = deck.draw(entity, random)
            sentence = book.say(statement, random.randrange(1_000_000))
            host = random.choice(statement.entities if random.random() < OWN_PAGE_SHARE else entities)
            page = plans[host]
            (page.facts if host in statement.entities else page.comparison).append(sentence)
        left -= len(entities[:left])
    return list(plans.values())
