"""The sample wiki: its pages, held-out sentences and texts for other methods, and its files."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ease.errors import EaseError
from ease.sample.dump_files import (
    TRUTHY_NAME,
    WIKIDATA_NAME,
    dump_name,
    page_props_name,
    wikidata_entities,
    write_content_export,
    write_dump,
    write_page_props,
    write_truthy,
    write_wikidata,
)
from ease.sample.options import SAMPLE_LANGUAGES, SampleOptions, generate_folder
from ease.sample.pages import (
    ArticleWriter,
    WikiPage,
    name_aliases,
    plan_articles,
    write_disambiguations,
    write_other_pages,
    write_redirects,
)
from ease.sample.world import (
    SHARED_FRAMES,
    Entity,
    Fact,
    Phrasebook,
    Statement,
    World,
    facts_by_entity,
    read_site,
    read_world,
    statement_of,
    statement_of_two,
)

SAMPLE_WIKI_VERSION = 1
"""Raise it if the sample wiki, its Wikidata, test sentences or training texts change: they are generated again."""
# Maximum held-out facts with the same currency or language, so that widespread ones do not dominate the test.
MOST_SHARED: dict[str, int] = {"pays": 3, "speaks": 6}
# Maximum held-out facts of one territory by relation.
MOST_PER_TERRITORY: dict[str, int] = {"pays": 1, "speaks": 2}
# Maximum share of parallel facts about currencies, since territories have fewer currencies than languages.
MOST_PAID = 0.4

# Premises of inferences, and training facts, worded in every language, as far as the facts suffice.
NLI_PREMISES = 1500
TRAINING_FACTS = 1500

Couple = tuple[Fact, Fact]
"""A currency and a language of a territory; or facts of one relation about two territories."""


@dataclass(frozen=True)
class Sample:
    """The sample's content; independent of the languages that are written."""

    options: SampleOptions
    world: World
    books: Mapping[str, Phrasebook]
    """Phrasebooks of all languages of the sample."""
    parallel: Sequence[Fact]
    """Held-out facts of the parallel sentences."""
    graded: Sequence[Couple]
    """Held-out facts of the graded pairs: a currency and a language of each territory."""
    training: Sequence[Fact]
    """Facts of the training texts, in random order."""

    @property
    def held_out(self) -> frozenset[Fact]:
        """All held-out facts, which articles must not state."""
        return frozenset(self.parallel).union(*self.graded)


def prepare_sample(options: SampleOptions) -> Sample:
    """Return the facts and names, with held-out facts drawn among those that can be stated in every language.

    Raises:
        EaseError: The world has too few facts.
    """
    world = read_world(options.territories)
    books = {language: Phrasebook(language, world.entities) for language in SAMPLE_LANGUAGES}
    # Names that are unique within their kind in every language: others would make equal sentences of different facts.
    unique_names = set(world.entities)
    for book in books.values():
        count = Counter((entity.kind, name.casefold()) for entity, name in book.names.items())
        unique_names &= {entity for entity, name in book.names.items() if count[entity.kind, name.casefold()] == 1}
    clear = [fact for fact in world.facts if {fact.subject, fact.object} <= unique_names]
    facts = [fact for fact in clear if fact.relation in MOST_SHARED]
    Random(f"held out {options.seed}").shuffle(facts)
    graded = _draw_graded(facts, options.graded_territories)
    parallel = _draw_parallel(facts, graded, options.parallel_facts)
    if len(parallel) < options.parallel_facts or len(graded) < options.graded_territories:
        raise EaseError(
            f"A sample of {options.territories} territories has {len(parallel)} of parallel_facts="
            f"{options.parallel_facts} facts and {len(graded)} of graded_territories="
            f"{options.graded_territories} territories to hold out: raise `territories` or lower the others."
        )
    held_out = frozenset(parallel).union(*graded)
    training = [fact for fact in clear if fact not in held_out]
    Random(f"training facts {options.seed}").shuffle(training)
    return Sample(options, world, books, sorted(parallel), sorted(graded), training)


