"""Training texts besides the dumps: inferences and parallel sentences about facts that are not held out.

Their files have the formats of published sets.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random

from ease.sample.facts import Entity, Fact, World
from ease.sample.held_out import HeldOut, unmistakable, word_facts
from ease.sample.options import SampleOptions
from ease.sample.phrases import SHARED_FRAMES, Phrasebook, Statement, statement_of, statement_of_two
from ease.sample.wiki import Sample

XNLI_COLUMNS = tuple(
    "language gold_label sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1 "
    "sentence2 promptID pairID genre label1 label2 label3 label4 label5 sentence1_tokenized sentence2_tokenized "
    "match".split()
)
FACT_COLUMNS = ("fact_id", "language", "text")


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
    """Draw premises with one fact or, where possible, two of `facts`, each with its three hypotheses."""
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
        partners: list[Fact] = []
        if fact.relation in SHARED_FRAMES:
            others = (other for other in self._of[fact.object] if other.relation == fact.relation)
            partners += (other for other in others if other.subject != fact.subject)
        if fact.relation in ("pays", "speaks"):
            others = (other for other in self._of[fact.subject] if other.subject == fact.subject)
            partners += (o for o in others if {fact.relation, o.relation} == {"pays", "speaks"})
        return [(statement_of_two(fact, partner), {fact, partner}) for partner in partners]

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


def write_training_texts(nli: Path, parallel: Path, sample: Sample, languages: Sequence[str]) -> None:
    """Write inferences with XNLI's columns, and facts in every language, as gzipped tab-separated tables."""
    options = sample.options
    facts = draw_training_facts(sample.world, sample.held_out, sample.books, options)
    stated = facts[: options.parallel_train_facts]
    sentences = word_facts(stated, sample.books, languages, f"parallel training {options.seed}")
    _write(parallel, FACT_COLUMNS, sentences)
    premises = draw_premises(sample.world, facts, options)
    # Without parses and tokens, and with a single annotator.
    rows = (
        (
            language,
            label,
            *[""] * 4,
            said,
            hypothesis,
            str(prompt),
            str(pair),
            "sample",
            label,
            *"----",
            *[""] * 3,
        )
        for language, label, said, hypothesis, prompt, pair in word_inferences(
            premises, sample.books, languages, options.seed
        )
    )
    _write(nli, XNLI_COLUMNS, rows)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    # Without a name and a time in the gzip header, the same rows give the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for row in chain([header], rows):
            packed.write(("\t".join(row) + "\n").encode())
