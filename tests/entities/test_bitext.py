"""Candidates for parallel sentences: shared entities, pages about one item, limits, and pairs of languages."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.bitext import CandidateOptions, find_candidates, language_pairs, number_sentences
from ease.errors import EaseError

OPTIONS = CandidateOptions(min_characters=3, max_characters=40)

SENTENCES: list[tuple[str, int, str, int, str, list[str]]] = [
    ("en", 7, "Berlin", 0, "Berlin is a city.", []),
    ("en", 7, "Berlin", 1, "It is on the Spree.", []),
    ("en", 7, "Berlin", 2, "No", []),
    ("en", 9, "Spree", 0, "The Spree is a river.", []),
    ("de", 1, "Berlin", 0, "Berlin ist eine Stadt.", []),
    ("de", 2, "Havel", 0, "Die Spree ist ein Nebenfluss.", []),
    ("de", 2, "Havel", 1, "x" * 41, []),
    ("ja", 5, "ベルリン", 0, "ベルリンは都市である。", []),
]
SITELINKS = [
    (64, "en", "Berlin"),
    (64, "de", "Berlin"),
    (64, "ja", "ベルリン"),
    (1, "en", "Spree"),
    (2, "de", "Havel"),
]
LINKS = [
    ("en", 7, 1, "Spree", 1),
    ("en", 7, 0, "Germany", 183),
    ("en", 7, 0, "Germany", 183),
    ("de", 2, 0, "Spree", 1),
    ("de", 1, 0, "Deutschland", 183),
    ("de", 2, 1, "Spree", 1),
    ("ja", 5, 0, "ドイツ", 183),
]


def stored(engine: SQLBackend, *tables: pa.Table) -> list[ibis.Table]:
    return [engine.create_table(ibis.util.gen_name("given"), ibis.memtable(table)) for table in tables]


def found(
    engine: SQLBackend, tables: Any, options: CandidateOptions, sentences: Any = SENTENCES, links: Any = LINKS
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    given = stored(engine, tables.sentences(sentences), tables.sitelinks(SITELINKS), tables.links(links))
    pairs = language_pairs(["en", "de", "ja"], options)
    numbered = number_sentences(given[0], given[1], pairs, options)
    candidates = find_candidates(numbered, given[2], pairs, options)
    rows = candidates.to_pyarrow().to_pylist()
    return numbered.to_pyarrow().to_pylist(), [tuple(row.values()) for row in rows]


def test_sentences_are_numbered_and_candidates_share_an_entity_or_the_item_of_their_pages(
    duckdb_engine: SQLBackend, tables: Any
) -> None:
    numbered, candidates = found(duckdb_engine, tables, OPTIONS)
    places = [
        (row["language"], row["row"], row["page_id"], row["sentence_index"], row["entity"])
        for row in numbered
    ]
    assert places == [
        ("de", 0, 1, 0, 64),
        ("de", 1, 2, 0, 2),
        ("en", 0, 7, 0, 64),
        ("en", 1, 7, 1, 64),
        ("en", 2, 9, 0, 1),
        ("ja", 0, 5, 0, 64),
    ]
    assert candidates == [
        ("en", "de", 0, 0),  # one page and one entity, once
        ("en", "de", 1, 0),  # the item of their pages
        ("en", "de", 1, 1),  # the entity of two links
        ("en", "ja", 0, 0),
        ("en", "ja", 1, 0),
    ]


def test_candidates_of_a_random_wiki_are_those_of_a_comparison_of_all_pairs(
    engine: SQLBackend, tables: Any
) -> None:
    rng = random.Random(3)
    sentences: list[tuple[str, int, str, int, str, list[str]]] = []
    sitelinks, links = [], []
    for language in ("en", "de", "fr"):
        for page in range(20):
            sitelinks.append((page % 12 + 100, language, f"{page}"))
            for index in range(rng.randint(1, 4)):
                sentences.append((language, page, f"{page}", index, "four" * rng.randint(1, 4), []))
                links += [(language, page, index, "t", rng.randint(1, 30)) for _ in range(rng.randint(0, 3))]
    options = CandidateOptions(pivot=None, min_characters=5, max_sentences_per_entity=8)
    given = stored(engine, tables.sentences(sentences), tables.sitelinks(sitelinks), tables.links(links))
    pairs = language_pairs(["en", "de", "fr"], options)
    numbered = number_sentences(given[0], given[1], pairs, options)
    found = {
        tuple(row.values())
        for row in find_candidates(numbered, given[2], pairs, options).to_pyarrow().to_pylist()
    }
    rows = numbered.to_pyarrow().to_pylist()
    linked = {
        (row["language"], row["row"]): {
            link[4] for link in links if link[:3] == (row["language"], row["page_id"], row["sentence_index"])
        }
        for row in rows
    }
    counts = {
        (language, entity): sum(entity in own for (other, _), own in linked.items() if other == language)
        for language in ("en", "de", "fr")
        for entity in range(31)
    }
    expected = set()
    for one, other in combinations(sorted(rows, key=lambda row: row["language"]), 2):
        if one["language"] == other["language"]:
            continue
        keys = [(row["language"], row["row"]) for row in (one, other)]
        shared = linked[keys[0]] & linked[keys[1]]
        rare = any(counts[keys[0][0], e] <= 8 and counts[keys[1][0], e] <= 8 for e in shared)
        if rare or one["entity"] == other["entity"]:
            expected.add((keys[0][0], keys[1][0], keys[0][1], keys[1][1]))
    assert found == expected
    assert len(found) > 100


def test_languages_that_the_setting_lacks_and_a_single_language_are_refused() -> None:
    with pytest.raises(EaseError, match="`mine_bitext` names xx, but the setting's languages are en, de"):
        language_pairs(["en", "de"], CandidateOptions(languages=("xx", "de")))
    with pytest.raises(EaseError, match="names en, but the setting's languages are de, fr: choose `pivot`"):
        language_pairs(["de", "fr"], CandidateOptions())
    with pytest.raises(EaseError, match="two languages, and there is only en: name more"):
        language_pairs(["en"], CandidateOptions())
    assert language_pairs(["fr", "en", "de"], CandidateOptions()) == [("en", "de"), ("en", "fr")]
