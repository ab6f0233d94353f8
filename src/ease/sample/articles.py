"""Plan the sentences of each article, without markup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from ease.sample.facts import Entity, Fact, World
from ease.sample.phrases import Phrasebook, Sentence, Statement, statement_of

OWN_PAGE_SHARE = 0.4
"""Share of the sentences on the page of an entity that they mention."""

_LEADS = {"territory": "located", "region": "part"}
SHARED_FRAMES = {"pays": "same_currency", "speaks": "same_language", "located": "same_region"}
"""Frames that state a relation for two territories at once."""


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
        """Index the facts that are not held out and whose entities have a name in the language."""
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
        partner = random.choice(partners)
        pays, speaks = (fact, partner) if fact.relation == "pays" else (partner, fact)
        return Statement("pays_speaks", (fact.subject, pays.object, speaks.object))

    def _shared(self, entity: Entity, relation: str, random: Random) -> Statement:
        fact = random.choice(self._facts[entity][relation])
        partners = [
            other
            for other in self._facts[fact.object][relation]
            if other.object == fact.object and other.subject != fact.subject
        ]
        if not partners:
            return statement_of(fact)
        return Statement(
            SHARED_FRAMES[relation], (fact.subject, random.choice(partners).subject, fact.object)
        )


def plan_articles(
    world: World, held_out: Collection[Fact], book: Phrasebook, sentences: int, seed: int
) -> list[ArticlePlan]:
    """Plan one article per entity, so that all entities are mentioned about equally often.

    Args:
        sentences: Number of all sentences; each article has at least one.
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
            _place(statement, sentence, plans, entities, random)
        left -= len(entities[:left])
    return list(plans.values())


def _place(
    statement: Statement,
    sentence: Sentence,
    plans: Mapping[Entity, ArticlePlan],
    entities: Sequence[Entity],
    random: Random,
) -> None:
    """Add a sentence to the page of one of its entities, or to another page's comparisons."""
    if random.random() < OWN_PAGE_SHARE:
        plans[random.choice(statement.entities)].facts.append(sentence)
        return
    host = random.choice(entities)
    section = plans[host].facts if host in statement.entities else plans[host].comparison
    section.append(sentence)
