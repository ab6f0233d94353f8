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
from ease.sample.options import SampleOptions, generate_folder
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
    SAMPLE_LANGUAGES,
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
MOST_SHARED: dict[str, int] = {"pays": 3, "speaks": 6}
"""Maximum held-out facts with the same currency or language, so that widespread ones do not dominate the test."""
MOST_PER_TERRITORY: dict[str, int] = {"pays": 1, "speaks": 2}
"""Maximum held-out facts of one territory by relation."""
MOST_PAID = 0.4
"""Maximum share of parallel facts about currencies, since territories have fewer currencies than languages."""

NLI_PREMISES = TRAINING_FACTS = 1500
"""Premises of inferences, and training facts, worded in every language, as far as the facts suffice."""

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
    """Read the facts and names, and draw the held-out facts among those that can be stated in every language.

    Raises:
        EaseError: The world has too few facts.
    """
    world = read_world(options.territories)
    books = {language: Phrasebook(language, world.entities) for language in SAMPLE_LANGUAGES}
    usable = set(world.entities)  # the name is unique within the kind in every language
    for book in books.values():
        count = Counter((entity.kind, name.casefold()) for entity, name in book.names.items())
        usable &= {entity for entity, name in book.names.items() if count[entity.kind, name.casefold()] == 1}
    clear = [fact for fact in world.facts if {fact.subject, fact.object} <= usable]
    facts = [fact for fact in clear if fact.relation in MOST_SHARED]
    Random(f"held out {options.seed}").shuffle(facts)
    graded = _draw_graded(facts, options.graded_territories)
    parallel: list[Fact] = []
    counts: Counter[tuple[str, Entity] | str] = Counter()
    for fact in facts:
        subject, object_ = (fact.relation, fact.subject), (fact.relation, fact.object)
        if (
            len(parallel) < options.parallel_facts
            and not any(fact in couple for couple in graded)
            and counts[subject] < MOST_PER_TERRITORY[fact.relation]
            and counts[object_] < MOST_SHARED[fact.relation]
            and not (fact.relation == "pays" and counts["pays"] >= MOST_PAID * options.parallel_facts)
        ):
            parallel.append(fact)
            counts.update((subject, object_, fact.relation))
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


def _draw_graded(facts: Sequence[Fact], territories: int) -> list[Couple]:
    """Choose a currency and a language of each of some territories, preferably shared by several territories."""
    uses = Counter(fact.object for fact in facts)
    paid: dict[Entity, Fact] = {}
    spoken: dict[Entity, Fact] = {}
    for fact in sorted(facts, key=lambda fact: -min(uses[fact.object], 3)):
        (paid if fact.relation == "pays" else spoken).setdefault(fact.subject, fact)
    both = [territory for territory in dict.fromkeys(fact.subject for fact in facts) if territory in paid]
    return [(paid[one], spoken[one]) for one in both if one in spoken][:territories]


def word_facts(
    facts: Sequence[Fact], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: str
) -> Iterator[tuple[str, str, str]]:
    """Word each fact in each language with a random template: key of the fact, language, text."""
    for language in languages:
        random = Random(f"{seed} {language}")
        for fact in facts:
            sentence = books[language].say(statement_of(fact), random.randrange(1_000_000))
            yield fact.key, language, sentence.text


