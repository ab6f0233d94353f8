"""The sample's page_props and truthy statements agree with its JSON dump, and so do their parsers."""

from __future__ import annotations

import bz2
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ibis
import pyarrow.parquet as pq
import pytest

from ease.entities.links import join_sitelinks, types_of_linked
from ease.sample import SampleFiles
from ease.sample.dump_files import entity_classes
from ease.sample.wiki import Sample
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import find_page_props, ingest_page_props, ingest_truthy, ingest_wikidata
from ease.wikimedia.wikipedia import ingest_wikipedia

LANGUAGES = ("en", "ja", "tr", "fa")
OPTIONS = IngestOptions(workers=1, splitter="icu")


def rows(parts: Sequence[Path]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for part in parts for row in pq.read_table(part).to_pylist())


@pytest.fixture(scope="module")
def pages(sample_files: SampleFiles, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    dumps = find_dumps(sample_files.wikipedia, LANGUAGES)
    return ingest_wikipedia(dumps, OPTIONS, tmp_path_factory.mktemp("pages")).pages


@pytest.mark.parametrize("types_from", ["truthy", "json"])
def test_both_ways_give_the_same_tables(
    sample_files: SampleFiles, pages: list[Path], tmp_path: Path, types_from: str
) -> None:
    engine = ibis.duckdb.connect()

    def table(parts: Sequence[Path]) -> ibis.Table:
        return engine.read_parquet([str(part) for part in parts])

    by_json = ingest_wikidata(sample_files.wikidata, LANGUAGES, OPTIONS, tmp_path)
    files = find_page_props([sample_files.wikipedia], dict.fromkeys(LANGUAGES))
    items = ingest_page_props(files, OPTIONS, tmp_path)
    types = (
        ingest_truthy(sample_files.truthy, OPTIONS, tmp_path)
        if types_from == "truthy"
        else ingest_wikidata(sample_files.wikidata, None, OPTIONS, tmp_path)
    )
    sitelinks = join_sitelinks(table(pages), table(items.page_items)).to_pyarrow()
    expected = rows(by_json.sitelinks)
    assert [tuple(row.values()) for row in sitelinks.to_pylist()] == expected
    assert len(expected) > 2500
    entity_types = types_of_linked(table(types.entity_types), ibis.memtable(sitelinks)).to_pyarrow()
    expected = rows(by_json.entity_types)
    assert [tuple(row.values()) for row in entity_types.to_pylist()] == expected
    assert len(expected) > 700
    assert sum(counts["broken_rows"] for counts in items.counts.values()) == 0
    assert types.counts["broken_lines"] == 0


def test_truthy_has_only_the_best_statements(sample_files: SampleFiles, sample: Sample) -> None:
    lines = bz2.decompress(sample_files.truthy.read_bytes()).decode("ascii").splitlines()
    assert all(line.endswith(" .") for line in lines)
    triples = [line.removesuffix(" .").split(" ", 2) for line in lines]
    entity, direct = "<http://www.wikidata.org/entity/Q", "<http://www.wikidata.org/prop/direct/P31>"
    found = {
        (int(subject.removeprefix(entity)[:-1]), int(value.removeprefix(entity)[:-1]))
        for subject, predicate, value in triples
        if predicate == direct and subject.startswith(entity) and value.startswith(entity)
    }
    classes = entity_classes(sample.world)
    assert found == {(e.qid, type_qid) for e, types in classes.items() for type_qid in types}
    assert any("genid" in value for _, predicate, value in triples if predicate == direct)
    labels = [json.loads(value.rpartition("@")[0]) for _, _, value in triples if value.startswith('"')]
    names = {name for book in sample.books.values() for name in book.names.values()}
    assert 5000 < len(set(labels) & names)
