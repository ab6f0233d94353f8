"""Training texts beside the dumps: inferences, and sentences in all languages, about facts that the wikis tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ease.sample.facts import Entity, Fact, World
from ease.sample.held_out import HeldOut, ParallelSentence, unmistakable
from ease.sample.options import SampleOptions
from ease.sample.phrases import Phrasebook, Statement, tell

_SHARED = {"pays": "same_currency", "speaks": "same_language", "located": "same_region"}
"""Frames that say of two territories what the relation says of one."""


@dataclass(frozen=True)
class Premise:
    """What a premise says, and the statements that are compared with it."""

    statement: Statement
    entailed: Statement
    """The same, to be said in other words, or a part of it"""
    neutral: Statement
    """Another fact about the same entity, or else about anything"""
    contradicted: Statement
    """The same fact with a value that it does not have"""


def draw_training_facts(
    world: World, held_out: HeldOut, books: Mapping[str, Phrasebook], options: SampleOptions
) -> list[Fact]:
    """Draw facts to state in all languages: none that is kept out, and all named unmistakably in every language."""
    random = Random(f"training facts {options.seed}")
    usable, kept_out = unmistakable(world, books), held_out.facts
    facts = [fact for fact in world.facts if fact not in kept_out and {fact.subject, fact.object} <= usable]
    random.shuffle(facts)
    return facts


def word_training_facts(
    facts: Sequence[Fact], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: int
) -> Iterator[ParallelSentence]:
    """Word each fact in each language, with a template drawn for each."""
    for language in languages:
        random = Random(f"parallel training {seed} {language}")
        for fact in facts:
            sentence = books[language].say(tell(fact), random.randrange(1_000_000))
            yield ParallelSentence(fact.key, language, sentence.text)


def draw_premises(world: World, facts: Sequence[Fact], options: SampleOptions) -> list[Premise]:
    """Draw premises, half of them of one fact and half of two where there are such, each with its three hypotheses.

    Args:
        world: All facts, so that a wrong one can be told.
        facts: Those that may be stated.
        options: How many premises at most, and the seed.
    """
    random = Random(f"inferences {options.seed}")
    deck = _Deck(world, facts, random)
    premises = [premise for fact in facts for premise in deck.premises(fact)]
    random.shuffle(premises)
    return premises[: options.nli_premises]


class _Deck:
    """Facts by their entities, to draw the statements of a premise from."""

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
        """A premise that says the fact alone, and one that says another one as well."""
        partners = self._partners(fact)
        for statement, said in [(tell(fact), {fact}), *([self._random.choice(partners)] if partners else [])]:
            wrong = self._wrong(fact)
            if wrong is not None:
                yield Premise(statement, tell(fact), tell(self._another(fact, said)), tell(wrong))

    def _partners(self, fact: Fact) -> list[tuple[Statement, set[Fact]]]:
        """What can be said of the fact together with another, and both facts."""
        found = []
        if fact.relation in _SHARED:
            for other in self._of[fact.object]:
                if other.relation == fact.relation and other.subject != fact.subject:
                    entities = (fact.subject, other.subject, fact.object)
                    found.append((Statement(_SHARED[fact.relation], entities), {fact, other}))
        if fact.relation in ("pays", "speaks"):
            for other in self._of[fact.subject]:
                if {fact.relation, other.relation} == {"pays", "speaks"} and other.subject == fact.subject:
                    pays, speaks = (fact, other) if fact.relation == "pays" else (other, fact)
                    entities = (fact.subject, pays.object, speaks.object)
                    found.append((Statement("pays_speaks", entities), {fact, other}))
        return found

    def _wrong(self, fact: Fact) -> Fact | None:
        """The fact with another value of the same kind, or None where all values are right."""
        values = self._kinds[fact.object.kind]
        for value in self._random.sample(values, len(values)):
            wrong = Fact(fact.relation, fact.subject, value)
            if wrong not in self._true:
                return wrong
        return None

    def _another(self, fact: Fact, said: Collection[Fact]) -> Fact:
        """Another fact about the subject, else about the object, else any."""
        for facts in (self._of[fact.subject], self._of[fact.object], self._all):
            others = [other for other in facts if other not in said]
            if others:
                return self._random.choice(others)
        return fact


def word_inferences(
    premises: Sequence[Premise], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: int
) -> Iterator[tuple[str, str, str, str, int, int]]:
    """Word premises and hypotheses in each language; a hypothesis that repeats the premise has another template.

    Yields:
        Language, label, premise, hypothesis, and the numbers of the premise and of the pair, the same in all languages.
    """
    for language in languages:
        random, book = Random(f"inferences {seed} {language}"), books[language]
        for prompt, premise in enumerate(premises, start=1):
            choices = len(book.templates[premise.statement.frame])
            template = random.randrange(choices)
            said = book.say(premise.statement, template).text
            # Any other template, should the hypothesis have the premise's frame.
            other = template + random.randrange(1, choices)
            hypotheses = {
                "entailment": book.say(premise.entailed, other).text,
                "neutral": book.say(premise.neutral, random.randrange(1_000_000)).text,
                "contradiction": book.say(premise.contradicted, random.randrange(1_000_000)).text,
            }
            for place, (label, hypothesis) in enumerate(hypotheses.items(), start=1):
                yield language, label, said, hypothesis, prompt, 3 * (prompt - 1) + place
