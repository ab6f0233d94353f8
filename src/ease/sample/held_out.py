"""Facts that are held out of the wikis, and the test sentences about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import NamedTuple

from ease.errors import EaseError
from ease.sample.facts import Entity, Fact, World
from ease.sample.options import SampleOptions
from ease.sample.phrases import Phrasebook, Statement, statement_of, statement_of_two

MOST_SHARED: dict[str, int] = {"pays": 3, "speaks": 6}
"""Maximum held-out facts with the same currency or language, so that widespread ones do not dominate the test."""
MOST_PER_TERRITORY: dict[str, int] = {"pays": 1, "speaks": 2}
"""Maximum held-out facts of one territory by relation."""
MOST_PAID = 0.4
"""Maximum share of parallel facts about currencies, since territories have fewer currencies than languages."""

SCORES = range(6)
"""Scores of graded pairs; see `GradedPair`."""


class ParallelSentence(NamedTuple):
    """A fact worded in one language."""

    fact_id: str
    language: str
    text: str


class GradedPair(NamedTuple):
    """Two English sentences about held-out facts, and their similarity.

    The score is 5 for the same facts in other words, 4 if one sentence states an additional fact, 3 for two facts about
    the same territory, 2 for the same currency or language of two territories, 1 for the same relation between
    different entities, 0 for nothing in common.
    """

    sentence1: str
    sentence2: str
    score: float


Couple = tuple[Fact, Fact]
"""A currency and a language of a territory; or facts of one relation about two territories."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out facts, of the parallel sentences and of the graded pairs."""

    parallel: tuple[Fact, ...]
    graded: tuple[Couple, ...]
    """A currency and a language of each territory."""

    @property
    def facts(self) -> frozenset[Fact]:
        """All held-out facts, which articles must not state."""
        return frozenset(self.parallel).union(*self.graded)


def draw_held_out(world: World, books: Mapping[str, Phrasebook], options: SampleOptions) -> HeldOut:
    """Draw the held-out facts among those that can be stated in every language.

    Raises:
        EaseError: The world has too few facts.
    """
    random = Random(f"held out {options.seed}")
    usable = unmistakable(world, books)
    facts = [f for f in world.facts if f.relation in MOST_SHARED and {f.subject, f.object} <= usable]
    random.shuffle(facts)
    graded = _draw_graded(facts, options.graded_territories)
    parallel = _draw_parallel(
        [f for f in facts if not any(f in pair for pair in graded)], options.parallel_facts
    )
    if len(parallel) < options.parallel_facts or len(graded) < options.graded_territories:
        raise EaseError(
            f"A sample of {options.territories} territories has {len(parallel)} of parallel_facts="
            f"{options.parallel_facts} facts and {len(graded)} of graded_territories="
            f"{options.graded_territories} territories to hold out: raise `territories` or lower the others."
        )
    return HeldOut(tuple(sorted(parallel)), tuple(sorted(graded)))


def unmistakable(world: World, books: Mapping[str, Phrasebook]) -> set[Entity]:
    """Return the entities whose name is unique within their kind in every language."""
    usable = set(world.entities)
    for book in books.values():
        names = book.wiki.names
        count = Counter((entity.kind, name.casefold()) for entity, name in names.items())
        usable &= {entity for entity, name in names.items() if count[entity.kind, name.casefold()] == 1}
    return usable


def _draw_graded(facts: Sequence[Fact], territories: int) -> list[Couple]:
    """Choose a currency and a language of each of some territories, preferably shared by several territories."""
    uses = Counter(fact.object for fact in facts)
    paid: dict[Entity, Fact] = {}
    spoken: dict[Entity, Fact] = {}
    for fact in sorted(facts, key=lambda fact: -min(uses[fact.object], 3)):
        (paid if fact.relation == "pays" else spoken).setdefault(fact.subject, fact)
    both = [territory for territory in dict.fromkeys(fact.subject for fact in facts) if territory in paid]
    return [(paid[one], spoken[one]) for one in both if one in spoken][:territories]