def _draw_parallel(facts: Sequence[Fact], graded: Sequence[Couple], limit: int) -> list[Fact]:
    """Return the first facts that are not graded, within the limits for each territory, currency and language."""
    parallel: list[Fact] = []
    counts: Counter[tuple[str, Entity] | str] = Counter()
    for fact in facts:
        subject = (fact.relation, fact.subject)
        value = (fact.relation, fact.object)
        if (
            len(parallel) < limit
            and not any(fact in couple for couple in graded)
            and counts[subject] < MOST_PER_TERRITORY[fact.relation]
            and counts[value] < MOST_SHARED[fact.relation]
            and not (fact.relation == "pays" and counts["pays"] >= MOST_PAID * limit)
        ):
            parallel.append(fact)
            counts.update((subject, value, fact.relation))
    return parallel


def _draw_graded(facts: Sequence[Fact], territories: int) -> list[Couple]:
    """Choose a currency and a language of each of some territories, preferably shared by several territories."""
    uses = Counter(fact.object for fact in facts)
    facts_by_relation: dict[str, dict[Entity, Fact]] = {"pays": {}, "speaks": {}}
    # Pairs with the score 2 need a currency or language of two territories; three are enough.
    for fact in sorted(facts, key=lambda fact: -min(uses[fact.object], 3)):
        facts_by_relation[fact.relation].setdefault(fact.subject, fact)
    pays = facts_by_relation["pays"]
    speaks = facts_by_relation["speaks"]
    subjects = dict.fromkeys(fact.subject for fact in facts)
    couples = [(pays[subject], speaks[subject]) for subject in subjects if subject in pays and subject in speaks]
    return couples[:territories]


def word_facts(
    facts: Sequence[Fact], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: str
) -> Iterator[tuple[str, str, str]]:
    """Yield (key of the fact, language, text) for each fact in each language, worded with a random template."""
    for language in languages:
        random = Random(f"{seed} {language}")
        for fact in facts:
            sentence = books[language].say(statement_of(fact), random.randrange(1_000_000))
            yield fact.key, language, sentence.text


def word_graded(graded: Sequence[Couple], english: Phrasebook, pairs: int, seed: str) -> list[tuple[str, str, float]]:
    """Return distinct English pairs about the facts, equally many of each possible score, as far as the facts suffice.

    The score is 5 for the same facts in other words, 4 if one sentence states an additional fact, 3 for two facts about
    the same territory, 2 for the same currency or language of two territories, 1 for the same relation between
    different entities, 0 for nothing in common.
    """
    if len(graded) < 2:
        return []
    random = Random(seed)
    # Facts of one relation about two territories, by score.
    couples: dict[int, list[Couple]] = {1: [], 2: []}
    for first_couple, second_couple in combinations(graded, 2):
        for fact, other in zip(first_couple, second_couple, strict=True):
            couples[2 if fact.object == other.object else 1].append((fact, other))
    scores = [score for score in range(6) if couples.get(score, True)]

    def draw(score: int) -> tuple[Statement, Statement]:
        (pays, speaks), (_, other_speaks) = random.sample(graded, 2)
        fact = random.choice((pays, speaks))
        if score == 4:
            return statement_of_two(pays, speaks), statement_of(fact)
        if score in couples:
            first, second = random.choice(couples[score])
        else:
            first, second = {5: (fact, fact), 3: (pays, speaks), 0: (pays, other_speaks)}[score]
        return statement_of(first), statement_of(second)

    rows: dict[frozenset[str], tuple[str, str, float]] = {}
    for number in range(pairs):
        score = scores[number % len(scores)]
        # Few facts yield few pairs of a score: a draw may repeat a pair, or no new one may be left.
        for _ in range(1000):
            first, second = (english.say(statement, random.randrange(1_000_000)).text for statement in draw(score))
            if first != second and frozenset((first, second)) not in rows:
                rows[frozenset((first, second))] = (first, second, float(score))
                break
        else:
            break
    return list(rows.values())