def word_graded(graded: Sequence[Couple], english: Phrasebook, pairs: int, seed: str) -> list[tuple[str, str, float]]:
    """Word distinct English pairs about the facts, equally many of each possible score, as far as the facts suffice.

    The score is 5 for the same facts in other words, 4 if one sentence states an additional fact, 3 for two facts about
    the same territory, 2 for the same currency or language of two territories, 1 for the same relation between
    different entities, 0 for nothing in common.
    """
    if len(graded) < 2:
        return []
    random = Random(seed)
    couples: dict[int, list[Couple]] = {1: [], 2: []}  # facts of one relation about two territories
    for pair, other_pair in combinations(graded, 2):
        for fact, other in zip(pair, other_pair, strict=True):
            couples[2 if fact.object == other.object else 1].append((fact, other))
    scores = [score for score in range(6) if couples.get(score, True)]

    def draw(score: int) -> tuple[Statement, Statement]:
        (pays, speaks), (_, other_speaks) = random.sample(graded, 2)
        fact = random.choice((pays, speaks))
        if score == 4:
            return statement_of_two(pays, speaks), statement_of(fact)
        if score in couples:
            one, other = random.choice(couples[score])
        else:
            one, other = {5: (fact, fact), 3: (pays, speaks), 0: (pays, other_speaks)}[score]
        return statement_of(one), statement_of(other)

    rows: dict[frozenset[str], tuple[str, str, float]] = {}
    for number in range(pairs):
        score = scores[number % len(scores)]
        for _ in range(1000):
            first, second = (english.say(one, random.randrange(1_000_000)).text for one in draw(score))
            if first != second and frozenset((first, second)) not in rows:
                rows[frozenset((first, second))] = first, second, float(score)
                break
        else:
            break
    return list(rows.values())