def _draw_parallel(facts: Sequence[Fact], wanted: int) -> list[Fact]:
    """Choose facts in order, but few of the same territory, currency or language."""
    taken: list[Fact] = []
    counts: Counter[tuple[str, Entity] | str] = Counter()
    for fact in facts:
        subject, object_ = (fact.relation, fact.subject), (fact.relation, fact.object)
        if (
            len(taken) < wanted
            and counts[subject] < MOST_PER_TERRITORY[fact.relation]
            and counts[object_] < MOST_SHARED[fact.relation]
            and not (fact.relation == "pays" and counts["pays"] >= MOST_PAID * wanted)
        ):
            taken.append(fact)
            counts.update((subject, object_, fact.relation))
    return taken


def word_facts(
    facts: Sequence[Fact], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: str
) -> Iterator[ParallelSentence]:
    """Word each fact in each language with a random template."""
    for language in languages:
        random = Random(f"{seed} {language}")
        for fact in facts:
            sentence = books[language].say(statement_of(fact), random.randrange(1_000_000))
            yield ParallelSentence(fact.key, language, sentence.text)


def word_graded(held_out: HeldOut, english: Phrasebook, pairs: int, seed: int) -> list[GradedPair]:
    """Word English pairs, equally many of each score.

    Raises:
        EaseError: The held-out facts yield fewer distinct pairs.
    """
    rows = _word_pairs(held_out.graded, english, pairs, Random(f"graded {seed}"), SCORES)
    if len(rows) < pairs:
        raise EaseError(
            f"The facts of {len(held_out.graded)} territories yield only {len(rows)} of {pairs} graded pairs: lower "
            "`graded_pairs` or raise `graded_territories`."
        )
    return rows


def word_graded_dev(held_out: HeldOut, english: Phrasebook, pairs: int, seed: int) -> list[GradedPair]:
    """Word English pairs about the facts of the parallel sentences, disjoint from the facts of `word_graded`.

    A small sample yields fewer than `pairs` pairs, possibly none.
    """
    graded = sorted(_draw_graded(held_out.parallel, len(held_out.parallel)))
    if len(graded) < 2:
        return []
    needed = {1: _couples(graded, same_object=False), 2: _couples(graded, same_object=True)}
    scores = [score for score in SCORES if needed.get(score, True)]
    return _word_pairs(graded, english, pairs, Random(f"graded development {seed}"), scores)


def _word_pairs(
    graded: Sequence[Couple], english: Phrasebook, pairs: int, random: Random, scores: Sequence[int]
) -> list[GradedPair]:
    """Word distinct pairs, equally many of each score, as far as the facts suffice."""
    rows: dict[frozenset[str], GradedPair] = {}
    for number in range(pairs):
        score = scores[number % len(scores)]
        for _ in range(1000):
            drawn = _draw_pair(graded, score, random)
            first, second = (english.say(statement, random.randrange(1_000_000)).text for statement in drawn)
            if first != second and frozenset((first, second)) not in rows:
                rows[frozenset((first, second))] = GradedPair(first, second, float(score))
                break
        else:
            break
    return list(rows.values())


def _draw_pair(graded: Sequence[Couple], score: int, random: Random) -> tuple[Statement, Statement]:
    """Draw two statements of the similarity that a score means."""
    (pays, speaks), (_, other_speaks) = random.sample(graded, 2)
    fact = random.choice((pays, speaks))
    match score:
        case 5:
            return statement_of(fact), statement_of(fact)
        case 4:
            return statement_of_two(pays, speaks), statement_of(fact)
        case 3:
            return statement_of(pays), statement_of(speaks)
        case 0:
            return statement_of(pays), statement_of(other_speaks)
    couples = _couples(graded, same_object=score == 2)
    if not couples:
        raise EaseError(
            f"None of the {len(graded)} territories of the graded pairs shares its currency or language with "
            "another: raise `graded_territories`."
        )
    fact, other = random.choice(couples)
    return statement_of(fact), statement_of(other)


def _couples(graded: Sequence[Couple], same_object: bool) -> list[Couple]:
    """List the pairs of facts of one relation about two territories, with the same object or with different ones."""
    return [
        (fact, other)
        for pair, other_pair in combinations(graded, 2)
        for fact, other in zip(pair, other_pair, strict=True)
        if (fact.object == other.object) is same_object
    ]
