"""The audit: pairs of sentences about one item, without ambiguous candidates, with graded distractors."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.audit import (
    AuditOptions,
    add_distractors,
    match_candidates,
    match_titles,
    select_audit_sentences,
)

OPTIONS = AuditOptions(
    min_pairs=20, max_share=1, max_title_share=1, max_per_template=20, min_characters=1, distractors=0
)
LANGUAGES = ("en", "eo")
LINKED = (("Romo (urbo)", 0), ("Pado", 9, 26, 32))
"""Titles, and where a sentence links to them; its first word and most names have a capital"""
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
    sentences, links, sitelinks, types = map(ibis.memtable, wiki)
    selected = select_audit_sentences(sentences, links, sitelinks, types, LANGUAGES, options)
    candidates = ibis.memtable(engine.to_pyarrow(selected))
    result = engine.to_pyarrow(match_candidates(candidates, options))
    if options.distractors:
        titles = match_titles(sentences, sitelinks, types, LANGUAGES, options)
        audited = add_distractors(ibis.memtable(result), titles, candidates, sentences, links, types, options)
        result = engine.to_pyarrow(audited)
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
    titles = {("name", f"{name} eo", f"{name} en") for name in ITEMS.values()}
    assert answers(rows) == first | titles | {("links", f"eo Rome {index}", f"en Rome {index}") for index in (1, 2)}
    distractors = defaultdict[tuple[str, str, str], set[str]](set)
    rows = [row for row in rows if row["kind"] not in ("word", "name")]
    pair_of = {row["pair_id"]: row["text"] for row in rows if row["grade"] == "answer" and row["side"] == "right"}
    for row in rows:
        distractors[pair_of[row["pair_id"]], row["side"], row["grade"]].add(row["text"])
    # Sentences 3 and 4 of a page link to nothing, as the first one: links cannot tell them apart.
    assert distractors["en Rome 0", "left", "same_page"] == {"eo Rome 1", "eo Rome 2"}
    assert distractors["en Rome 1", "right", "same_page"] == {"en Rome 0", "en Rome 2", "en Rome 3", "en Rome 4"}
    assert distractors["en Rome 0", "right", "same_type"] == {"en Oslo 0"}
    assert distractors["en Oslo 0", "left", "same_type"] == {"eo Rome 0"}
    assert ("en Po 0", "right", "same_type") not in distractors


def test_sentences_of_other_pages_that_link_to_the_item_are_distractors(duckdb_engine: SQLBackend, tables: Any) -> None:
    """Knowing the topic is not enough: the wrong sentences are about the item, too."""
    sentences = [
        (code, item, index, f"{code} {item} {index}") for code in LANGUAGES for item in (1, 2) for index in (0, 1)
    ]
    wiki = inputs(tables, sentences, [("en", 2, 1, 1), ("eo", 2, 1, 1), ("eo", 1, 1, 1)])
    # No pairs of later sentences, whose answers are no distractors.
    rows = audit(duckdb_engine, wiki, OPTIONS.model_copy(update={"distractors": 10, "min_entities": 2}))
    linking = {(row["pair_id"], row["side"], row["text"]) for row in rows if row["grade"] == "same_link"}
    rome = next(row["pair_id"] for row in rows if row["text"] == "en 1 0" and row["grade"] == "answer")
    assert linking == {(rome, "left", "eo 2 1"), (rome, "right", "en 2 1")}


def test_titles_are_matched_that_no_letter_gives_away(duckdb_engine: SQLBackend, tables: Any) -> None:
    sitelinks = [
        (1, "en", "Rome (city)"),
        (1, "eo", "Romo (urbo)"),
        (2, "en", "Oslo"),
        (2, "eo", "OSLO"),  # spelt alike
        (3, "en", "Po"),
        (3, "eo", "Pado"),
        (4, "en", "1999"),
        (4, "eo", "1999-a jaro"),
        (5, "en", "Aa (river)"),
        (5, "eo", "Aha (rivero)"),
        (6, "en", "Aa (town)"),  # ambiguous without its brackets
        (6, "eo", "Ahavilo"),
        (7, "en", "Category:Rivers"),
        (7, "eo", "Kategorio:Riveroj"),
        (8, "en", "Nile"),  # a river, excluded below
        (8, "eo", "Nilo"),
    ]
    table = ibis.memtable(tables.sitelinks(sitelinks))
    types = ibis.memtable(tables.entity_types([(8, RIVER)]))
    options = OPTIONS.model_copy(update={"excluded_types": (RIVER,)})
    text = "Romo. La Pado kaj rivero pado, pado aŭ Pado."
    links = [{"start": start, "end": start + 4, "target": title} for title, *starts in LINKED for start in starts]
    row = {"language": "eo", "page_id": 50, "page_title": "Kien", "revision_id": 1, "sentence_index": 0, "text": text}
    schema = tables.sentences([]).schema
    sentences = ibis.memtable(pa.Table.from_pylist([{**row, "links": links}], schema))
    rows = duckdb_engine.to_pyarrow(match_titles(sentences, table, types, LANGUAGES, options)).to_pylist()
    assert answers(rows) == {("name", "Romo", "Rome"), ("word", "Pado", "Po")}
    few = duckdb_engine.to_pyarrow(
        match_titles(sentences, table, types, LANGUAGES, options.model_copy(update={"max_titles": 1}))
    )
    assert answers(few.to_pylist()) == {("word", "Pado", "Po")}, "words come first"


@pytest.mark.parametrize(("changes", "count"), [({}, 4), ({"min_pairs": 2}, 2), ({"max_per_template": 1}, 2)])
def test_sentences_of_a_template_only_fill_up(
    duckdb_engine: SQLBackend, tables: Any, changes: dict[str, Any], count: int
) -> None:
    """A training run on other pages learns "X is a city with 9 houses" by heart."""
    titles = ["Ab", "Bc", "Cd", "De"]
    texts = {title: f"{title} estas urbo kun {len(title) * 7} domoj." for title in titles} | {"De": "Io alia."}
    rows: list[Any] = [("eo", 10 + n, f"{title} eo", 0, texts[title], []) for n, title in enumerate(titles)]
    rows += [
        ("en", n, title, 0, f"{word} thing.", []) for n, (title, word) in enumerate(zip(titles, "wxyz", strict=True))
    ]
    sitelinks = [
        (n, code, f"{title}{end}") for n, title in enumerate(titles) for code, end in (("en", ""), ("eo", " eo"))
    ]
    wiki = [tables.sentences(rows), tables.links([]), tables.sitelinks(sitelinks), tables.entity_types([])]
    found = audit(duckdb_engine, wiki, OPTIONS.model_copy(update=changes))
    pairs = {row["pair_id"]: row["text"] for row in found if row["side"] == "left"}
    assert len(pairs) == count
    assert pairs[0] == "Io alia.", "the pair without a template comes first"


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
