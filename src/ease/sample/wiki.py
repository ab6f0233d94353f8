"""The sample wiki: its pages, held-out sentences and texts for other methods, and its files."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ease.errors import EaseError
from ease.io.result_versions import SAMPLE_WIKI
from ease.sample.dump_files import (
    TRUTHY_NAME,
    WIKIDATA_NAME,
    dump_name,
    page_props_name,
    wikidata_entities,
    write_checksums,
    write_content_export,
    write_dump,
    write_page_props,
    write_truthy,
    write_wikidata,
)
from ease.sample.options import SampleOptions, generate_folder
from ease.sample.pages import (
    ArticleWriter,
    WikiPage,
    facts_to_state,
    name_aliases,
    plan_articles,
    write_disambiguations,
    write_other_pages,
    write_redirects,
)
from ease.sample.world import (
    SAMPLE_LANGUAGES,
    SHARED_FRAMES,
    Entity,
    Fact,
    Phrasebook,
    Statement,
    World,
    make_phrasebook,
    nouns,
    read_names,
    read_site,
    read_world,
    statement_of,
    statement_of_two,
)

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


@dataclass(frozen=True)
class Sample:
    """The sample's content; independent of the languages that are written."""

    options: SampleOptions
    world: World
    books: Mapping[str, Phrasebook]
    """Phrasebooks of all languages of the sample."""
    held_out: HeldOut


def prepare_sample(options: SampleOptions) -> Sample:
    """Read the facts and names, and draw the held-out facts.

    Raises:
        EaseError: The world has too few facts.
    """
    world = read_world(options.territories)
    books = {
        language: make_phrasebook(read_names(language, world.entities, nouns(language)))
        for language in SAMPLE_LANGUAGES
    }
    return Sample(options, world, books, draw_held_out(world, books, options))


def write_pages(sample: Sample, language: str) -> list[WikiPage]:
    """Return all pages of one wiki in the order of its dump."""
    options, book, site = sample.options, sample.books[language], read_site(language)
    random = Random(f"pages {options.seed} {language}")
    aliases = name_aliases(sample.world.entities)
    titles_elsewhere = {code: other.wiki.titles for code, other in sample.books.items()}
    held_out = sample.held_out.facts
    writer = ArticleWriter(
        book, site, aliases, facts_to_state(sample.world, held_out, book), titles_elsewhere, random
    )
    plans = plan_articles(sample.world, held_out, book, options.sentences_per_language, options.seed)
    pages = [writer.write(plan, number) for number, plan in enumerate(plans)]
    pages += write_redirects(book, site, aliases)
    pages += write_disambiguations(book)
    pages += write_other_pages(book, site)
    random.shuffle(pages)
    return pages


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
    _write_tsv(parallel, FACT_COLUMNS, sentences)
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
            "",
            "",
            "",
        )
        for language, label, said, hypothesis, prompt, pair in word_inferences(
            premises, sample.books, languages, options.seed
        )
    )
    _write_tsv(nli, XNLI_COLUMNS, rows)


def _write_tsv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    # Without a name and a time in the gzip header, the same rows give the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for row in chain([header], rows):
            packed.write(("\t".join(row) + "\n").encode())


_PARALLEL = pa.schema([(name, pa.string()) for name in FACT_COLUMNS])
_GRADED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])


class SampleFiles:
    """Paths of a sample's files in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wikipedia = folder / "wikipedia"
        """Folder of the Wikipedia dumps: pages, and the table page_props."""
        self.wikidata = folder / WIKIDATA_NAME
        """Wikidata dump in JSON."""
        self.truthy = folder / TRUTHY_NAME
        """Dump of Wikidata's truthy statements."""
        self.parallel = folder / "parallel.parquet"
        """Held-out facts in every language: fact_id, language, text."""
        self.graded = folder / "graded.parquet"
        """Held-out English pairs: sentence1, sentence2, score (0 to 5)."""
        self.graded_dev = folder / "graded_dev.parquet"
        """English pairs about the facts of the parallel sentences, with the same columns."""
        self.nli = folder / "nli.tsv.gz"
        """Training inferences, with XNLI's columns."""
        self.parallel_train = folder / "parallel_train.tsv.gz"
        """Training facts in every language: fact_id, language, text."""


def write_sample(
    folder: Path, languages: Sequence[str] = SAMPLE_LANGUAGES, options: SampleOptions | None = None
) -> SampleFiles:
    """Write the sample wiki into a subfolder named by a hash of its parameters.

    Args:
        folder: Parent folder of samples; created if missing.
        languages: Wikis to write, out of the 18.
        options: Size and seed.

    Raises:
        EaseError: A language has no templates, the options contradict each other, or the folder is not writable.
    """
    options = options or SampleOptions()
    write = partial(_write_files, languages=sorted(languages), options=options)
    return SampleFiles(
        generate_folder(folder, "sample", languages, SAMPLE_LANGUAGES, options, SAMPLE_WIKI, write)
    )


def _write_files(folder: Path, languages: Sequence[str], options: SampleOptions) -> None:
    files, sample = SampleFiles(folder), prepare_sample(options)
    files.wikipedia.mkdir()
    exports: list[Path] = []
    for language in languages:
        pages, site = write_pages(sample, language), read_site(language)
        if options.layout == "content":
            exports += write_content_export(files.wikipedia, site, pages)
        else:
            write_dump(files.wikipedia / dump_name(language), site, pages, options.pages_per_stream)
        qids = {title: entity.qid for entity, title in sample.books[language].wiki.titles.items()}
        write_page_props(files.wikipedia / page_props_name(language), site, pages, qids)
    if exports:
        write_checksums(files.wikipedia, exports)
    entities = list(wikidata_entities(sample.world, sample.books))
    write_wikidata(files.wikidata, entities)
    write_truthy(files.truthy, entities)
    parallel = word_facts(sample.held_out.parallel, sample.books, languages, f"parallel {options.seed}")
    _write_table(files.parallel, parallel, _PARALLEL)
    for file, word in ((files.graded, word_graded), (files.graded_dev, word_graded_dev)):
        pairs = word(sample.held_out, sample.books["en"], options.graded_pairs, options.seed)
        _write_table(file, pairs, _GRADED)
    write_training_texts(files.nli, files.parallel_train, sample, languages)


def _write_table(path: Path, rows: Iterable[ParallelSentence | GradedPair], schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist([row._asdict() for row in rows], schema=schema), path)
