"""Links are resolved through redirects to entities, which a vocabulary numbers; sitelinks are joined."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa
from ibis.backends.sql import SQLBackend

from ease.entities import links as links_module
from ease.entities.hashing import title_number
from ease.entities.links import join_sitelinks, resolve_links, resolve_redirects, summarize_links
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import ingest_wikidata
from ease.wikimedia.wikipedia import ingest_wikipedia


def rows(engine: SQLBackend, table: ibis.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in engine.to_pyarrow(table).to_pylist())


def resolve(sentences: pa.Table, redirects: pa.Table, sitelinks: pa.Table, languages: Sequence[str]) -> ibis.Table:
    return resolve_links(ibis.memtable(sentences), ibis.memtable(redirects), ibis.memtable(sitelinks), languages)


def test_redirects_end_where_they_lead(duckdb_engine: SQLBackend, tables: Any) -> None:
    chain = [f"c{step}" for step in range(links_module.MAX_REDIRECTS + 2)]
    redirects = [("en", source, target) for source, target in pairwise(chain)]
    redirects += [("en", "once", "Page"), ("en", "twice", "once"), ("de", "once", "Seite")]
    redirects += [("en", "self", "self"), ("en", "a", "b"), ("en", "b", "a"), ("en", "to loop", "a")]
    redirects += [("en", "double", "Y"), ("en", "double", "X")]
    followed = resolve_redirects(ibis.memtable(tables.redirects(redirects)))
    targets = {(language, source): target for language, source, target in rows(duckdb_engine, followed)}
    assert targets["en", "once"] == targets["en", "twice"] == "Page"
    assert targets["de", "once"] == "Seite"
    assert [targets["en", title] for title in ("self", "a", "b", "to loop")] == [None] * 4
    assert targets["en", "double"] == "X", "a title redirected twice, as in overlapping dumps, goes one way"
    assert targets["en", "c1"] == chain[-1], f"{links_module.MAX_REDIRECTS} redirects are followed"
    assert targets["en", "c0"] is None, "a longer chain leads nowhere"


def test_without_wikidata_a_title_is_an_entity(duckdb_engine: SQLBackend, tables: Any) -> None:
    titles = ["Zürich", "東京", "😀", "", "Nowhere", "x"]
    sentences = tables.sentences([("en", 1, "Page", 0, "text", [*titles, "alias", "Page"])])
    redirects = tables.redirects([("en", "alias", "東京")])
    resolved = rows(duckdb_engine, resolve_links(ibis.memtable(sentences), ibis.memtable(redirects), None, ["en"]))
    hashes = {title: int.from_bytes(hashlib.md5(title.encode()).digest()[8:], "big") & (2**63 - 1) for title in titles}
    assert resolved == sorted(("en", 1, 0, title, -hashes[title]) for title in [*titles, "東京"])
    assert len(set(hashes.values())) == len(titles)
    first = links_module.first_sentences(ibis.memtable(sentences), None)
    assert rows(duckdb_engine, first) == [("en", 1, 0, title_number("Page"))]


def test_links_are_resolved_through_redirects_and_counted(duckdb_engine: SQLBackend, tables: Any) -> None:
    """Dead links, loops and a page's links to itself lead nowhere; titles are those of their own wiki."""
    places = [
        ("en", 1, 0, ["A", "Dead", "A", "alias", "P", "self", "loop"]),
        *(("en", 1, 1, []), ("ja", 2, 0, ["Dead", "alias", "A", "あ"])),
        ("pt", 3, 0, ["A"]),
    ]
    sentences = tables.sentences((*place[:2], "P", place[2], "s", place[3]) for place in places)
    sitelinks = tables.sitelinks([(7, "en", "A"), (7, "ja", "あ"), (8, "en", "P"), (9, "ja", "い"), (7, "pt", "A")])
    routes = ("alias", "other"), ("other", "A"), ("self", "P"), ("loop", "loop")
    redirects = tables.redirects([("ja", "alias", "い"), *(("en", *route) for route in routes)])
    links = resolve(sentences, redirects, sitelinks, ["en", "ja"])
    assert Counter(rows(duckdb_engine, links)) == {
        ("en", 1, 0, "A", 7): 3,
        ("ja", 2, 0, "い", 9): 1,
        ("ja", 2, 0, "あ", 7): 1,
    }, "a link twice in a sentence is two links"
    summary = rows(duckdb_engine, summarize_links(ibis.memtable(sentences), links))
    assert summary == [("en", 2, 7, 3), ("ja", 1, 4, 2), ("pt", 1, 1, 0)]


