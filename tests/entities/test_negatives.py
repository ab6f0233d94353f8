"""A hard negative has the positive's type and is not on its page; every pair with an admissible one gets one."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend
from scipy.stats import chisquare

from ease.entities import negatives as negatives_module
from ease.entities.negatives import HardNegativeOptions, MiningInputs, mine_hard_negatives

Case = tuple[pa.Table, pa.Table, pa.Table, pa.Table]


def make_case(tables: Any, seed: int, pairs: int = 150, entities: int = 40) -> Case:
    """Pairs, links, types and vocabulary; some types have one member, some pages link to all of a type."""
    rng = random.Random(seed)
    links = {
        (rng.choice(["en", "ja"]), rng.randint(1, 12), rng.randint(0, 3), rng.randint(1, entities))
        for _ in range(pairs)
    }
    rows = sorted(links)
    types = [
        (entity, 100 + entity if entity % 10 == 0 else rng.choice([1, 2, 3, 4, 5 + entity % 7]))
        for entity in range(1, entities + 5)
        for _ in range(2)
    ]
    # A frequent entity can be absent from all pages of the pairs.
    frequent = [entity for entity in range(1, entities + 3) if entity % 9]
    return (
        make_pairs(row for row in rows if row[3] in frequent),
        tables.links((*row[:3], "T", row[3]) for row in rows),
        tables.entity_types(types),
        make_vocabulary(frequent),
    )


def make_pairs(rows: Any) -> pa.Table:
    names = ("language", "page_id", "sentence_index", "entity")
    return pa.Table.from_pylist([{"pair_id": n, **dict(zip(names, row, strict=True))} for n, row in enumerate(rows)])


def make_vocabulary(entities: Any) -> pa.Table:
    entities = sorted(entities)
    return pa.table({"row": range(len(entities)), "entity": entities})


def mine(engine: SQLBackend, case: Case, **options: Any) -> list[dict[str, Any]]:
    mining_options = HardNegativeOptions(**{"without": "drop"} | options)
    pairs, links, types, vocabulary = map(ibis.memtable, case)
    mined = mine_hard_negatives(pairs, MiningInputs(links, types, mining_options), vocabulary)
    return list(engine.to_pyarrow(mined).to_pylist())


def find_admissible(case: Case) -> dict[int, set[int]]:
    """Search the admissible negatives of each pair, without an engine."""
    pairs, links, types, vocabulary = (table.to_pylist() for table in case)
    frequent = {row["entity"] for row in vocabulary}
    types_of, members, linked = defaultdict(set), defaultdict(set), defaultdict(set)
    for row in types:
        if row["qid"] in frequent:
            types_of[row["qid"]].add(row["type_qid"])
            members[row["type_qid"]].add(row["qid"])
    for row in links:
        linked[row["language"], row["page_id"]].add(row["entity"])
    return {
        row["pair_id"]: set().union(*(members[kind] for kind in types_of[row["entity"]]))
        - {row["entity"], *linked[row["language"], row["page_id"]]}
        for row in pairs
    }


@pytest.mark.slow
@pytest.mark.parametrize("without", ["keep", "drop"])
def test_a_pair_gets_an_admissible_negative_if_any(duckdb_engine: SQLBackend, tables: Any, without: str) -> None:
    pairs, links, *other_tables = make_case(tables, seed=1)
    # The links of a page may lack the entity of its pair.
    case = (pairs, links.take(list(range(1, len(links), 2))), *other_tables)
    admissible, rows = find_admissible(case), pairs.to_pylist()
    mined = mine(duckdb_engine, case, without=without, seed=1)
    left = [row for row in rows if without == "keep" or admissible[row["pair_id"]]]
    assert [{name: row[name] for name in pairs.column_names} for row in mined] == left
    assert all(row["hard_negative"] in (admissible[row["pair_id"]] or {None}) for row in mined)

    summary = negatives_module.count_hard_negatives(ibis.memtable(pairs), ibis.memtable(pa.Table.from_pylist(mined)))
    for row in duckdb_engine.to_pyarrow(summary).to_pylist():
        has_negative = [bool(admissible[pair["pair_id"]]) for pair in rows if pair["language"] == row["language"]]
        lacking = has_negative.count(False)
        assert lacking > 0
        assert (row["pairs"], row["with_negative"]) == (len(has_negative), has_negative.count(True))
        removed = (row["kept_without"], row["dropped"])
        assert removed == ((lacking, 0) if without == "keep" else (0, lacking))


@pytest.mark.slow
@pytest.mark.parametrize("further_types", [True, False])
def test_a_pair_is_known_to_have_a_negative_first(duckdb_engine: SQLBackend, tables: Any, further_types: bool) -> None:
    case = make_case(tables, seed=1)
    options: dict[str, Any] = {"further_types": further_types, "exhaustive_limit": 4, "seed": 1}
    pairs, links, types, vocabulary = map(ibis.memtable, case)
    mining = MiningInputs(links, types, HardNegativeOptions(without="drop", **options))
    with_negative = duckdb_engine.to_pyarrow(negatives_module.have_negatives(pairs, mining, vocabulary)).to_pylist()
    expected = {(row["language"], row["page_id"], row["entity"]) for row in mine(duckdb_engine, case, **options)}
    assert {tuple(row.values()) for row in with_negative} == expected
    assert 0 < len(expected) < len(case[0])


@pytest.mark.slow
def test_one_type_is_drawn_for_each_entity(duckdb_engine: SQLBackend, tables: Any) -> None:
    """Without further types, all pairs of an entity have negatives of one type, which seeds choose alike."""
    # Each entity has two types of its own, of twelve members each: its first and its last numbers.
    entities, members = range(100, 4100, 100), range(23)
    types = [(entity + member, entity + (member > 11)) for entity in entities for member in members]
    types += [(entity, entity + 1) for entity in entities]
    places = [("en", entity + page, 0, entity) for entity in entities for page in range(50)]
    vocabulary = make_vocabulary(entity + member for entity in entities for member in members)
    links = tables.links((*place[:3], "T", place[3]) for place in places)
    case = (make_pairs(places), links, tables.entity_types(types), vocabulary)
    second_types: list[dict[int, bool]] = []
    for seed in range(2):
        negatives = defaultdict(set)
        for row in mine(duckdb_engine, case, further_types=False, seed=seed):
            negatives[row["entity"]].add(row["hard_negative"] - row["entity"])
        assert min(map(len, negatives.values())) > 5
        second_types.append({})
        for entity, members_drawn in negatives.items():
            (second_types[-1][entity],) = {member > 11 for member in members_drawn}
        assert 8 < sum(second_types[-1].values()) < len(entities) - 8
    assert 8 < sum(second_types[0][entity] != second_types[1][entity] for entity in entities) < len(entities) - 8


def test_types_and_members_are_equally_likely(duckdb_engine: SQLBackend, tables: Any) -> None:
    """Types are equally likely, and so are the admissible members of a type, even if they are few."""
    entities = range(1, 21)
    types = [(entity, 1) for entity in range(1, 13)] + [(entity, 2) for entity in [1, *range(13, 21)]]
    links = [("en", page, 0, "T", entity) for page in range(6000) for entity in [1, *range(2, 9)]]
    pairs = make_pairs(("en", page, 0, 1) for page in range(6000))
    case = (pairs, tables.links(links), tables.entity_types(types), make_vocabulary(entities))
    for limit in (0, 256):
        counts_by_entity = Counter(row["hard_negative"] for row in mine(duckdb_engine, case, exhaustive_limit=limit))
        assert set(counts_by_entity) == set(range(9, 21))
        of_types = [
            [counts_by_entity[entity] for entity in range(9, 13)],
            [counts_by_entity[entity] for entity in range(13, 21)],
        ]
        for counts in (list(map(sum, of_types)), *of_types):
            assert chisquare(counts).pvalue > 1e-4
