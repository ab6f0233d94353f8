"""Pairs are filtered, capped and sampled; removed pairs are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.links import resolve_links
from ease.entities.pairs import PairOptions, check_pairs_left, count_filters, filter_links, select_pairs
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary
from ease.errors import EaseError

OPTIONS = PairOptions(
    min_characters=30, max_characters=90, max_pairs_per_entity=4, max_pairs_per_language=12, seed=5
)
EVERYTHING = PairOptions(min_characters=1, max_characters=10_000, max_pairs_per_language=None)
FILTERS = ["rare_entity", "too_short", "too_long", "over_entity_cap", "over_language_limit"]


def prepare(wiki: Any) -> tuple[ibis.Table, ibis.Table, ibis.Table]:
    """Sentences, links and vocabulary of a wiki, computed once."""
    duckdb = ibis.duckdb.connect()
    sentences, redirects, sitelinks = map(ibis.memtable, (wiki.sentences, wiki.redirects, wiki.sitelinks))
    links = duckdb.to_pyarrow(resolve_links(sentences, redirects, sitelinks, wiki.languages))
    options = VocabularyOptions(min_link_count=3)
    vocabulary = duckdb.to_pyarrow(build_vocabulary(ibis.memtable(links), sitelinks, options, wiki.languages))
    return sentences, ibis.memtable(links), ibis.memtable(vocabulary)


def records(engine: SQLBackend, table: ibis.Table) -> list[dict[str, Any]]:
    """Return the rows of a table in its order."""
    return engine.to_pyarrow(table).to_pylist()


def key(row: dict[str, Any]) -> tuple[str, int, int, int]:
    """Return the key of a pair."""
    return row["language"], row["page_id"], row["sentence_index"], row["entity"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_pairs_satisfy_the_options(duckdb_engine: SQLBackend, tables: Any, seed: int) -> None:
    sentences, links, vocabulary = prepare(tables.wiki(seed, pages=40))
    texts = {key({**row, "entity": 0})[:3]: row["text"] for row in records(duckdb_engine, sentences)}
    known = {row["entity"] for row in records(duckdb_engine, vocabulary)}
    linked = {key(row) for row in records(duckdb_engine, links)}
    allowed = {pair for pair in linked if pair[3] in known and 30 <= len(texts[pair[:3]]) <= 90}
    pairs = records(
        duckdb_engine, select_pairs(filter_links(sentences, links, vocabulary, OPTIONS), sentences, OPTIONS)
    )
    chosen = [key(row) for row in pairs]
    assert set(chosen) <= allowed
    assert [row["pair_id"] for row in pairs] == list(range(len(pairs)))
    assert chosen == sorted(set(chosen))
    assert all(row["sentence"] == texts[key(row)[:3]] for row in pairs)
    by_entity = Counter(pair[::3] for pair in allowed)
    capped: dict[str, int] = defaultdict(int)
    for (language, _), count in by_entity.items():
        capped[language] += min(count, 4)
    assert Counter(pair[0] for pair in chosen) == {
        language: min(count, 12) for language, count in capped.items()
    }
    assert max(Counter(pair[::3] for pair in chosen).values()) <= 4

    funnel = {
        row["language"]: row
        for row in records(
            duckdb_engine, count_filters(filter_links(sentences, links, vocabulary, OPTIONS), OPTIONS)
        )
    }
    for language, row in funnel.items():
        here = [pair for pair in linked if pair[0] == language]
        frequent = [pair for pair in here if pair[3] in known]
        assert row["pairs"] == len(here)
        assert row["rare_entity"] == len(here) - len(frequent)
        assert row["too_short"] == sum(len(texts[pair[:3]]) < 30 for pair in frequent)
        assert row["too_long"] == sum(len(texts[pair[:3]]) > 90 for pair in frequent)
        assert row["left"] == sum(pair[0] == language for pair in chosen)
        assert row["pairs"] - sum(row[name] for name in FILTERS) == row["left"]
    assert all(sum(row[name] for row in funnel.values()) for name in FILTERS), "every filter is at work"


def test_pairs_do_not_depend_on_engine_and_row_order(
    another_store: tuple[SQLBackend, Any], saved: Any, duckdb_engine: SQLBackend, tables: Any
) -> None:
    sentences, links, vocabulary = prepare(tables.wiki(0))
    expected = records(
        duckdb_engine, select_pairs(filter_links(sentences, links, vocabulary, OPTIONS), sentences, OPTIONS)
    )
    counted = records(
        duckdb_engine, count_filters(filter_links(sentences, links, vocabulary, OPTIONS), OPTIONS)
    )
    assert expected
    engine, store = another_store
    sentences, links, vocabulary = (
        store(duckdb_engine.to_pyarrow(table)) for table in (sentences, links, vocabulary)
    )
    pairs = saved(
        engine, select_pairs(filter_links(sentences, links, vocabulary, OPTIONS), sentences, OPTIONS)
    )
    assert pairs.to_pylist() == expected
    assert [str(kind) for kind in pairs.schema.types] == [
        "int64",
        "string",
        "int64",
        "int32",
        "string",
        "int64",
    ]
    funnel = saved(engine, count_filters(filter_links(sentences, links, vocabulary, OPTIONS), OPTIONS))
    assert funnel.to_pylist() == counted
    assert [str(kind) for kind in funnel.schema.types] == ["string", *["int64"] * 8]
    known = links.group_by("entity").agg(row=links.page_id.min())
    unfiltered = saved(engine, count_filters(filter_links(sentences, links, known, EVERYTHING), EVERYTHING))
    assert [set(row.values()) - {row["language"]} for row in unfiltered.to_pylist()] == [
        {0, row["pairs"]} for row in unfiltered.to_pylist()
    ]


def test_the_cap_of_an_entity_is_drawn_before_the_limit_of_a_language(
    duckdb_engine: SQLBackend, tables: Any
) -> None:
    pages = range(1, 11)
    sentences = tables.sentences([("en", page, "P", 0, f"a sentence {page}", []) for page in pages])
    # Entity 7 has eight sentences, 8 has two: two of the one and both of the other are left.
    links = tables.links([("en", page, 0, "T", 7 if page <= 8 else 8) for page in pages])
    vocabulary = pa.table({"row": [0, 1], "entity": [7, 8], "label": ["A", "B"], "link_count": [8, 2]})
    options = PairOptions(min_characters=1, max_pairs_per_entity=2, max_pairs_per_language=4)
    given = list(map(ibis.memtable, (sentences, links, vocabulary)))
    pairs = select_pairs(filter_links(*given, options), given[0], options)
    assert Counter(row["entity"] for row in records(duckdb_engine, pairs)) == {7: 2, 8: 2}


def test_an_empty_result_reports_the_filters(duckdb_engine: SQLBackend, tables: Any) -> None:
    sentences, links, vocabulary = prepare(tables.wiki(0))
    options = PairOptions(min_characters=500, max_characters=501)
    funnel = count_filters(filter_links(sentences, links, vocabulary, options), options)
    counts = duckdb_engine.to_pyarrow(funnel).to_pandas()
    message = (
        rf"None of {counts.pairs.sum()} pairs .* is left; removed: {counts.rare_entity.sum()} by "
        rf"`min_link_count` .*; {counts.too_short.sum()} by `min_characters`\. Relax these limits"
    )
    with pytest.raises(EaseError, match=message):
        check_pairs_left(counts)
    empty = count_filters(
        filter_links(sentences, links.filter(links.language == "xx"), vocabulary, options), options
    )
    with pytest.raises(EaseError, match="No link of any sentence leads to an entity: check that the dumps"):
        check_pairs_left(duckdb_engine.to_pyarrow(empty).to_pandas())
    check_pairs_left(
        duckdb_engine.to_pyarrow(
            count_filters(filter_links(sentences, links, vocabulary, OPTIONS), OPTIONS)
        ).to_pandas()
    )