def test_sitelinks_are_of_pages_with_items_and_types_of_linked_items(duckdb_engine: SQLBackend) -> None:
    def table(names: str, *values: tuple[Any, ...]) -> ibis.Table:
        return ibis.memtable(pd.DataFrame(values, columns=names.split()))

    def found(joined: ibis.Table) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in duckdb_engine.to_pyarrow(joined).to_pylist()]

    page, repeated = ("ja", 1, "'東京'"), ("en", 1, "Tokyo")  # dump files can overlap
    pages = table("language page_id title", repeated, page, repeated, ("en", 2, "Nowhere"), ("en", 4, "Kyoto"))
    items = table("language page_id qid", ("ja", 1, 7), ("en", 1, 7), ("de", 1, 6), ("en", 3, 8), ("en", 4, 5))
    sitelinks = join_sitelinks(pages, items)
    assert found(sitelinks) == [(5, "en", "Kyoto"), (7, "en", "Tokyo"), (7, "ja", "'東京'")]
    types = links_module.types_of_linked(table("qid type_qid", (7, 2), (7, 1), (6, 1), (5, 3), (7, 2)), sitelinks)
    assert found(types) == [(5, 3), (7, 1), (7, 2)]


def test_the_vocabulary_has_the_frequent_entities_and_their_labels(duckdb_engine: SQLBackend, tables: Any) -> None:
    counts = [("en", 30, 10), ("en", 20, 11), ("ja", 7, 6), ("en", 7, 5), ("ja", 9, 10)]
    links = tables.links((code, place, 0, "T", qid) for code, qid, times in counts for place in range(times))
    titles = [(20, "ja", "に"), (20, "en", "Two"), (7, "pt", "Sete"), (7, "ja", "なな"), (99, "en", "Unlinked")]
    link_table, sitelinks = ibis.memtable(links), ibis.memtable(tables.sitelinks(titles))
    for languages, label in ((["pt", "ja", "en"], "Sete"), (["ja", "pt"], "なな"), (["sv"], "T")):
        vocabulary = build_vocabulary(link_table, sitelinks, VocabularyOptions(), languages)
        assert rows(duckdb_engine, vocabulary) == [(0, 7, label, 11), (1, 20, "Two", 11)]


HAND_MADE = Path(__file__).parent / "data" / "mini_links.tsv"
"""Links in prose to the 49 items: language, page, target, text and item."""
WITH_BERLIN = ("en", "es", "ko", "pl", "pt", "tr")
"""Languages that have the article Berlin in the excerpts."""


def test_resolved_links_equal_the_handmade_list(duckdb_engine: SQLBackend, test_data: Path, tmp_path: Path) -> None:
    options = IngestOptions(workers=1, splitter="icu")
    dumps = find_dumps(str(test_data / "dumps" / "wikipedia" / "*wiki-mini-pages-articles.xml.bz2"), WITH_BERLIN)
    wikipedia = ingest_wikipedia(dumps, options, tmp_path / "wikipedia")
    items = test_data / "dumps" / "wikidata" / "wikidata-49-items.json"
    wikidata = ingest_wikidata(items, WITH_BERLIN, options, tmp_path / "wikidata")
    sentences, redirects, sitelinks = (
        duckdb_engine.read_parquet([str(path) for path in paths])
        for paths in (wikipedia.sentences, wikipedia.redirects, wikidata.sitelinks)
    )
    resolved = duckdb_engine.to_pyarrow(resolve_links(sentences, redirects, sitelinks, WITH_BERLIN))
    links = ibis.memtable(resolved).join(sentences, ["language", "page_id", "sentence_index"])
    resolved_rows = []
    for row in duckdb_engine.to_pyarrow(links).to_pylist():
        # No link to the 49 items uses a redirect, so resolved titles are targets.
        (surface,) = {
            row["text"][link["start"] : link["end"]] for link in row["links"] if link["target"] == row["title"]
        }
        resolved_rows.append([row["language"], row["page_title"], row["title"], surface, str(row["entity"])])
    with HAND_MADE.open(encoding="utf-8", newline="") as file:
        assert sorted(resolved_rows) == sorted(list(csv.reader(file, delimiter="\t"))[1:])
