"""The sample's inferences and parallel training sentences: true to the facts, without the held-out ones."""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ease.sample.wiki import Sample, SampleFiles
from ease.sample.world import Fact, Phrasebook, statement_of
from ease.wikimedia.languages import PAPER_LANGUAGES

pytestmark = pytest.mark.slow


def read_table(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def inferences(sample_files: SampleFiles) -> list[dict[str, str]]:
    return read_table(sample_files.nli)


def wordings(book: Phrasebook, fact: Fact) -> list[str]:
    return [book.say(statement_of(fact), number).text for number in range(len(book.templates[fact.relation]))]


def facts_of(text: str, sample: Sample) -> set[Fact]:
    """The facts, right or wrong, that an English sentence can state by itself."""
    book = sample.books["en"]
    entities = [entity for entity, name in book.names.items() if name in text]
    kinds = {(fact.relation, fact.subject.kind, fact.object.kind) for fact in sample.world.facts}
    possible = (
        Fact(relation, subject, value)
        for relation, *pair_kinds in kinds
        for subject in entities
        for value in entities
        if [subject.kind, value.kind] == pair_kinds
    )
    return {fact for fact in possible if text in wordings(book, fact)}


def test_every_language_states_the_same_inferences(inferences: list[dict[str, str]]) -> None:
    by_language = defaultdict(list)
    for row in inferences:
        by_language[row["language"]].append((row["promptID"], row["pairID"], row["gold_label"]))
    assert tuple(by_language) == PAPER_LANGUAGES
    assert all(rows == by_language["en"] for rows in by_language.values())
    labels = Counter(label for _, _, label in by_language["en"])
    assert labels == {"entailment": 1500, "neutral": 1500, "contradiction": 1500}
    premises = {(row["language"], row["promptID"]): row["sentence1"] for row in inferences}
    for row in inferences:
        assert premises[row["language"], row["promptID"]] == row["sentence1"] != row["sentence2"]


def test_labels_follow_from_the_facts(inferences: list[dict[str, str]], sample: Sample) -> None:
    facts, held_out = set(sample.world.facts), sample.held_out
    english = [row for row in inferences if row["language"] == "en"]
    seen: Counter[str] = Counter()
    for rows in list(zip(*[iter(english)] * 3, strict=True))[:300]:
        (stated,), (other,), (untrue,) = (facts_of(row["sentence2"], sample) for row in rows)
        assert {stated, other} <= facts - held_out
        assert other != stated
        assert untrue not in facts
        assert (untrue.relation, untrue.subject) == (stated.relation, stated.subject)
        text = rows[0]["sentence1"]
        premise = facts_of(text, sample)
        if premise:
            assert premise == {stated}
        else:
            assert all(sample.books["en"].names[entity] in text for entity in (stated.subject, stated.object))
        seen["one fact" if premise else "two facts"] += 1
    assert min(seen.values()) > 60


def test_held_out_facts_stay_out(sample_files: SampleFiles, inferences: list[dict[str, str]], sample: Sample) -> None:
    rows = read_table(sample_files.parallel_train)
    trained = {row["text"] for row in rows} | {row[name] for row in inferences for name in ("sentence1", "sentence2")}
    for language, book in sample.books.items():
        for fact in sample.held_out:
            assert not trained & set(wordings(book, fact)), (language, fact)
    tested = set(pq.read_table(sample_files.parallel)["text"].to_pylist())
    for graded in map(pq.read_table, (sample_files.graded, sample_files.graded_dev)):
        tested |= {*graded["sentence1"].to_pylist(), *graded["sentence2"].to_pylist()}
    assert not trained & tested


def test_development_and_test_pairs_share_no_facts(sample_files: SampleFiles, sample: Sample) -> None:
    development, tested = (pq.read_table(path).to_pylist() for path in (sample_files.graded_dev, sample_files.graded))
    assert Counter(row["score"] for row in development) == {float(score): 50 for score in range(6)}
    worded = {text for pair in sample.graded for fact in pair for text in wordings(sample.books["en"], fact)}
    assert worded & {text for row in tested for text in (row["sentence1"], row["sentence2"])}
    assert not worded & {text for row in development for text in (row["sentence1"], row["sentence2"])}


def test_training_sentences_state_the_same_facts_in_all_languages(sample_files: SampleFiles, sample: Sample) -> None:
    by_language: dict[str, dict[str, str]] = defaultdict(dict)
    for row in read_table(sample_files.parallel_train):
        by_language[row["language"]][row["fact_id"]] = row["text"]
    keys = {fact.key: fact for fact in sample.world.facts}
    assert tuple(by_language) == PAPER_LANGUAGES
    assert all(list(texts) == list(by_language["en"]) for texts in by_language.values())
    assert 1_000 < len(by_language["en"]) <= 1_500
    for language, texts in by_language.items():
        for key, text in list(texts.items())[:100]:
            assert text in wordings(sample.books[language], keys[key])
