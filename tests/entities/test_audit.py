"""The audit: pairs of sentences about one item, without ambiguous candidates, with graded distractors."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.audit import AuditOptions, add_distractors, match_candidates, select_audit_sentences

OPTIONS = AuditOptions(min_pairs=2, max_share=1, min_characters=1, distractors=0)
LANGUAGES = ("en", "eo")
ITEMS = {1: "Rome", 2: "Oslo", 3: "Po"}
CITY, RIVER = 100, 101
Inputs = list[pa.Table]


def page(language: str, item: int) -> int:
    """The page of an item: numbers differ between the wikis."""
    return item + (1000 if language == "eo" else 0)


def inputs(tables: Any, sentences: Any, links: Any, types: Any = ((1, CITY), (2, CITY), (3, RIVER))) -> Inputs:
    """Tables of an English and an Esperanto wiki about three items; sentences and links name items, not pages."""
    titles = {(language, item): f"{name} {language}" for language in LANGUAGES for item, name in ITEMS.items()}
    return [
        tables.sentences(
            (code, page(code, item), titles[code, item], index, text, []) for code, item, index, text in sentences
        ),
        tables.links((code, page(code, item), i, "T", entity) for code, item, i, entity in links),
        tables.sitelinks((item, code, title) for (code, item), title in titles.items()),
        tables.entity_types(types),
    ]


@pytest.fixture
def wiki(tables: Any) -> Inputs:
    """Three articles in both wikis: first sentences, and later ones with equal, unequal and ambiguous links."""
    places = [(code, item, index) for code in LANGUAGES for item in ITEMS for index in range(5)]
    sentences = [(code, item, index, f"{code} {ITEMS[item]} {index}") for code, item, index in places]
    both = [(code, 1, index, entity) for code in LANGUAGES for index, entity in ((1, 7), (1, 8), (2, 7))]
    ambiguous = [(code, 2, index, 9) for code in LANGUAGES for index in (1, 2)]  # twice in each wiki
    unequal = [("en", 3, 1, 7), ("eo", 3, 1, 8)]
    repeated = [("eo", 1, 1, 7)]  # a sentence that links an entity twice
    return inputs(tables, sentences, [*both, *ambiguous, *unequal, *repeated])


def audit(engine: SQLBackend, wiki: Inputs, options: AuditOptions = OPTIONS) -> list[dict[str, Any]]:
    """Select the audit by an engine, with saved tables in between as in the pipeline."""
    *tables, types = map(ibis.memtable, wiki)
    candidates = ibis.memtable(engine.to_pyarrow(select_audit_sentences(*tables, types, LANGUAGES, options)))
    result = engine.to_pyarrow(match_candidates(candidates, options))
    if options.distractors:
        result = engine.to_pyarrow(add_distractors(ibis.memtable(result), candidates, types, options))
    rows: list[dict[str, Any]] = result.to_pylist()
    return rows


def answers(rows: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    sides: dict[Any, dict[str, str]] = {}
    for row in (row for row in rows if row.get("grade", "answer") == "answer"):
        sides.setdefault((row["pair_id"], row["kind"]), {})[row["side"]] = row["text"]
    return {(kind, texts["left"], texts["right"]) for (_, kind), texts in sides.items()}


def test_pairs_and_distractors_are_chosen_by_links_and_types(duckdb_engine: SQLBackend, wiki: Inputs) -> None:
    rows = audit(duckdb_engine, wiki, OPTIONS.model_copy(update={"distractors": 10}))
    first = {("first", f"eo {name} 0", f"en {name} 0") for name in ITEMS.values()}
    assert answers(rows) == first | {("links", f"eo Rome {index}", f"en Rome {index}") for index in (1, 2)}
    distractors = defaultdict[tuple[str, str, str], set[str]](set)
    pair_of = {row["pair_id"]: row["text"] for row in rows if row["grade"] == "answer" and row["side"] == "right"}
    for row in rows:
        distractors[pair_of[row["pair_id"]], row["side"], row["grade"]].add(row["text"])
    # Sentences 3 and 4 of a page link to nothing, as the first one: links cannot tell them apart.
    assert distractors["en Rome 0", "left", "same_page"] == {"eo Rome 1", "eo Rome 2"}
    assert distractors["en Rome 1", "right", "same_page"] == {"en Rome 0", "en Rome 2", "en Rome 3", "en Rome 4"}
    assert distractors["en Rome 0", "right", "same_type"] == {"en Oslo 0"}
    assert distractors["en Oslo 0", "left", "same_type"] == {"eo Rome 0"}
    assert ("en Po 0", "right", "same_type") not in distractors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "pairs"),
    [
        ({"pairs_per_item": 1}, {"first": 3}),
        ({"min_entities": 2}, {"first": 3, "links": 1}),
        ({"excluded_types": (CITY,)}, {"first": 1}),
        ({"min_characters": 8}, {"first": 2, "links": 2}),  # "en Po 0" is shorter
    ],
)
def test_limits(duckdb_engine: SQLBackend, wiki: Inputs, changes: dict[str, Any], pairs: dict[str, int]) -> None:
    texts = answers(audit(duckdb_engine, wiki, OPTIONS.model_copy(update=changes)))
    assert Counter(kind for kind, *_ in texts) == pairs


def test_ambiguous_texts_and_items_are_not_used(duckdb_engine: SQLBackend, tables: Any) -> None:
    sentences = [
        *((code, item, 0, f"{code} {item}") for code in LANGUAGES for item in (1, 2)),
        ("eo", 3, 0, "eo 2"),  # the text of another first sentence
        ("en", 3, 0, "en 3"),
    ]
    wiki = inputs(tables, sentences, [])
    assert answers(audit(duckdb_engine, wiki)) == {("first", "eo 1", "en 1")}
    # A second page of an item in one wiki.
    second = tables.sentences([("eo", 5000, "Rome bis", 0, "eo 1 bis", []), ("eo", 5001, "x", 0, "y", [])])
    wiki[0] = pa.concat_tables([wiki[0], second])
    wiki[2] = pa.concat_tables([wiki[2], tables.sitelinks([(1, "eo", "Rome bis")])])
    assert answers(audit(duckdb_engine, wiki)) == set()


def test_sentences_with_holes_are_not_used(duckdb_engine: SQLBackend, wiki: Inputs) -> None:
    before = answers(audit(duckdb_engine, wiki))
    sentences = wiki[0]
    assert ("first", "eo Rome 0", "en Rome 0") in before
    holes = [int(text == "en Rome 0") for text in sentences["text"].to_pylist()]
    place = sentences.schema.get_field_index("holes")
    with_holes = sentences.set_column(place, "holes", pa.array(holes, pa.int32()))
    after = answers(audit(duckdb_engine, [with_holes, *wiki[1:]]))
    assert after
    assert not any("en Rome 0" in answer for answer in after)
