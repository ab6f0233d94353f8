"""Pairs are filtered, capped, sampled and permuted; removed pairs are counted; a sentence has further entities."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.hashing import hash_text
from ease.entities.links import first_sentences, resolve_links
from ease.entities.negatives import HardNegativeOptions, Mining, mine_hard_negatives
from ease.entities.pairs import (
    PairOptions,
    add_further_entities,
    check_pairs_left,
    count_filters,
    filter_links,
    permute_entities,
    select_pairs,
)
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


TYPED, UNTYPED = range(100, 140), range(200, 260)
"""Entities of one type, and entities without a type; pages link to one of the former and two of the latter."""


def make_wiki(tables: Any, pages: int = 100) -> tuple[ibis.Table, ...]:
    """Sentences, links, types and vocabulary; two thirds of the pairs have no hard negative."""
    keys = [
        (language, page, index) for language in ("en", "eo") for page in range(pages) for index in range(3)
    ]
    sentences = tables.sentences(
        (language, page, f"P{page}", index, "It links to an entity.", []) for language, page, index in keys
    )
    links = tables.links(
        (language, page, index, "T", UNTYPED[(page + index) % 60] if index else TYPED[page % 40])
        for language, page, index in keys
    )
    return tuple(map(ibis.memtable, (sentences, links, *types_and_vocabulary(tables))))


def types_and_vocabulary(tables: Any) -> tuple[pa.Table, pa.Table]:
    """Return the types of the typed entities, and the vocabulary of all."""
    known = [*TYPED, *UNTYPED]
    columns = {"row": range(len(known)), "entity": known, "label": list(map(str, known)), "link_count": known}
    return tables.entity_types((entity, 1) for entity in TYPED), pa.table(columns)


def sample(
    engine: SQLBackend, wiki: tuple[ibis.Table, ...], without: str, **options: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Select pairs and mine their negatives; return the training pairs and the funnel."""
    sentences, links, types, vocabulary = wiki
    negatives = HardNegativeOptions(without=without)
    mining = Mining(links, types, negatives) if without == "drop" else None
    chosen = PairOptions(**{"max_pairs_per_language": 90, **options})
    filtered = filter_links(sentences, links, vocabulary, chosen, mining)
    pairs = ibis.memtable(engine.to_pyarrow(select_pairs(filtered, sentences, chosen)))
    mined = engine.to_pyarrow(mine_hard_negatives(pairs, links, types, vocabulary, negatives))
    funnel = engine.to_pyarrow(count_filters(filtered, chosen))
    return mined.to_pylist(), funnel.to_pylist()


def test_as_many_pairs_with_a_negative_are_left_as_wanted(duckdb_engine: SQLBackend, tables: Any) -> None:
    mined, funnel = sample(duckdb_engine, make_wiki(tables), "drop")
    assert Counter(row["language"] for row in mined) == {"en": 90, "eo": 90}
    assert all(row["hard_negative"] in TYPED for row in mined)
    assert [row["pair_id"] for row in mined] == list(range(180))
    for row in funnel:
        assert (row["pairs"], row["no_negative"], row["over_language_limit"], row["left"]) == (
            300,
            200,
            10,
            90,
        )


def test_first_sentences_have_the_entity_of_their_page(duckdb_engine: SQLBackend, tables: Any) -> None:
    rows = [
        ("en", 1, "Berlin", 0, "Berlin is a city.", ["Germany"]),
        ("en", 1, "Berlin", 1, "It is large.", []),
        ("en", 2, "Nowhere", 0, "Nowhere has no item.", []),
        ("eo", 1, "Berlino", 0, "Berlino estas urbo.", []),
        ("it", 1, "Berlino", 0, "Berlino è una città.", []),
    ]
    sentences = ibis.memtable(tables.sentences(rows))
    sitelinks = ibis.memtable(
        tables.sitelinks([(64, "en", "Berlin"), (64, "eo", "Berlino"), (64, "it", "Berlino")])
    )
    found = duckdb_engine.to_pyarrow(first_sentences(sentences, sitelinks, ["en", "eo"])).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [("en", 1, 0, 64), ("eo", 1, 0, 64)]
    links = first_sentences(sentences, sitelinks, ["en", "eo"])
    vocabulary = ibis.memtable(pa.table({"row": [0], "entity": [64], "label": ["Berlin"], "link_count": [9]}))
    pairs = duckdb_engine.to_pyarrow(
        select_pairs(filter_links(sentences, links, vocabulary, PairOptions()), sentences, PairOptions())
    ).to_pylist()
    assert [row["sentence"] for row in pairs] == ["Berlin is a city.", "Berlino estas urbo."]
    titled = duckdb_engine.to_pyarrow(first_sentences(sentences, None, ["en"])).to_pylist()
    hashed = duckdb_engine.to_pyarrow(sentences.select(entity=-hash_text(sentences.page_title)).distinct())
    assert {row["entity"] for row in titled} < set(hashed["entity"].to_pylist())
    assert len(titled) == 2


Rows = list[dict[str, Any]]