def write_pages(sample: Sample, language: str) -> list[WikiPage]:
    """Return all pages of one wiki in the order of its dump."""
    options, book, site = sample.options, sample.books[language], read_site(language)
    random = Random(f"pages {options.seed} {language}")
    aliases = name_aliases(sample.world.entities)
    held_out = sample.held_out
    facts = facts_by_entity([fact for fact in sample.world.facts if fact not in held_out], book.names)
    titles_elsewhere = {code: other.titles for code, other in sample.books.items()}
    writer = ArticleWriter(book, site, aliases, facts, titles_elsewhere, random)
    plans = plan_articles(facts, book, options.sentences_per_language, options.seed)
    pages = [
        writer.write(subject, about, compared, number)
        for number, (subject, (about, compared)) in enumerate(plans.items())
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
FACT_COLUMNS = ("fact_id", "language", "text")

Premise = tuple[Statement, Statement, Statement, Statement]
"""A premise, and its hypotheses.

- entailed: the same statement, for other words, or a part of it
- neutral: another fact about the same entity, else any other fact
- contradicted: the same fact with a wrong value
"""


def draw_premises(world: World, facts: Sequence[Fact], options: SampleOptions) -> list[Premise]:
    """Draw premises with one fact or, where possible, two of `facts`, each with its three hypotheses."""
    random = Random(f"inferences {options.seed}")
    true = set(world.facts)
    by_entity = facts_by_entity(facts, world.entities)
    premises: list[Premise] = []
    for fact in facts:
        of_subject, of_object = by_entity[fact.subject], by_entity[fact.object]
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
        values = [entity for entity, own in by_entity.items() if own and entity.kind == fact.object.kind]
        for partner in (None, random.choice(partners)) if partners else (None,):
            changed = (fact._replace(object=value) for value in random.sample(values, len(values)))
            if wrong := next((one for one in changed if one not in true), None):
                statement = statement_of_two(fact, partner) if partner else statement_of(fact)
                unsaid = ([o for o in of if o not in (fact, partner)] for of in (of_subject, of_object, facts))
                another = random.choice(next(filter(None, unsaid), [fact]))
                hypotheses = statement_of(fact), statement_of(another), statement_of(wrong)
                premises.append((statement, *hypotheses))
    random.shuffle(premises)
    return premises[:NLI_PREMISES]


def word_inferences(
    premises: Sequence[Premise], books: Mapping[str, Phrasebook], languages: Sequence[str], seed: int
) -> Iterator[tuple[str, ...]]:
    """Word premises and hypotheses in each language, as rows of XNLI; numbers of pairs are equal in all languages.

    A hypothesis that repeats the premise uses another template.
    """
    for language in languages:
        random, book = Random(f"inferences {seed} {language}"), books[language]
        for prompt, (statement, entailed, neutral, contradicted) in enumerate(premises, start=1):
            choices = len(book.templates[statement.frame])
            template = random.randrange(choices)
            said = book.say(statement, template).text
            # Use another template in case the hypothesis has the premise's frame.
            other = template + random.randrange(1, choices)
            hypotheses = {
                "entailment": book.say(entailed, other).text,
                "neutral": book.say(neutral, random.randrange(1_000_000)).text,
                "contradiction": book.say(contradicted, random.randrange(1_000_000)).text,
            }
            for pair, (label, hypothesis) in enumerate(hypotheses.items(), start=3 * prompt - 2):
                # Without parses and tokens, and with a single annotator.
                texts = ("", "", "", "", said, hypothesis, str(prompt), str(pair), "sample")
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
        self.folder, self.wikipedia = folder, folder / "wikipedia"
        self.wikidata, self.truthy = folder / WIKIDATA_NAME, folder / TRUTHY_NAME
        self.parallel, self.parallel_train = folder / "parallel.parquet", folder / "parallel_train.tsv.gz"
        self.graded, self.graded_dev = folder / "graded.parquet", folder / "graded_dev.parquet"
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
    made = generate_folder(folder, "sample", languages, SAMPLE_LANGUAGES, options, SAMPLE_WIKI_VERSION, write)
    return SampleFiles(made)


def _write_files(folder: Path, languages: Sequence[str], options: SampleOptions) -> None:
    files, sample = SampleFiles(folder), prepare_sample(options)
    books, seed = sample.books, options.seed
    files.wikipedia.mkdir()
    for language in languages:
        pages, site = write_pages(sample, language), read_site(language)
        if options.layout == "content":
            write_content_export(files.wikipedia, site, pages)
        else:
            write_dump(files.wikipedia / dump_name(language), site, pages)
        qids = {title: entity.qid for entity, title in books[language].titles.items()}
        write_page_props(files.wikipedia / page_props_name(language), site, pages, qids)
    entities = list(wikidata_entities(sample.world, books))
    write_wikidata(files.wikidata, entities)
    write_truthy(files.truthy, entities)
    parallel = word_facts(sample.parallel, books, languages, f"parallel {seed}")
    _write_table(files.parallel, parallel, dict.fromkeys(FACT_COLUMNS, pa.string()))
    graded = word_graded(sample.graded, books["en"], options.graded_pairs, f"graded {seed}")
    if len(graded) < options.graded_pairs or {row[2] for row in graded} < {*map(float, range(6))}:
        raise EaseError(
            f"The facts of {len(sample.graded)} territories yield only {len(graded)} of {options.graded_pairs} graded "
            "pairs with all scores: lower `graded_pairs` or raise `graded_territories`."
        )
    # Disjoint from the facts of the test; a small sample yields fewer pairs, possibly none.
    others = sorted(_draw_graded(sample.parallel, len(sample.parallel)))
    graded_dev = word_graded(others, books["en"], options.graded_pairs, f"graded development {seed}")
    for file, rows in ((files.graded, graded), (files.graded_dev, graded_dev)):
        _write_table(file, rows, {"sentence1": pa.string(), "sentence2": pa.string(), "score": pa.float64()})
    stated = sample.training[:TRAINING_FACTS]
    facts = word_facts(stated, books, languages, f"parallel training {seed}")
    _write_tsv(files.parallel_train, [FACT_COLUMNS, *facts])
    premises = draw_premises(sample.world, sample.training, options)
    _write_tsv(files.nli, [XNLI_COLUMNS, *word_inferences(premises, books, languages, seed)])


def _write_table(path: Path, rows: Iterable[tuple[Any, ...]], types: Mapping[str, pa.DataType]) -> None:
    named = [dict(zip(types, row, strict=True)) for row in rows]
    pq.write_table(pa.Table.from_pylist(named, schema=pa.schema(types)), path)


def _write_tsv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    # Without a name and a time in the gzip header, the same rows give the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for row in rows:
            packed.write(("\t".join(row) + "\n").encode())
