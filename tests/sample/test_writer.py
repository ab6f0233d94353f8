"""The sample's files: real dumps, reproducible, written atomically."""

from __future__ import annotations

import bz2
import json
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lxml import etree

from ease.errors import EaseError
from ease.sample.dump_files import dump_name, entity_classes
from ease.sample.options import SampleOptions
from ease.sample.wiki import Sample, SampleFiles, write_sample
from ease.wikimedia.languages import PAPER_LANGUAGES
from ease.wikimedia.wikidata import read_item

from .conftest import contents

SMALL = SampleOptions(
    territories=60, sentences_per_language=50, parallel_facts=20, graded_pairs=12, graded_territories=6
)


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_siteinfo_and_pages_have_the_format_of_an_export(sample_files: SampleFiles, language: str) -> None:
    root = etree.fromstring(bz2.decompress((sample_files.wikipedia / dump_name(language)).read_bytes()))
    assert root.get("version") == "0.11"
    assert root.get("{http://www.w3.org/XML/1998/namespace}lang") == language
    assert root.findtext("{*}siteinfo/{*}dbname") == f"{language}wiki"
    assert root.findtext("{*}siteinfo/{*}case") == "first-letter"
    names = {int(n.get("key")): n.text for n in root.iterfind("{*}siteinfo/{*}namespaces/{*}namespace")}
    assert sorted(names) == list(range(-2, 16))
    assert names[0] is None
    assert len(set(names.values())) == len(names)
    identifiers = [int(page.findtext("{*}id")) for page in root.iterfind("{*}page")]
    assert identifiers == list(range(1, len(identifiers) + 1))
    for text in root.iterfind("{*}page/{*}revision/{*}text"):
        assert int(text.get("bytes")) == len((text.text or "").encode())


def test_parallel_sentences_are_aligned_and_unique(sample_files: SampleFiles) -> None:
    rows = pq.read_table(sample_files.parallel).to_pylist()
    assert len(rows) == 18 * 300
    facts, texts = defaultdict(set), defaultdict(set)
    for row in rows:
        facts[row["language"]].add(row["fact_id"])
        texts[row["language"]].add(row["text"])
    assert tuple(facts) == PAPER_LANGUAGES
    assert all(len(rows) == 300 and rows == facts["en"] for rows in facts.values())
    assert all(len(rows) == 300 for rows in texts.values())


def test_wikidata_is_an_array_with_one_entity_per_line(sample_files: SampleFiles, sample: Sample) -> None:
    text = bz2.decompress(sample_files.wikidata.read_bytes()).decode()
    entities = json.loads(text)
    first, *lines, last = text.splitlines()
    assert (first, last) == ("[", "]")
    assert [json.loads(line.removesuffix(",")) for line in lines] == entities
    assert {entity["type"] for entity in entities} == {"item", "property"}
    statements = [s for entity in entities for s in entity["claims"].get("P31", [])]
    assert {s["rank"] for s in statements} == {"preferred", "normal", "deprecated"}
    assert {s["mainsnak"]["snaktype"] for s in statements} == {"value", "somevalue"}
    assert any(not entity["labels"] and entity["sitelinks"] for entity in entities)
    items = {entity["id"]: entity for entity in entities}
    sites = {f"{language}wiki": language for language in PAPER_LANGUAGES}
    for entity, classes in entity_classes(sample.world).items():
        item = read_item(items[f"Q{entity.qid}"], sites)
        assert item is not None
        assert item.types == list(classes)
        assert item.titles == {
            code: book.titles[entity] for code, book in sample.books.items() if entity in book.titles
        }


@pytest.mark.slow
def test_equal_options_give_equal_bytes_once(tmp_path: Path) -> None:
    files = write_sample(tmp_path / "one", ["en", "ja"], SMALL)
    first, inode = contents(files.folder), files.folder.stat().st_ino
    assert write_sample(tmp_path / "one", ["ja", "en"], SMALL).folder.stat().st_ino == inode
    seeded = SMALL.model_copy(update={"seed": 1})
    second = contents(write_sample(tmp_path / "two", ["en", "ja"], seeded).folder)
    assert first.keys() == second.keys()
    differing = {name for name in first if first[name] != second[name]}
    assert {"parallel.parquet", "graded.parquet", f"wikipedia/{dump_name('en')}"} <= differing


def test_too_few_facts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="of parallel_facts=20000 facts .*raise `territories` or lower"):
        write_sample(tmp_path, ["en"], SMALL.model_copy(update={"parallel_facts": 20_000}))
    with pytest.raises(EaseError, match="no templates for fi: choose from ar, "):
        write_sample(tmp_path, ["en", "fi"], SMALL)
