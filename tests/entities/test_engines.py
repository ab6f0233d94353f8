"""Links, pairs, negatives, audit and bitext have the same rows and types on each engine, in any order of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities import audit, bitext
from ease.entities.links import join_sitelinks, page_subjects, resolve_links, summarize_links, types_of_linked
from ease.entities.negatives import HardNegativeOptions, MiningInputs, mine_hard_negatives
from ease.entities.pairs import (
    PairOptions,
    add_further_entities,
    count_filters,
    pairs_with_filters,
    permute_entities,
    select_pairs,
)
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary

LANGUAGES = ("en", "ja", "pt")
PAIRS = PairOptions(min_characters=30, max_characters=90, max_pairs_per_entity=4, max_pairs_per_language=12, seed=5)
NEGATIVES = HardNegativeOptions(without="drop", exhaustive_limit=4, draws=5, seed=3)
AUDIT = audit.AuditOptions(
    pivot="pt", min_pairs=9, max_share=1, max_pairs=9, max_per_template=9, max_title_share=1, min_characters=1, seed=5
)
BITEXT = bitext.CandidateOptions(max_sentences_per_entity=8)
LANGUAGE_PAIRS = bitext.language_pairs(LANGUAGES, BITEXT)

Tables = Mapping[str, Any]


def add_distractors(tables: Tables, options: audit.AuditOptions) -> ibis.Table:
    names = ("matched", "matched_titles", "candidates", "sentences", "links", "entity_types")
    return audit.add_distractors(*(tables[name] for name in names), options)


def mining(tables: Tables) -> MiningInputs:
    return MiningInputs(tables["links"], tables["entity_types"], NEGATIVES)


STEPS: dict[str, Callable[[Tables], ibis.Table]] = {
    "links": lambda t: resolve_links(t["sentences"], t["redirects"], t["sitelinks"], LANGUAGES),
    "summary": lambda t: summarize_links(t["sentences"], t["links"]),
    "subjects": lambda t: page_subjects(t["sentences"], t["sitelinks"]),
    "titles": lambda t: join_sitelinks(t["sentences"].rename(title="page_title"), t["subjects"].rename(qid="entity")),
    "types": lambda t: types_of_linked(t["entity_types"], t["titles"]),
    "vocabulary": lambda t: build_vocabulary(
        t["links"], t["sitelinks"], VocabularyOptions(min_link_count=3), LANGUAGES
    ),
    "filtered": lambda t: pairs_with_filters(t["sentences"], t["links"], t["vocabulary"], PAIRS, mining(t)),
    "funnel": lambda t: count_filters(t["filtered"], PAIRS),
    "pairs": lambda t: select_pairs(t["filtered"], t["sentences"], PAIRS),
    "mined": lambda t: mine_hard_negatives(t["pairs"], mining(t), t["vocabulary"]),
    "further": lambda t: add_further_entities(t["mined"], t["links"], t["subjects"], t["vocabulary"], 3),
    "permuted": lambda t: permute_entities(t["further"], t["vocabulary"], 4),
    "candidates": lambda t: audit.select_audit_sentences(
        t["sentences"], t["links"], t["sitelinks"], t["entity_types"], LANGUAGES, AUDIT
    ),
    "matched": lambda t: audit.match_candidates(t["candidates"], AUDIT),
    "matched_titles": lambda t: audit.match_titles(t["sentences"], t["sitelinks"], t["entity_types"], LANGUAGES, AUDIT),
    "audit": lambda t: add_distractors(t, AUDIT),
    "numbered": lambda t: bitext.number_sentences(t["sentences"], t["sitelinks"], LANGUAGE_PAIRS, BITEXT),
    "bitext": lambda t: bitext.candidate_pairs(t["numbered"], t["links"], LANGUAGE_PAIRS, BITEXT),
}
ORDERED = STEPS.keys() - {"links", "subjects", "filtered", "candidates", "matched", "matched_titles"}


@pytest.fixture(scope="module")
def expected(tables: Any) -> dict[str, pa.Table]:
    """The tables of a random wiki, and those of each step by DuckDB."""
    wiki = tables.wiki(3, items=60, pages=150)
    texts = [
        f"{row['language']} {row['page_id']} {row['sentence_index']} {row['text']}"
        for row in wiki.sentences.to_pylist()
    ]
    results = {name: getattr(wiki, name) for name in ("redirects", "sitelinks", "entity_types")}
    results["sentences"] = wiki.sentences.set_column(5, "text", pa.array(texts))
    engine = ibis.duckdb.connect()
    for name, step in STEPS.items():
        results[name] = engine.to_pyarrow(step({key: ibis.memtable(table) for key, table in results.items()}))
        assert len(results[name]), name
    return results


@pytest.mark.slow
def test_engines_and_orders_of_rows_give_the_same_tables(
    another_store: tuple[SQLBackend, Any], saved: Any, expected: dict[str, pa.Table]
) -> None:
    engine, store = another_store
    inputs = {name: store(table) for name, table in expected.items()}
    for name, step in STEPS.items():
        result = saved(engine, step(inputs))
        rows, expected_rows = result.to_pylist(), expected[name].to_pylist()
        assert (
            rows == expected_rows if name in ORDERED else sorted(map(str, rows)) == sorted(map(str, expected_rows))
        ), name
        assert kinds(result) == kinds(expected[name]), name


def kinds(table: pa.Table) -> list[str]:
    """Return the types of the columns, without the names that engines give to the items of lists."""
    return [re.sub(r"(?<=list<)\w+", "item", str(kind)) for kind in table.schema.types]


@pytest.mark.slow
def test_another_seed_gives_other_rows(expected: dict[str, pa.Table]) -> None:
    inputs = {name: ibis.memtable(table) for name, table in expected.items()}
    assert {row["grade"] for row in expected["audit"].to_pylist()} == {
        *("answer", "same_page", "same_type", "same_link"),
    }
    for name, other in {
        "pairs": select_pairs(inputs["filtered"], inputs["sentences"], PAIRS.model_copy(update={"seed": 6})),
        "permuted": permute_entities(inputs["further"], inputs["vocabulary"], 5),
        "audit": add_distractors(inputs, AUDIT.model_copy(update={"seed": 6})),
    }.items():
        changed = ibis.duckdb.connect().to_pyarrow(other).to_pylist()
        assert sorted(map(str, changed)) != sorted(map(str, expected[name].to_pylist())), name
