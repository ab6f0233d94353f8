"""Facts that no wiki tells, and the test sentences about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import NamedTuple

from ease.errors import EaseError
from ease.wikimedia.sample.facts import Entity, Fact, World
from ease.wikimedia.sample.options import SampleOptions
from ease.wikimedia.sample.phrases import Phrasebook, Statement

MOST_PER_OBJECT: dict[str, int] = {"pays": 3, "speaks": 4}
"""Kept-out facts that may share a currency or a language, so that widespread ones do not make up the test."""


class ParallelSentence(NamedTuple):
    """A kept-out fact worded in one language."""

    fact_id: str
    language: str
    text: str


class GradedPair(NamedTuple):
    """Two English sentences about kept-out facts.

    `score` is 5 for the same facts in other words, 4 where one sentence tells one fact more, 3 for two facts about the
    same territory, 2 for one fact about two territories, 1 for the same relation between other entities, 0 for
    nothing in common.
    """

    sentence1: str
    sentence2: str
    score: float


@dataclass(frozen=True)
class HeldOut:
    """The kept-out facts: those of the parallel sentences and those of the graded pairs."""

    parallel: tuple[Fact, ...]
    graded: tuple[tuple[Fact, Fact], ...]
    """For each territory what people pay with and a language that they speak."""

    @property
    def facts(self) -> frozenset[Fact]:
        """All of them, which the articles must not tell."""
        return frozenset(self.parallel).union(*self.graded) if self.graded else frozenset(self.parallel)


def draw_held_out(world: World, books: Mapping[str, Phrasebook], options: SampleOptions) -> HeldOut:
    """Draw the facts to keep out among those that can be told in every language.

    Raises:
        EaseError: If the world is too small for them.
    """
    random = Random(f"held out {options.seed}")
    usable = _unmistakable(world, books)
    facts = [f for f in world.facts if f.relation in MOST_PER_OBJECT and {f.subject, f.object} <= usable]
    random.shuffle(facts)
    graded = _draw_graded(facts, options.graded_territories)
    parallel = _draw_parallel(
        [f for f in facts if not any(f in pair for pair in graded)], options.parallel_facts
    )
    if len(parallel) < options.parallel_facts or len(graded) < options.graded_territories:
        raise EaseError(
            f"A sample of {options.territories} territories has {len(parallel)} of parallel_facts="
            f"{options.parallel_facts} facts and {len(graded)} of graded_territories={options.graded_territories} "
            "territories to keep out: raise `territories` or lower the other two."
        )
    return HeldOut(tuple(sorted(parallel)), tuple(sorted(graded)))


def _unmistakable(world: World, books: Mapping[str, Phrasebook]) -> set[Entity]:
    """Entities named in every language, nowhere the same as another of their kind."""
    usable = set(world.entities)
    for book in books.values():
        names = book.wiki.names
        count = Counter((entity.kind, name.casefold()) for entity, name in names.items())
        usable &= {entity for entity, name in names.items() if count[entity.kind, name.casefold()] == 1}
    return usable


def _draw_graded(facts: Sequence[Fact], territories: int) -> list[tuple[Fact, Fact]]:
    paid: dict[Entity, Fact] = {}
    spoken: dict[Entity, Fact] = {}
    for fact in facts:
        (paid if fact.relation == "pays" else spoken).setdefault(fact.subject, fact)
    both = [(paid[territory], spoken[territory]) for territory in paid if territory in spoken]
    return both[:territories]


def _draw_parallel(facts: Sequence[Fact], wanted: int) -> list[Fact]:
    """Take facts in their order: one of a relation for a territory, and few with the same currency or language."""
    taken: list[Fact] = []
    subjects: set[tuple[str, Entity]] = set()
    objects: Counter[Entity] = Counter()
    for fact in facts:
        subject = (fact.relation, fact.subject)
        if len(taken) < wanted and subject not in subjects:
            if objects[fact.object] < MOST_PER_OBJECT[fact.relation]:
                taken.append(fact)
                subjects.add(subject)
                objects[fact.object] += 1
    return taken


def word_parallel(
    held_out: HeldOut, books: Mapping[str, Phrasebook], languages: Sequence[str], seed: int
) -> list[ParallelSentence]:
    """Word each kept-out fact in each language, with a template drawn for each."""
    rows = []
    for language in languages:
        random = Random(f"parallel {seed} {language}")
        for fact in held_out.parallel:
            statement = Statement(fact.relation, (fact.subject, fact.object))
            sentence = books[language].say(statement, random.randrange(1_000_000))
            rows.append(ParallelSentence(fact.key, language, sentence.text))
    return rows


def word_graded(held_out: HeldOut, english: Phrasebook, pairs: int, seed: int) -> list[GradedPair]:
    """Word English pairs, as many of each score.

    Raises:
        EaseError: If the kept-out facts do not give so many different pairs.
    """
    random = Random(f"graded {seed}")
    rows: dict[frozenset[str], GradedPair] = {}
    for number in range(pairs):
        score = number % 6
        for _ in range(1000):
            drawn = _draw_pair(held_out.graded, score, random)
            first, second = (english.say(statement, random.randrange(1_000_000)).text for statement in drawn)
            if first != second and frozenset((first, second)) not in rows:
                rows[frozenset((first, second))] = GradedPair(first, second, float(score))
                break
        else:
            raise EaseError(
                f"The facts of {len(held_out.graded)} territories do not give {pairs} graded pairs: lower "
                "`graded_pairs` or raise `graded_territories`."
            )
    return list(rows.values())


def _draw_pair(
    graded: Sequence[tuple[Fact, Fact]], score: int, random: Random
) -> tuple[Statement, Statement]:
    """Draw two statements that are as alike as a score says."""
    (pays, speaks), (_, other_speaks) = random.sample(graded, 2)
    fact = random.choice((pays, speaks))
    match score:
        case 5:
            return _tell(fact), _tell(fact)
        case 4:
            return Statement("pays_speaks", (pays.subject, pays.object, speaks.object)), _tell(fact)
        case 3:
            return _tell(pays), _tell(speaks)
        case 2 | 1:
            return _draw_two_facts(graded, score == 2, random)
        case _:
            return _tell(pays), _tell(other_speaks)


def _draw_two_facts(
    graded: Sequence[tuple[Fact, Fact]], same_object: bool, random: Random
) -> tuple[Statement, Statement]:
    """Draw the same relation of two territories, to the same object or to different ones."""
    couples = [
        (fact, other)
        for pair, other_pair in combinations(graded, 2)
        for fact, other in zip(pair, other_pair, strict=True)
        if (fact.object == other.object) is same_object
    ]
    fact, other = random.choice(couples)
    return _tell(fact), _tell(other)


def _tell(fact: Fact) -> Statement:
    return Statement(fact.relation, (fact.subject, fact.object))