def write_pages(sample: Sample, language: str) -> list[WikiPage]:
    """Return all pages of one wiki in the order of its dump."""
    options = sample.options
    book = sample.books[language]
    site = read_site(language)
    random = Random(f"pages {options.seed} {language}")
    aliases = name_aliases(sample.world.entities)
    held_out = sample.held_out
    facts = facts_by_entity([fact for fact in sample.world.facts if fact not in held_out], book.names)
    titles_elsewhere = {code: other.titles for code, other in sample.books.items()}
    writer = ArticleWriter(book, site, aliases, facts, titles_elsewhere, random)
    plans = plan_articles(facts, book, options.sentences_per_language, options.seed)
    pages = [
        writer.write(subject, statements, comparisons, number)
        for number, (subject, (statements, comparisons)) in enumerate(plans.items())
    ]
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
_PARALLEL_COLUMNS = ("fact_id", "language", "text")

Premise = tuple[Statement, Statement, Statement, Statement]
"""A premise, and its hypotheses.

- entailed: the same statement, for other words, or a part of it
- neutral: another fact about the same entity, else any other fact
- contradicted: the same fact with a wrong value
"""


def draw_premises(world: World, facts: Sequence[Fact], options: SampleOptions) -> list[Premise]:
    """Draw premises with one fact or, where possible, two of `facts`, each with its three hypotheses."""
    random = Random(f"inferences {options.seed}")
    true_facts = set(world.facts)
    by_entity = facts_by_entity(facts, world.entities)
    premises: list[Premise] = []
    for fact in facts:
        of_subject = by_entity[fact.subject]
        of_object = by_entity[fact.object]
        partners = [
            other
            for other in of_object
            if other.relation == fact.relation in SHARED_FRAMES and other.subject != fact.subject
        ]
        partners += [
            other
            for other in of_subject
            if other.subject == fact.subject and {fact.relation, other.relation} == {"pays", "speaks"}
        ]
        values = [entity for entity, stated in by_entity.items() if stated and entity.kind == fact.object.kind]
        premise_partners: list[Fact | None] = [None]
        if partners:
            premise_partners.append(random.choice(partners))
        for partner in premise_partners:
            changed = (fact._replace(object=value) for value in random.sample(values, len(values)))
            contradiction = next((candidate for candidate in changed if candidate not in true_facts), None)
            if contradiction is None:
                continue
            statement = statement_of(fact)
            if partner:
                statement = statement_of_two(fact, partner)
            # Preferably about the same subject, else about the same object, else any fact.
            unstated = (
                [other for other in group if other not in (fact, partner)] for group in (of_subject, of_object, facts)
            )
            another = random.choice(next(filter(None, unstated), [fact]))
            premises.append((statement, statement_of(fact), statement_of(another), statement_of(contradiction)))
    random.shuffle(premises)
    return premises[:NLI_PREMISES]


def word_inferences(
    premises: Sequence[Premise], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: int
) -> Iterator[tuple[str, ...]]:
    """Yield premises and hypotheses in each language as rows of XNLI; numbers of pairs are equal in all languages.

    A hypothesis that repeats the premise uses another template.
    """
    for language in languages:
        random = Random(f"inferences {seed} {language}")
        book = books[language]
        for prompt, (statement, entailed, neutral, contradicted) in enumerate(premises, start=1):
            choices = len(book.templates[statement.frame])
            template = random.randrange(choices)
            premise = book.say(statement, template).text
            # Use another template in case the hypothesis has the premise's frame.
            other_template = template + random.randrange(1, choices)
            hypotheses = {
                "entailment": book.say(entailed, other_template).text,
                "neutral": book.say(neutral, random.randrange(1_000_000)).text,
                "contradiction": book.say(contradicted, random.randrange(1_000_000)).text,
            }
            for pair, (label, hypothesis) in enumerate(hypotheses.items(), start=3 * prompt - 2):
                # Without parses and tokens, and with a single annotator.
                texts = ("", "", "", "", premise, hypothesis, str(prompt), str(pair), "sample")
                yield (language, label, *texts, label, *"----", "", "", "")


