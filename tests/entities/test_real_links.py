"""Resolved links of excerpts of real dumps are those of a list made by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import ibis
from ibis.backends.sql import SQLBackend

from ease.entities.links import resolve_links
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import ingest_wikidata
from ease.wikimedia.wikipedia import ingest_wikipedia

HAND_MADE = Path(__file__).parent / "data" / "mini_links.tsv"
"""Links in prose to the 49 items: language, page, target, text and item."""
LANGUAGES = ("en", "es", "ko", "pl", "pt", "tr")
"""Those that have the article Berlin in the excerpts."""


def test_resolved_links_equal_the_handmade_list(duckdb_engine: SQLBackend, test_data: Path, tmp_path: Path) -> None:
    options = IngestOptions(workers=1, splitter="icu")
    dumps = find_dumps(str(test_data / "dumps" / "wikipedia" / "*wiki-mini-pages-articles.xml.bz2"), LANGUAGES)
    wikipedia = ingest_wikipedia(dumps, options, tmp_path / "wikipedia")
    items = test_data / "dumps" / "wikidata" / "wikidata-49-items.json"
    wikidata = ingest_wikidata(items, LANGUAGES, options, tmp_path / "wikidata")
    sentences, redirects, sitelinks = (
        duckdb_engine.read_parquet([str(path) for path in paths])
        for paths in (wikipedia.sentences, wikipedia.redirects, wikidata.sitelinks)
    )
    resolved = duckdb_engine.to_pyarrow(resolve_links(sentences, redirects, sitelinks, LANGUAGES))
    links = ibis.memtable(resolved).join(sentences, ["language", "page_id", "sentence_index"])
    found = []
    for row in duckdb_engine.to_pyarrow(links).to_pylist():
        # No link to the 49 items uses a redirect, so resolved titles are targets.
        (surface,) = {
            row["text"][link["start"] : link["end"]] for link in row["links"] if link["target"] == row["title"]
        }
        found.append([row["language"], row["page_title"], row["title"], surface, str(row["entity"])])
    with HAND_MADE.open(encoding="utf-8", newline="") as file:
        assert sorted(found) == sorted(list(csv.reader(file, delimiter="\t"))[1:])
