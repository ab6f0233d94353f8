"""Mentions of biomedical concepts, and dictionaries of the concepts' names, in the forms of SapBERT's evaluation data.

Names and mentions are put into lower case, as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ease.errors import EaseError
from ease.io.text_tables import read_lines, read_records

MARK = "||"
UNLINKED = "cui-less"
"""Stands for the concept of a mention that the dictionary has no concept for: such rows are left out."""

TERM, CONCEPT = "Term", "General SNOMED ID"


class Query(NamedTuple):
    """What is looked up, one part or more of a composite mention, and the concepts that it stands for."""

    parts: tuple[str, ...]
    concepts: frozenset[str]


Names = dict[str, set[str]]
"""The concepts of each name."""


def read_names(path: Path) -> Names:
    """Read lines `concept||name`; the concept of several is `one|other`.

    A name that several lines give to several concepts is one name with all of them.

    Raises:
        EaseError: Naming the file, if it cannot be read or holds no name, or its line that is malformed.
    """
    names: Names = {}
    for place, (concept, name) in _fields(path, 2):
        concepts = _linked(place, concept)
        if concepts:
            names.setdefault(_text(place, name), set()).update(concepts)
    if not names:
        raise EaseError(f"{path}: holds no name of a concept; fetch it again.")
    return names


def read_documents(folder: Path) -> list[Query]:
    """Read a folder of `*.concept` (or `*.txt`) files, one a document: lines `document||span||kind||mention||concept`.

    A composite mention joins its parts by `|` or `+`, as its concept does.

    Raises:
        EaseError: Naming the folder, if it holds no such line, or the file and line that is malformed.
    """
    paths = sorted([*folder.glob("*.concept"), *folder.glob("*.txt")])
    rows = (row for path in paths for row in _fields(path, 5))
    return _queries(folder, ((place, fields[3], fields[4]) for place, fields in rows), composite=True)


def read_mentions(path: Path) -> list[Query]:
    """Read lines `concept||mention`, of which both may be composite.

    Raises:
        EaseError: Naming the file, if it cannot be read or holds no mention, or its line that is malformed.
    """
    return _queries(path, ((place, mention, concept) for place, (concept, mention) in _fields(path, 2)), True)


def read_cometa(path: Path) -> list[Query]:
    """Read COMETA's tab-separated form, its columns `Term` and `General SNOMED ID`.

    Raises:
        EaseError: Naming the file, if it lacks a column or holds no row, or its line that is malformed.
    """
    rows = read_records(path, (TERM, CONCEPT), "\t", quoted=True)
    return _queries(path, ((place, row[TERM], row[CONCEPT]) for place, row in rows), composite=False)


def _queries(source: Path, rows: Iterator[tuple[str, str, str]], composite: bool) -> list[Query]:
    """Turn rows of place, mention and concept into queries."""
    queries = []
    for place, mention, concept in rows:
        concepts = _linked(place, concept.replace("+", "|") if composite else concept)
        if concepts:
            text = _text(place, mention)
            split = [part.strip() for part in text.replace("+", "|").split("|")] if composite else [text]
            # "Ca2+" leaves an empty part behind; a mention of marks alone is looked up as it is.
            parts = tuple(part for part in split if part) or (text,)
            queries.append(Query(parts, concepts))
    if not queries:
        raise EaseError(f"{source}: holds no mention of a concept; fetch it again.")
    return queries


def _fields(path: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """The place and the fields of each line that is not empty."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        place, fields = f"{path}, line {number}", [field.strip() for field in line.split(MARK)]
        if len(fields) != count:
            raise EaseError(
                f"{place}: {len(fields)} fields with {MARK} between instead of {count}; is it another kind of file?"
            )
        yield place, fields


def _linked(place: str, concept: str) -> frozenset[str]:
    """Split a concept; empty where it stands for none."""
    if not concept.strip(" |"):
        raise EaseError(f"{place}: the concept is missing; fetch the file again.")
    if concept.lower() == UNLINKED:
        return frozenset()
    return frozenset(part.strip() for part in concept.split("|") if part.strip())


def _text(place: str, text: str) -> str:
    """Check that a name or mention is there."""
    if not text:
        raise EaseError(f"{place}: the name is missing; fetch the file again.")
    return text.lower()
