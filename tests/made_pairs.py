"""A file of pairs in the form in which the authors of EASE released theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CITIES = {
    f"{first}{last}": kind
    for first in ("North", "South", "East", "West", "New", "Old")
    for last, kind in (("ham", "town"), ("bury", "town"), ("mere", "lake"), ("water", "lake"), ("fell", "peak"))
}
"""Entities and their types."""


def make_records(rows: int = 240) -> list[dict[str, Any]]:
    """Return pairs of a sentence, its entity and others of its type; two titles have spaces."""
    titles = [title.replace("New", "New ") for title in CITIES]
    kinds = dict(zip(titles, CITIES.values(), strict=True))
    records = []
    for row in range(rows):
        title = titles[row % len(titles)]
        others = [other for other in titles if kinds[other] == kinds[title] and other != title]
        records.append(
            {
                "text": f"The {kinds[title]} {title} was first described in {1500 + row} by Émile.",
                "positive_entity": title,
                "negative_entity": [*others[row % 3 : row % 3 + 4], f"Other {kinds[title]}"],
                "origin_entity": "a field that nobody reads",
            }
        )
    return records


def write_array(file: Path, records: list[dict[str, Any]]) -> Path:
    """Write the records as one JSON array."""
    file.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return file


def write_lines(file: Path, records: list[dict[str, Any]]) -> Path:
    """Write the records as JSON lines."""
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return file


def write_vectors(file: Path, titles: list[str], dimension: int) -> None:
    """Write Wikipedia2Vec's text form: a header, words, and entities with underscores."""
    numbers = " ".join(["0.25"] * dimension)
    names = ["the", "described", *(f"ENTITY/{title.replace(' ', '_')}" for title in titles)]
    lines = [f"{len(names)} {dimension}", *(f"{name} {numbers}" for name in names)]
    file.write_text("\n".join(lines), encoding="utf-8")
