"""Resolved links of real dumps, compared with a handmade list and with a resolution without engine."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import ibis
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.links import resolve_links
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import ingest_wikidata
from ease.wikimedia.wikipedia import ingest_wikipedia

HAND_MADE = Path(__file__).parent / "data" / "mini_links.tsv"
MINI_LANGUAGES = ("en", "es", "ko", "pl", "pt", "tr")
INGEST = IngestOptions(workers=1, splitter="icu")


class Slices(NamedTuple):
    """Tables of excerpts of real dumps."""

    sentences: ibis.Table
    redirects: ibis.Table
    links: ibis.Table


def read_parts(engine: SQLBackend, paths: Sequence[Path]) -> ibis.Table:
    """Read a table from Parquet files."""
    return engine.read_parquet([str(path) for path in paths])


@pytest.fixture(scope="module")
def engine() -> SQLBackend:
    """One engine for the tables of this module."""
    return ibis.duckdb.connect()


@pytest.fixture(scope="module")
def sitelinks(engine: SQLBackend, test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> ibis.Table:
    """Titles of the 49 items."""
    path = test_data / "dumps" / "wikidata" / "wikidata-49-items.json"
    parts = ingest_wikidata(path, MINI_LANGUAGES, INGEST, tmp_path_factory.mktemp("wikidata"))
    return read_parts(engine, parts.sitelinks)


@pytest.fixture(scope="module")
def mini(
    engine: SQLBackend, sitelinks: ibis.Table, test_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Slices:
    """The article Berlin in six languages, and the excerpts' other pages."""
    dumps = find_dumps(
        str(test_data / "dumps" / "wikipedia" / "*wiki-mini-pages-articles.xml.bz2"), MINI_LANGUAGES
    )
    parts = ingest_wikipedia(dumps, INGEST, tmp_path_factory.mktemp("mini"))
    sentences, redirects = read_parts(engine, parts.sentences), read_parts(engine, parts.redirects)
    links = engine.to_pyarrow(resolve_links(sentences, redirects, sitelinks, MINI_LANGUAGES))
    return Slices(sentences, redirects, ibis.memtable(links))


def read_hand_made() -> list[tuple[str, str, str, str, int]]:
    """Handmade list of the links in prose: language, page, target, text and item."""
    with HAND_MADE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        return [
            (language, page, target, surface, int(item)) for language, page, target, surface, item in rows
        ]


def test_resolved_links_equal_the_handmade_list(engine: SQLBackend, mini: Slices) -> None:
    links = mini.links.join(mini.sentences, ["language", "page_id", "sentence_index"])
    found = []
    for row in engine.to_pyarrow(links).to_pylist():
        # No link to the 49 items uses a redirect, so resolved titles are targets.
        surfaces = {
            row["text"][link["start"] : link["end"]]
            for link in row["links"]
            if link["target"] == row["title"]
        }
        assert len(surfaces) == 1
        found.append((row["language"], row["page_title"], row["title"], surfaces.pop(), row["entity"]))
    assert sorted(found) == sorted(read_hand_made())
