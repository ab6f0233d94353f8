"""The sample is drawn after all filters: as many pairs are left as wanted, if there are enough."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ibis
import pyarrow as pa
from ibis.backends.sql import SQLBackend

from ease.entities.hashing import hash_text
from ease.entities.links import first_sentences
from ease.entities.negatives import HardNegativeOptions, Mining, mine_hard_negatives
from ease.entities.pairs import PairOptions, count_filters, filter_links, select_pairs

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
