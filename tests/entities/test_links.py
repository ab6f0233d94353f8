"""Links are resolved through redirects to entities, which a vocabulary numbers; sitelinks are joined."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa
from ibis.backends.sql import SQLBackend

from ease.entities.links import (
    MAX_REDIRECTS,
    distinct_sentences,
    follow_redirects,
    join_sitelinks,
    resolve_links,
    summarize_links,
    types_of_linked,
)
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary


def rows(engine: SQLBackend, table: ibis.Table) -> list[tuple[Any, ...]]:
    """Return the ordered rows of a table by its engine."""
    return sorted(tuple(row.values()) for row in engine.to_pyarrow(table).to_pylist())


def resolve(sentences: pa.Table, redirects: pa.Table, sitelinks: pa.Table, languages: Sequence[str]) -> ibis.Table:
    """Resolve links of tables in memory."""
    return resolve_links(ibis.memtable(sentences), ibis.memtable(redirects), ibis.memtable(sitelinks), languages)


def walk(redirects: dict[tuple[str, str], str], language: str, title: str) -> str | None:
    """Follow redirects without an engine."""
    seen = {title}
    while (language, title) in redirects:
        title = redirects[language, title]
        if title in seen:
            return None
        seen.add(title)
    return title


def resolve_one_by_one(wiki: Any) -> list[tuple[str, int, int, str, int]]:
    """Resolve the links of a wiki without an engine."""
    redirects = {(row["language"], row["source_title"]): row["target_title"] for row in wiki.redirects.to_pylist()}
    items = {(row["language"], row["title"]): row["qid"] for row in wiki.sitelinks.to_pylist()}
    resolved = []
    for row in wiki.sentences.to_pylist():
        for link in row["links"]:
            title = walk(redirects, row["language"], link["target"])
            entity = items.get((row["language"], title or ""))
            if title is not None and entity is not None and title != row["page_title"]:
                resolved.append((row["language"], row["page_id"], row["sentence_index"], title, entity))
    return sorted(resolved)


def test_links_equal_a_resolution_without_engine(duckdb_engine: SQLBackend, tables: Any) -> None:
    wiki = tables.wiki(seed=1)
    resolved = resolve(wiki.sentences, wiki.redirects, wiki.sitelinks, wiki.languages)
    expected = resolve_one_by_one(wiki)
    assert rows(duckdb_engine, resolved) == expected
    assert len(expected) > 100


def test_redirects_end_where_they_lead(duckdb_engine: SQLBackend, tables: Any) -> None:
    chain = [f"c{step}" for step in range(MAX_REDIRECTS + 2)]
    redirects = [("en", source, target) for source, target in pairwise(chain)]
    redirects += [("en", "once", "Page"), ("en", "twice", "once"), ("de", "once", "Seite")]
    redirects += [("en", "self", "self"), ("en", "a", "b"), ("en", "b", "a"), ("en", "to loop", "a")]
    redirects += [("en", "double", "Y"), ("en", "double", "X")]
    followed = follow_redirects(ibis.memtable(tables.redirects(redirects)))
    found = {(language, source): target for language, source, target in rows(duckdb_engine, followed)}
    assert found["en", "once"] == found["en", "twice"] == "Page"
    assert found["de", "once"] == "Seite"
    assert [found["en", title] for title in ("self", "a", "b", "to loop")] == [None] * 4
    assert found["en", "double"] == "X", "a title redirected twice, as in overlapping dumps, goes one way"
    assert found["en", "c1"] == chain[-1], f"{MAX_REDIRECTS} redirects are followed"
    assert found["en", "c0"] is None, "a longer chain leads nowhere"


def test_without_wikidata_a_title_is_an_entity(duckdb_engine: SQLBackend, tables: Any) -> None:
    titles = ["Zürich", "東京", "😀", "", "Nowhere", "x"]
    sentences = tables.sentences([("en", 1, "Page", 0, "text", [*titles, "alias", "Page"])])
    redirects = tables.redirects([("en", "alias", "東京")])
    resolved = rows(duckdb_engine, resolve_links(ibis.memtable(sentences), ibis.memtable(redirects), None, ["en"]))
    hashes = {title: int.from_bytes(hashlib.md5(title.encode()).digest()[8:], "big") & (2**63 - 1) for title in titles}
    assert resolved == sorted(("en", 1, 0, title, -hashes[title]) for title in [*titles, "東京"])
    assert len(set(hashes.values())) == len(titles)


def test_summary_counts_links_and_those_resolved(duckdb_engine: SQLBackend, tables: Any) -> None:
    given = [("en", 1, 0, ["A", "Dead", "A"]), ("en", 1, 1, []), ("ja", 2, 0, ["Dead"])]
    sentences = tables.sentences((*own[:2], "P", own[2], "s", own[3]) for own in given)
    sitelinks = tables.sitelinks([(7, "en", "A"), (7, "ja", "あ")])
    links = resolve(sentences, tables.redirects([]), sitelinks, ["en", "ja"])
    summary = summarize_links(ibis.memtable(sentences), links)
    assert rows(duckdb_engine, summary) == [("en", 2, 3, 2), ("ja", 1, 1, 0)]
    assert Counter(rows(duckdb_engine, links)) == {("en", 1, 0, "A", 7): 2}, "a link twice in a sentence is two links"


def drawn(texts: list[str], rows: int | None, seed: int) -> list[str]:
    return list(distinct_sentences(ibis.memtable(pd.DataFrame({"sentence": texts})), rows, seed))


def test_distinct_sentences_are_drawn_by_seed_in_any_input_order() -> None:
    texts = [f"Sentence {number}" for number in range(50)]
    whole = drawn([*texts, *texts[:20]], None, 3)
    assert sorted(whole) == sorted(texts)
    assert whole != texts
    assert drawn([*reversed(texts), "Sentence 7"], 10, 3) == whole[:10]
    assert drawn(texts, 10, 4) != whole[:10]


def test_joins_equal_those_of_dictionaries(duckdb_engine: SQLBackend) -> None:
    rng = random.Random(5)
    pages = [(language, page, f"{language} '東京' {page}") for language in ("en", "ja") for page in range(1, 200)]
    items = [
        (language, page, rng.randrange(1, 150))
        for language in ("en", "ja", "de")
        for page in rng.sample(range(1, 300), 150)
    ]
    statements = [(rng.randrange(1, 200), rng.randrange(1, 9)) for _ in range(600)]
    repeated = [*pages, *rng.sample(pages, 50)]  # dump files can overlap
    titles = {(language, page): title for language, page, title in pages}
    expected = sorted(
        (qid, language, titles[language, page]) for language, page, qid in items if (language, page) in titles
    )
    linked = {qid for qid, _, _ in expected}
    assert 100 < len(expected) < len(items)

    def table(names: str, values: list[tuple[Any, ...]]) -> ibis.Table:
        return ibis.memtable(pd.DataFrame(values, columns=names.split()))

    sitelinks = join_sitelinks(table("language page_id title", repeated), table("language page_id qid", items))
    assert list(map(tuple, duckdb_engine.to_pyarrow(sitelinks).to_pandas().to_numpy())) == expected
    types = duckdb_engine.to_pyarrow(types_of_linked(table("qid type_qid", statements), sitelinks))
    assert list(map(tuple, types.to_pandas().to_numpy())) == sorted({pair for pair in statements if pair[0] in linked})


def test_the_vocabulary_has_the_frequent_entities_with_labels_by_the_order_of_languages(
    duckdb_engine: SQLBackend, tables: Any
) -> None:
    given = [("en", 30, 10), ("en", 20, 11), ("ja", 7, 6), ("en", 7, 5), ("ja", 9, 10)]
    links = tables.links((code, place, 0, "T", qid) for code, qid, times in given for place in range(times))
    titles = [
        (20, "ja", "に"),
        (20, "en", "Two"),
        (7, "pt", "Sete"),
        (7, "ja", "なな"),
        (99, "en", "Unlinked"),
    ]
    known, sitelinks = ibis.memtable(links), ibis.memtable(tables.sitelinks(titles))
    for languages, label in ((["pt", "ja", "en"], "Sete"), (["ja", "pt"], "なな"), (["sv"], "T")):
        vocabulary = build_vocabulary(known, sitelinks, VocabularyOptions(), languages)
        assert rows(duckdb_engine, vocabulary) == [(0, 7, label, 11), (1, 20, "Two", 11)]