class SampleFiles:
    """Paths of a sample's files in its folder.

    Attributes:
        wikipedia: Folder of the Wikipedia dumps: pages, and the table page_props.
        wikidata: Wikidata dump in JSON.
        truthy: Dump of Wikidata's truthy statements.
        parallel: Held-out facts in every language: fact_id, language, text.
        graded: Held-out English pairs: sentence1, sentence2, score (0 to 5).
        graded_dev: English pairs about the facts of the parallel sentences, with the same columns.
        nli: Training inferences, with XNLI's columns.
        parallel_train: Training facts in every language: fact_id, language, text.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wikipedia = folder / "wikipedia"
        self.wikidata = folder / WIKIDATA_NAME
        self.truthy = folder / TRUTHY_NAME
        self.parallel = folder / "parallel.parquet"
        self.parallel_train = folder / "parallel_train.tsv.gz"
        self.graded = folder / "graded.parquet"
        self.graded_dev = folder / "graded_dev.parquet"
        self.nli = folder / "nli.tsv.gz"


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
    sample_folder = generate_folder(folder, "sample", languages, SAMPLE_LANGUAGES, options, SAMPLE_WIKI_VERSION, write)
    return SampleFiles(sample_folder)


def _write_files(folder: Path, languages: Sequence[str], options: SampleOptions) -> None:
    files = SampleFiles(folder)
    sample = prepare_sample(options)
    _write_dumps(files, sample, languages)
    _write_test_sentences(files, sample, languages)
    _write_training_texts(files, sample, languages)


def _write_dumps(files: SampleFiles, sample: Sample, languages: Sequence[str]) -> None:
    files.wikipedia.mkdir()
    for language in languages:
        pages = write_pages(sample, language)
        site = read_site(language)
        if sample.options.layout == "content":
            write_content_export(files.wikipedia, site, pages)
        else:
            write_dump(files.wikipedia / dump_name(language), site, pages)
        qids = {title: entity.qid for entity, title in sample.books[language].titles.items()}
        write_page_props(files.wikipedia / page_props_name(language), site, pages, qids)
    entities = list(wikidata_entities(sample.world, sample.books))
    write_wikidata(files.wikidata, entities)
    write_truthy(files.truthy, entities)


def _write_test_sentences(files: SampleFiles, sample: Sample, languages: Sequence[str]) -> None:
    books = sample.books
    options = sample.options
    parallel = word_facts(sample.parallel, books, languages, f"parallel {options.seed}")
    _write_table(files.parallel, parallel, dict.fromkeys(_PARALLEL_COLUMNS, pa.string()))
    graded = word_graded(sample.graded, books["en"], options.graded_pairs, f"graded {options.seed}")
    if len(graded) < options.graded_pairs or {row[2] for row in graded} < {*map(float, range(6))}:
        raise EaseError(
            f"The facts of {len(sample.graded)} territories yield only {len(graded)} of {options.graded_pairs} graded "
            "pairs with all scores: lower `graded_pairs` or raise `graded_territories`."
        )
    # Disjoint from the facts of the test; a small sample yields fewer pairs, possibly none.
    couples = sorted(_draw_graded(sample.parallel, len(sample.parallel)))
    graded_dev = word_graded(couples, books["en"], options.graded_pairs, f"graded development {options.seed}")
    for file, rows in ((files.graded, graded), (files.graded_dev, graded_dev)):
        _write_table(file, rows, {"sentence1": pa.string(), "sentence2": pa.string(), "score": pa.float64()})


def _write_training_texts(files: SampleFiles, sample: Sample, languages: Sequence[str]) -> None:
    seed = sample.options.seed
    facts = word_facts(sample.training[:TRAINING_FACTS], sample.books, languages, f"parallel training {seed}")
    _write_tsv(files.parallel_train, [_PARALLEL_COLUMNS, *facts])
    premises = draw_premises(sample.world, sample.training, sample.options)
    _write_tsv(files.nli, [XNLI_COLUMNS, *word_inferences(premises, sample.books, languages, seed)])


def _write_table(path: Path, rows: Iterable[tuple[Any, ...]], types: Mapping[str, pa.DataType]) -> None:
    records = [dict(zip(types, row, strict=True)) for row in rows]
    pq.write_table(pa.Table.from_pylist(records, schema=pa.schema(types)), path)


def _write_tsv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    # Without a name and a time in the gzip header, the same rows give the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for row in rows:
            packed.write(("\t".join(row) + "\n").encode())
