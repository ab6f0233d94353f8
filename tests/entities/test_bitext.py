"""Candidates for parallel sentences: shared entities, pages about one item, limits, and pairs of languages."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import ibis
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.bitext import CandidateOptions, candidate_pairs, language_pairs, number_sentences
from ease.errors import EaseError


def test_candidates_of_a_random_wiki_are_those_of_comparing_all_pairs(duckdb_engine: SQLBackend, tables: Any) -> None:
    rng = random.Random(3)
    sentences: list[tuple[str, int, str, int, str, list[str]]] = []
    sitelinks, links = [], []
    for language in ("en", "de", "fr"):
        for page in range(20):
            sitelinks.append((page % 12 + 100, language, f"{page}"))
            for index in range(rng.randint(1, 4)):
                sentences.append((language, page, f"{page}", index, "four" * rng.randint(1, 4), []))
                links += [(language, page, index, "t", rng.randint(1, 30)) for _ in range(rng.randint(0, 3))]
    options = CandidateOptions(min_characters=5, max_sentences_per_entity=8)
    pairs = language_pairs(["en", "de", "fr"], options)
    stored = [
        duckdb_engine.create_table(ibis.util.gen_name("given"), ibis.memtable(table))
        for table in (tables.sentences(sentences), tables.sitelinks(sitelinks), tables.links(links))
    ]
    numbered = number_sentences(stored[0], stored[1], pairs, options)
    candidates = candidate_pairs(numbered, stored[2], pairs, options).to_pyarrow().to_pylist()
    actual = {tuple(row.values()) for row in candidates}
    rows = {(row["language"], row["row"]): row for row in numbered.to_pyarrow().to_pylist()}
    linked = {
        key: {link[4] for link in links if link[:3] == (key[0], row["page_id"], row["sentence_index"])}
        for key, row in rows.items()
    }
    counts = Counter((language, entity) for (language, _), entities in linked.items() for entity in entities)
    expected = set()
    for left, right in product(rows, rows):
        if left[0] == "en" != right[0]:
            shared = linked[left] & linked[right]
            rare = any(counts["en", entity] <= 8 and counts[right[0], entity] <= 8 for entity in shared)
            if rare or rows[left]["entity"] == rows[right]["entity"]:
                expected.add((left[0], right[0], left[1], right[1]))
    assert actual == expected
    assert len(actual) > 100


def test_languages_that_the_setting_lacks_and_a_single_language_are_refused() -> None:
    with pytest.raises(EaseError, match="`mine_bitext` names xx, but the setting's languages are en, de"):
        language_pairs(["en", "de"], CandidateOptions(languages=("xx", "de")))
    with pytest.raises(EaseError, match="names en, but the setting's languages are de, fr: choose `pivot`"):
        language_pairs(["de", "fr"], CandidateOptions())
    with pytest.raises(EaseError, match="two languages, and there is only en: name more"):
        language_pairs(["en"], CandidateOptions())
    assert language_pairs(["fr", "en", "de"], CandidateOptions()) == [("en", "de"), ("en", "fr")]
