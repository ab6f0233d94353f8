"""Names and first sentences of one item in two languages."""

from __future__ import annotations

from typing import Any

from ibis.backends.sql import SQLBackend

from ease.entities.translations import FIRST_SENTENCE, NAME, find_translations


def test_names_and_first_sentences_of_the_same_items_are_found(engine: SQLBackend, tables: Any) -> None:
    sitelinks = [
        (1, "csb", "Pòlskô"),
        (1, "en", "Poland"),
        (2, "csb", "Merkùri (planéta)"),
        (2, "en", "Mercury (planet)"),
        (3, "csb", "Berlin"),
        (3, "en", "Berlin"),
        (4, "csb", "Gduńsk"),
        (5, "en", "Paris"),
    ]
    sentences = [
        ("csb", 1, "Pòlskô", 0, "Pòlskô je państwã.", []),
        ("csb", 1, "Pòlskô", 1, "pòlsczi", ["Pòlskô"]),
        ("csb", 2, "Gduńsk", 0, "Gduńsk je gardã.", []),
        ("en", 1, "Poland", 0, "Poland is a country.", []),
        ("en", 1, "Poland", 1, "Its capital is Warsaw.", ["Poland"]),
    ]
    table = find_translations(
        engine.create_table("translated", tables.sentences(sentences), overwrite=True),
        engine.create_table("titles", tables.sitelinks(sitelinks), overwrite=True),
        "csb",
        "en",
    )
    rows = table.select("kind", "entity", "text", "translation").to_pyarrow().to_pylist()
    assert {tuple(row.values()) for row in rows} == {
        (NAME, 1, "Pòlskô", "Poland"),
        (NAME, 1, "pòlsczi", "Poland"),
        (NAME, 2, "Merkùri", "Mercury"),
        (FIRST_SENTENCE, 1, "Pòlskô je państwã.", "Poland is a country."),
    }
