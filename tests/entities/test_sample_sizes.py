"""The sample is drawn after all filters: as many pairs are left as wanted, if there are enough."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.hashing import hash_text
from ease.entities.links import first_sentences
from ease.entities.negatives import HardNegativeOptions, Mining, mine_hard_negatives
from ease.entities.pairs import PairOptions, check_pairs_left, count_filters, select_pairs
from ease.errors import EaseError

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
    pairs = ibis.memtable(engine.to_pyarrow(select_pairs(sentences, links, vocabulary, chosen, mining)))
    mined = engine.to_pyarrow(mine_hard_negatives(pairs, links, types, vocabulary, negatives))
    funnel = engine.to_pyarrow(count_filters(sentences, links, vocabulary, chosen, mining))
    return mined.to_pylist(), funnel.to_pylist()


def test_as_many_pairs_with_a_negative_are_left_as_wanted(engine: SQLBackend, tables: Any) -> None:
    mined, funnel = sample(engine, make_wiki(tables), "drop")
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


def test_all_are_left_where_there_are_fewer(duckdb_engine: SQLBackend, tables: Any) -> None:
    mined, funnel = sample(duckdb_engine, make_wiki(tables, pages=20), "drop")
    assert Counter(row["language"] for row in mined) == {"en": 20, "eo": 20}
    assert [row["left"] for row in funnel] == [20, 20]


def test_the_cap_of_an_entity_counts_pairs_with_a_negative(duckdb_engine: SQLBackend, tables: Any) -> None:
    mined, _ = sample(duckdb_engine, make_wiki(tables), "drop", max_pairs_per_entity=1)
    assert Counter(row["language"] for row in mined) == {"en": 40, "eo": 40}


@pytest.mark.slow
def test_pairs_that_are_kept_without_a_negative_are_sampled_alike(
    duckdb_engine: SQLBackend, tables: Any
) -> None:
    """With `keep`, a pair's negative has no influence on the sample."""
    wiki = make_wiki(tables)
    kept, funnel = sample(duckdb_engine, wiki, "keep")
    untyped = (*wiki[:2], wiki[2].filter(wiki[2].qid < 0), wiki[3])
    without_types, _ = sample(duckdb_engine, untyped, "keep")
    assert [row["no_negative"] for row in funnel] == [0, 0]
    assert [row["entity"] for row in kept] == [row["entity"] for row in without_types]
    assert 0 < sum(row["hard_negative"] is None for row in kept) < len(kept)


def test_no_pair_with_a_negative_is_reported(duckdb_engine: SQLBackend, tables: Any) -> None:
    sentences, links, types, vocabulary = make_wiki(tables)
    mining = Mining(links, types.filter(types.qid < 0), HardNegativeOptions(without="drop"))
    funnel = count_filters(sentences, links, vocabulary, PairOptions(), mining)
    with pytest.raises(EaseError, match="removed: 600 by `hard_negatives.without: drop`"):
        check_pairs_left(duckdb_engine.to_pyarrow(funnel).to_pandas())


def test_first_sentences_have_the_entity_of_their_page(engine: SQLBackend, tables: Any) -> None:
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
    found = engine.to_pyarrow(first_sentences(sentences, sitelinks, ["en", "eo"])).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [("en", 1, 0, 64), ("eo", 1, 0, 64)]
    links = first_sentences(sentences, sitelinks, ["en", "eo"])
    vocabulary = ibis.memtable(pa.table({"row": [0], "entity": [64], "label": ["Berlin"], "link_count": [9]}))
    pairs = engine.to_pyarrow(select_pairs(sentences, links, vocabulary, PairOptions())).to_pylist()
    assert [row["sentence"] for row in pairs] == ["Berlin is a city.", "Berlino estas urbo."]
    titled = engine.to_pyarrow(first_sentences(sentences, None, ["en"])).to_pylist()
    hashed = engine.to_pyarrow(sentences.select(entity=-hash_text(sentences.page_title)).distinct())
    assert {row["entity"] for row in titled} < set(hashed["entity"].to_pylist())
    assert len(titled) == 2
