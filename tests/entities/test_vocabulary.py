"""The vocabulary has the entities above the threshold, numbered and labelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis.backends.sql import SQLBackend

from ease.entities.vocabulary import VocabularyOptions, build_vocabulary


def link(language: str, entity: int, times: int, title: str = "T") -> list[tuple[str, int, int, str, int]]:
    """Make links to an entity."""
    return [(language, number, 0, title, entity) for number in range(times)]


@pytest.fixture
def vocabulary(saved: Any) -> Callable[..., list[tuple[Any, ...]]]:
    """Build a vocabulary on an engine, and return its ordered rows."""

    def build(
        engine: SQLBackend, links: Any, sitelinks: Any, languages: list[str], **options: Any
    ) -> list[tuple[Any, ...]]:
        sitelinks = None if sitelinks is None else ibis.memtable(sitelinks)
        built = build_vocabulary(ibis.memtable(links), sitelinks, VocabularyOptions(**options), languages)
        stored = saved(engine, built)
        assert stored.column_names == ["row", "entity", "label", "link_count"]
        assert [str(kind) for kind in stored.schema.types] == ["int64", "int64", "string", "int64"]
        return [tuple(row.values()) for row in stored.to_pylist()]

    return build


def test_more_than_ten_links_over_all_languages(
    duckdb_engine: SQLBackend, tables: Any, vocabulary: Any
) -> None:
    links = link("en", 30, 10) + link("en", 20, 11) + link("ja", 7, 6) + link("en", 7, 5) + link("ja", 9, 10)
    sitelinks = [
        (20, "ja", "に"),
        (20, "en", "Two"),
        (7, "pt", "Sete"),
        (7, "ja", "なな"),
        (99, "en", "Unlinked"),
    ]
    assert vocabulary(
        duckdb_engine, tables.links(links), tables.sitelinks(sitelinks), ["pt", "ja", "en"]
    ) == [
        (0, 7, "Sete", 11),
        (1, 20, "Two", 11),
    ]


def test_labels_follow_the_order_of_the_languages(
    duckdb_engine: SQLBackend, tables: Any, vocabulary: Any
) -> None:
    links = tables.links(link("en", 7, 1))
    sitelinks = tables.sitelinks([(7, "ja", "なな"), (7, "pt", "Sete"), (7, "sv", "Sju")])
    for languages, label in ((["ja", "pt"], "なな"), (["pt", "ja"], "Sete"), (["sv"], "Sju")):
        assert vocabulary(duckdb_engine, links, sitelinks, languages, min_link_count=0) == [(0, 7, label, 1)]
