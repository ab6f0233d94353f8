"""Training texts besides the dumps: inferences and parallel sentences about facts that are not held out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ease.sample.articles import SHARED_FRAMES
from ease.sample.facts import Entity, Fact, World
from ease.sample.held_out import HeldOut, unmistakable
from ease.sample.options import SampleOptions
from ease.sample.phrases import Phrasebook, Statement, statement_of


@dataclass(frozen=True)
class Premise:
    """A premise's statement, and the statements of its hypotheses."""

    statement: Statement
    entailed: Statement
    """The same statement, for other words, or a part of it."""
    neutral: Statement
    """Another fact about the same entity, else any other fact."""
    contradicted: Statement
    """The same fact with a wrong value."""


def draw_training_facts(
    world: World, held_out: HeldOut, books: Mapping[str, Phrasebook], options: SampleOptions
) -> list[Fact]:
    """Draw facts that are not held out and whose names are unique in every language."""
    random = Random(f"training facts {options.seed}")
    usable, excluded = unmistakable(world, books), held_out.facts
    facts = [fact for fact in world.facts if fact not in excluded and {fact.subject, fact.object} <= usable]
    random.shuffle(facts)
    return facts


def draw_premises(world: World, facts: Sequence[Fact], options: SampleOptions) -> list[Premise]:
    """Draw premises with one fact or, where possible, two facts, each with its three hypotheses.

    Args:
        world: All facts, to recognise wrong ones.
        facts: Facts that may be stated.
        options: Maximum number of premises, and seed.
    """
    random = Random(f"inferences {options.seed}")
    deck = _Deck(world, facts, random)
    premises = [premise for fact in facts for premise in deck.premises(fact)]
    random.shuffle(premises)
    return premises[: options.nli_premises]


class _Deck:
    """Facts by entity, to draw premises and hypotheses from."""

    def __init__(self, world: World, facts: Sequence[Fact], random: Random) -> None:
        self._true = set(world.facts)
        self._random = random
        self._all = facts
        self._of: dict[Entity, list[Fact]] = defaultdict(list)
        for fact in facts:
            self._of[fact.subject].append(fact)
            self._of[fact.object].append(fact)
        self._kinds: dict[str, list[Entity]] = defaultdict(list)
        for entity in world.entities:
            if entity in self._of:
                self._kinds[entity.kind].append(entity)

    def premises(self, fact: Fact) -> Iterator[Premise]:
        """Yield a premise with only the fact, and one with a second fact if there is one."""
        partners = self._partners(fact)
        for statement, said in [
            (statement_of(fact), {fact}),
            *([self._random.choice(partners)] if partners else []),
        ]:
            wrong = self._wrong(fact)
            if wrong is not None:
                yield Premise(
                    statement,
                    statement_of(fact),
                    statement_of(self._another(fact, said)),
                    statement_of(wrong),
                )

    def _partners(self, fact: Fact) -> list[tuple[Statement, set[Fact]]]:
        """Return the statements that combine the fact with another one, each with both facts."""
        found = []
        if fact.relation in SHARED_FRAMES:
            for other in self._of[fact.object]:
                if other.relation == fact.relation and other.subject != fact.subject:
                    entities = (fact.subject, other.subject, fact.object)
                    found.append((Statement(SHARED_FRAMES[fact.relation], entities), {fact, other}))
        if fact.relation in ("pays", "speaks"):
            for other in self._of[fact.subject]:
                if {fact.relation, other.relation} == {"pays", "speaks"} and other.subject == fact.subject:
                    pays, speaks = (fact, other) if fact.relation == "pays" else (other, fact)
                    entities = (fact.subject, pays.object, speaks.object)
                    found.append((Statement("pays_speaks", entities), {fact, other}))
        return found

    def _wrong(self, fact: Fact) -> Fact | None:
        """Return the fact with a wrong value of the same kind, or None if all values are right."""
        values = self._kinds[fact.object.kind]
        for value in self._random.sample(values, len(values)):
            wrong = Fact(fact.relation, fact.subject, value)
            if wrong not in self._true:
                return wrong
        return None

    def _another(self, fact: Fact, said: Collection[Fact]) -> Fact:
        """Return another fact about the subject, else about the object, else any."""
        for facts in (self._of[fact.subject], self._of[fact.object], self._all):
            others = [other for other in facts if other not in said]
            if others:
                return self._random.choice(others)
        return fact


def word_inferences(
    premises: Sequence[Premise], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: int
) -> Iterator[tuple[str, str, str, str, int, int]]:
    """Word premises and hypotheses in each language; a hypothesis that repeats the premise uses another template.

    Yields:
        Language, label, premise, hypothesis, number of the premise, number of the pair (numbers are equal in all
        languages).
    """
    for language in languages:
        random, book = Random(f"inferences {seed} {language}"), books[language]
        for prompt, premise in enumerate(premises, start=1):
            choices = len(book.templates[premise.statement.frame])
            template = random.randrange(choices)
            said = book.say(premise.statement, template).text
            # Use another template in case the hypothesis has the premise's frame.
            other = template + random.randrange(1, choices)
            hypotheses = {
                "entailment": book.say(premise.entailed, other).text,
                "neutral": book.say(premise.neutral, random.randrange(1_000_000)).text,
                "contradiction": book.say(premise.contradicted, random.randrange(1_000_000)).text,
            }
            for place, (label, hypothesis) in enumerate(hypotheses.items(), start=1):
                yield language, label, said, hypothesis, prompt, 3 * (prompt - 1) + place