def make_tables(seed: int = 0) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    """Pairs, links, subjects and vocabulary; some entities are unknown, some pairs were left out by a filter."""
    rng = random.Random(seed)
    links = [
        {"language": language, "page_id": page, "sentence_index": index, "entity": rng.randint(1, 40)}
        for language in ("en", "ja")
        for page in range(5)
        for index in range(3)
        for _ in range(rng.randint(1, 6))
    ]
    unique = [dict(row) for row in {tuple(row.items()) for row in links}]
    kept = sorted(
        (row for row in unique if row["entity"] % 3 and row["entity"] % 7), key=lambda row: [*row.values()]
    )
    pairs = [{"pair_id": number, **row} for number, row in enumerate(kept)]
    subjects = [
        {"language": language, "page_id": page, "entity": 1 + page * 7}
        for language in ("en", "ja")
        for page in range(4)
    ]
    vocabulary = [{"row": number, "entity": number} for number in range(1, 41) if number % 7]
    given = (pairs, links, subjects, vocabulary)
    return tuple(pa.Table.from_pylist(rows) for rows in given)  # type: ignore[return-value]


def by_hand(tables: tuple[pa.Table, ...]) -> dict[int, tuple[set[int], int | None]]:
    """Return each pair's further entities and subject, from dictionaries."""
    pairs, links, subjects, vocabulary = (table.to_pylist() for table in tables)
    known = {row["entity"] for row in vocabulary}
    expected = {}
    for pair in pairs:
        place = (pair["language"], pair["page_id"], pair["sentence_index"])
        own = {
            row["entity"]
            for row in links
            if (row["language"], row["page_id"], row["sentence_index"]) == place and row["entity"] in known
        }
        subject = {row["entity"] for row in subjects if (row["language"], row["page_id"]) == place[:2]}
        left = (subject & known) - own
        expected[pair["pair_id"]] = (own - {pair["entity"]}, left.pop() if left else None)
    return expected


def add_further(tables: Any, seed: int = 3) -> Any:
    """Add the further entities to the pairs of four tables."""
    pairs, links, subjects, vocabulary = tables
    return add_further_entities(pairs, links, subjects, vocabulary, seed)


def test_every_other_entity_of_the_sentence_is_added(duckdb_engine: SQLBackend) -> None:
    tables = make_tables()
    found: Rows = duckdb_engine.to_pyarrow(add_further(map(ibis.memtable, tables))).to_pylist()
    expected = by_hand(tables)
    assert [row["pair_id"] for row in found] == sorted(expected)
    assert {row["pair_id"]: (set(row["further_entities"] or ()), row["subject"]) for row in found} == expected
    assert any(subject for _, subject in expected.values())
    assert all(len(set(row["further_entities"] or ())) == len(row["further_entities"] or ()) for row in found)


def test_engine_and_order_of_rows_do_not_matter(
    another_store: tuple[SQLBackend, Any], saved: Any, duckdb_engine: SQLBackend
) -> None:
    tables = make_tables()
    expected = duckdb_engine.to_pyarrow(add_further(map(ibis.memtable, tables))).to_pylist()
    engine, store = another_store
    shuffled = [table.take(random.Random(1).sample(range(len(table)), len(table))) for table in tables]
    assert saved(engine, add_further(map(store, shuffled))).to_pylist() == expected


VOCABULARY = pd.DataFrame({"row": range(50), "entity": range(1000, 1050), "label": "x", "link_count": 20})
PAIRS = pd.DataFrame(
    {
        "pair_id": range(200),
        "language": ["en", "ja", "ar", "en"] * 50,
        "sentence": [f"sentence {number}" for number in range(200)],
        "entity": [1000 + number * 7 % 50 for number in range(200)],
        "hard_negative": pd.array(
            [None if number % 5 == 0 else 1000 + number * 3 % 50 for number in range(200)], "Int64"
        ),
        "further_entities": [
            None if number % 4 == 0 else [1000 + (number * place) % 50 for place in range(1, number % 4 + 2)]
            for number in range(200)
        ],
    }
)


def permute(seed: int, pairs: pd.DataFrame = PAIRS) -> pd.DataFrame:
    return permute_entities(ibis.memtable(pairs), ibis.memtable(VOCABULARY), seed).to_pandas()


@pytest.fixture(scope="module")
def permuted() -> pd.DataFrame:
    return permute(seed=1)


@pytest.mark.slow
def test_each_language_has_one_permutation_for_positives_and_negatives(permuted: pd.DataFrame) -> None:
    assert permuted[["pair_id", "language", "sentence"]].equals(PAIRS[["pair_id", "language", "sentence"]])
    for language in ("en", "ja", "ar"):
        rows = PAIRS["language"] == language
        renamed: dict[int, int] = {}
        lists = zip(PAIRS[rows]["further_entities"], permuted[rows]["further_entities"], strict=True)
        further = [pair for before, after in lists if before for pair in zip(before, after, strict=True)]
        columns = [
            *(
                zip(PAIRS[rows][column], permuted[rows][column], strict=True)
                for column in ("entity", "hard_negative")
            ),
            further,
        ]
        for column in columns:
            for before, after in column:
                if pd.isna(before):
                    assert pd.isna(after)
                else:
                    assert renamed.setdefault(int(before), int(after)) == after
        assert len(set(renamed.values())) == len(renamed), "two entities never become one"
        assert set(renamed.values()) <= set(VOCABULARY["entity"])
        assert any(before != after for before, after in renamed.items())


@pytest.mark.slow
def test_the_seed_decides_and_the_order_of_rows_does_not(permuted: pd.DataFrame) -> None:
    assert permuted.equals(permute(seed=1, pairs=PAIRS.sample(frac=1, random_state=0)))
    assert not permuted["entity"].equals(permute(seed=2)["entity"])
