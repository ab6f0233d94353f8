"""Pairs are filtered, capped, sampled and permuted; removed pairs are counted; a sentence has further entities."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities import pairs as pairs_module
from ease.entities.links import resolve_links
from ease.entities.negatives import HardNegativeOptions, MiningInputs, mine_hard_negatives
from ease.entities.pairs import PairOptions, check_pairs_left, count_filters, pairs_with_filters, select_pairs
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary
from ease.errors import EaseError

OPTIONS = PairOptions(min_characters=30, max_characters=90, max_pairs_per_entity=4, max_pairs_per_language=12, seed=5)
FILTERS = ["rare_entity", "too_short", "too_long", "over_entity_cap", "over_language_limit"]
Rows = list[dict[str, Any]]


def rows(table: ibis.Table) -> Rows:
    return list(table.to_pyarrow().to_pylist())


def prepare(wiki: Any) -> tuple[ibis.Table, ibis.Table, ibis.Table]:
    """Sentences, links and vocabulary of a wiki, computed once."""
    sentences, redirects, sitelinks = map(ibis.memtable, (wiki.sentences, wiki.redirects, wiki.sitelinks))
    links = ibis.memtable(resolve_links(sentences, redirects, sitelinks, wiki.languages).to_pyarrow())
    options = VocabularyOptions(min_link_count=3)
    vocabulary = build_vocabulary(links, sitelinks, options, wiki.languages).to_pyarrow()
    return sentences, links, ibis.memtable(vocabulary)


def key(row: dict[str, Any]) -> tuple[str, int, int, int]:
    return row["language"], row["page_id"], row["sentence_index"], row["entity"]


@pytest.mark.slow
def test_pairs_satisfy_the_options_and_removed_ones_are_counted(tables: Any) -> None:
    sentences, links, vocabulary = prepare(tables.wiki(0, pages=40))
    texts = {key({**row, "entity": 0})[:3]: row["text"] for row in rows(sentences)}
    frequent = {row["entity"] for row in rows(vocabulary)}
    linked = {key(row) for row in rows(links)}
    allowed = {pair for pair in linked if pair[3] in frequent and 30 <= len(texts[pair[:3]]) <= 90}
    filtered = pairs_with_filters(sentences, links, vocabulary, OPTIONS)
    pairs = rows(select_pairs(filtered, sentences, OPTIONS))
    selection = [key(row) for row in pairs]
    assert set(selection) <= allowed
    assert [row["pair_id"] for row in pairs] == list(range(len(pairs)))
    assert selection == sorted(set(selection))
    assert all(row["sentence"] == texts[key(row)[:3]] for row in pairs)
    capped: Counter[str] = Counter()
    for (language, _), count in Counter(pair[::3] for pair in allowed).items():
        capped[language] += min(count, 4)
    assert Counter(pair[0] for pair in selection) == {name: min(count, 12) for name, count in capped.items()}
    assert max(Counter(pair[::3] for pair in selection).values()) <= 4

    counted = rows(count_filters(filtered, OPTIONS))
    for row in counted:
        here = [pair for pair in linked if pair[0] == row["language"]]
        lengths = [len(texts[pair[:3]]) for pair in here if pair[3] in frequent]
        assert (row["pairs"], row["rare_entity"]) == (len(here), len(here) - len(lengths))
        cut = sum(length < 30 for length in lengths), sum(length > 90 for length in lengths)
        assert (row["too_short"], row["too_long"]) == cut
        assert row["left"] == sum(pair[0] == row["language"] for pair in selection)
        assert row["pairs"] - sum(row[name] for name in FILTERS) == row["left"]
    assert all(sum(row[name] for row in counted) for name in FILTERS), "every filter is at work"


def test_sentences_with_holes_are_dropped_and_counted(tables: Any) -> None:
    texts = ["It is a town.", "It is near and.", "It is far away."]
    sentences = tables.sentences(("en", 1, "P", index, text, []) for index, text in enumerate(texts))
    sentences = sentences.set_column(
        sentences.schema.get_field_index("holes"), "holes", pa.array([0, 2, 0], pa.int32())
    )
    links = tables.links(("en", 1, index, "T", 9) for index in range(3))
    vocabulary = pa.table({"row": [0], "entity": [9], "label": ["T"], "link_count": [3]})
    inputs = tuple(map(ibis.memtable, (sentences, links, vocabulary)))
    for holes, kept in (("drop", [0, 2]), ("keep", [0, 1, 2])):
        options = PairOptions(holes=holes)
        filtered = pairs_with_filters(*inputs, options)
        pairs = rows(select_pairs(filtered, inputs[0], options))
        assert [row["sentence_index"] for row in pairs] == kept
        (counted,) = rows(count_filters(filtered, options))
        assert (counted["pairs"], counted["hole"], counted["left"]) == (3, 3 - len(kept), len(kept))


def test_an_empty_result_reports_the_filters(tables: Any) -> None:
    sentences, links, vocabulary = prepare(tables.wiki(0))
    options = PairOptions(min_characters=500, max_characters=501)
    counts = count_filters(pairs_with_filters(sentences, links, vocabulary, options), options).to_pandas()
    removed = rf"{counts.rare_entity.sum()} by `min_link_count` .*; {counts.too_short.sum()} by `min_characters`\. "
    with pytest.raises(EaseError, match=rf"None of {counts.pairs.sum()} pairs .* is left; removed: {removed}"):
        check_pairs_left(counts)
    with pytest.raises(EaseError, match="No link of any sentence leads to an entity: check that the dumps"):
        check_pairs_left(counts[:0])


def test_as_many_pairs_with_a_negative_are_left_as_wanted(tables: Any) -> None:
    """Two thirds of the pairs have no hard negative: pages link to two entities without a type and one with."""
    typed, untyped = range(100, 140), range(200, 260)
    keys = [(language, page, index) for language in ("en", "eo") for page in range(100) for index in range(3)]
    entities = [untyped[(page + index) % 60] if index else typed[page % 40] for _, page, index in keys]
    every = [*typed, *untyped]
    inputs = (
        tables.sentences((*place[:2], "P", place[2], "It links to an entity.", []) for place in keys),
        tables.links((*place, "T", entity) for place, entity in zip(keys, entities, strict=True)),
        tables.entity_types((entity, 1) for entity in typed),
        pa.table({"row": every, "entity": every, "label": list(map(str, every)), "link_count": every}),
    )
    sentences, links, types, vocabulary = map(ibis.memtable, inputs)
    mining = MiningInputs(links, types, HardNegativeOptions(without="drop"))
    options = PairOptions(max_pairs_per_language=90)
    filtered = pairs_with_filters(sentences, links, vocabulary, options, mining)
    pairs = ibis.memtable(select_pairs(filtered, sentences, options).to_pyarrow())
    mined = rows(mine_hard_negatives(pairs, mining, vocabulary))
    assert Counter(row["language"] for row in mined) == {"en": 90, "eo": 90}
    assert all(row["hard_negative"] in typed for row in mined)
    assert [row["pair_id"] for row in mined] == list(range(180))
    names = ("pairs", "no_negative", "over_language_limit", "left")
    counted = rows(count_filters(filtered, options))
    assert [[row[name] for name in names] for row in counted] == [[300, 200, 10, 90]] * 2


def test_every_other_entity_of_the_sentence_is_added() -> None:
    """Some entities are unknown, some pairs were removed by a filter."""
    rng = random.Random(0)
    places = [(language, page, index) for language in ("en", "ja") for page in range(5) for index in range(3)]
    linked = {(*place, rng.randint(1, 40)) for place in places for _ in range(rng.randint(1, 6))}
    frequent = {number for number in range(1, 41) if number % 7}
    subjects = {(language, page): 1 + page * 7 for language, page, _ in places if page < 4}
    selection = sorted(pair for pair in linked if pair[3] % 3 and pair[3] in frequent)

    def table(names: str, values: Any) -> ibis.Table:
        return ibis.memtable(pd.DataFrame(list(values), columns=names.split()))

    pairs = table(
        "pair_id language page_id sentence_index entity", ((n, *entities) for n, entities in enumerate(selection))
    )
    links = table("language page_id sentence_index entity", linked)
    of_pages = table("language page_id entity", ((*page, entity) for page, entity in subjects.items()))
    vocabulary = table("entity", ((number,) for number in frequent))
    results = rows(pairs_module.add_further_entities(pairs, links, of_pages, vocabulary, seed=3))
    assert [row["pair_id"] for row in results] == list(range(len(selection)))
    for row, pair in zip(results, selection, strict=True):
        entities = {other[3] for other in linked if other[:3] == pair[:3]} & frequent
        further = row["further_entities"] or []
        assert (set(further), len(further)) == (entities - {pair[3]}, len(entities) - 1)
        subject = subjects.get(pair[:2])
        assert row["subject"] == (subject if subject in frequent - entities else None)
    assert any(row["subject"] for row in results)


@pytest.mark.slow
def test_each_language_has_one_permutation_for_positives_and_negatives(duckdb_engine: SQLBackend) -> None:
    numbers, languages = range(200), ["en", "ja", "ar", "en"] * 50
    columns: dict[str, list[Any]] = {
        "entity": [1000 + number * 7 % 50 for number in numbers],
        "hard_negative": [1000 + number * 3 % 50 if number % 5 else None for number in numbers],
        "further_entities": [[1000 + number * place % 50 for place in range(number % 4)] or None for number in numbers],
    }
    training_pairs = pa.table({"pair_id": numbers, "language": languages, "sentence": [*map(str, numbers)], **columns})
    vocabulary = ibis.memtable(pa.table({"entity": range(1000, 1050)}))
    permuted = duckdb_engine.to_pyarrow(pairs_module.permute_entities(ibis.memtable(training_pairs), vocabulary, 1))
    unchanged = ["pair_id", "language", "sentence"]
    assert permuted.select(unchanged).to_pylist() == training_pairs.select(unchanged).to_pylist()
    renamed: dict[str, dict[int | None, int | None]] = {language: {} for language in languages}
    for row in permuted.to_pylist():
        for name, values in columns.items():
            both = values[row["pair_id"]], row[name]
            for before_value, other in zip(
                *(value if isinstance(value, list) else [value] for value in both), strict=True
            ):
                assert renamed[row["language"]].setdefault(before_value, other) == other
    for names in renamed.values():
        assert len(set(names.values())) == len(names), "two entities never become one"
        assert names.pop(None) is None
        assert set(names.values()) <= set(range(1000, 1050))
        assert any(before != after for before, after in names.items())
    assert renamed["en"] != renamed["ja"]


def drawn(texts: list[str], rows: int | None, seed: int) -> list[str]:
    return list(pairs_module.sample_sentences(ibis.memtable(pd.DataFrame({"sentence": texts})), rows, seed))


def test_distinct_sentences_are_drawn_by_seed_in_any_input_order() -> None:
    texts = [f"Sentence {number}" for number in range(50)]
    whole = drawn([*texts, *texts[:20]], None, 3)
    assert sorted(whole) == sorted(texts)
    assert whole != texts
    assert drawn([*reversed(texts), "Sentence 7"], 10, 3) == whole[:10]
    assert drawn(texts, 10, 4) != whole[:10]
