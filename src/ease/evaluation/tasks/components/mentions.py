"""Readers of mentions and names of biomedical concepts in the formats of SapBERT's evaluation data.

Names and mentions are lower-cased, as in SapBERT.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ease.errors import EaseError
from ease.io.text_tables import read_lines, read_records

MARK = "||"
UNLINKED = "cui-less"
"""Concept of mentions that are not in the dictionary; such rows are skipped."""

TERM, CONCEPT = "Term", "General SNOMED ID"


class Query(NamedTuple):
    """A mention, split into its parts if it is composite, and its concepts."""

    parts: tuple[str, ...]
    concepts: frozenset[str]


Names = dict[str, set[str]]
"""Concepts of each name."""


def read_names(path: Path) -> Names:
    """Read lines `concept||name`; several concepts are `one|other`, and a repeated name has those of all its lines."""
    names: Names = {}
    for place, (concept, name) in _fields(path, 2):
        concepts = _linked(place, concept)
        if concepts:
            names.setdefault(_text(place, name), set()).update(concepts)
    if not names:
        raise EaseError(f"{path}: contains no name of a concept; fetch it again.")
    return names


def read_documents(folder: Path) -> list[Query]:
    """Read a folder of documents, `*.concept` or `*.txt`, of lines `document||span||kind||mention||concept`.

    The parts of a composite mention are joined by `|` or `+`, as are its concepts.
    """
    paths = sorted([*folder.glob("*.concept"), *folder.glob("*.txt")])
    rows = (row for path in paths for row in _fields(path, 5))
    return _queries(folder, ((place, fields[3], fields[4]) for place, fields in rows), composite=True)


def read_mentions(path: Path) -> list[Query]:
    """Read lines `concept||mention`; both may be composite."""
    return _queries(path, ((place, mention, concept) for place, (concept, mention) in _fields(path, 2)), True)


def read_cometa(path: Path) -> list[Query]:
    """Read the columns `Term` and `General SNOMED ID` of COMETA's tab-separated files."""
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
            # "Ca2+" has an empty part; a mention of "+" and "|" only is not split.
            parts = tuple(part for part in split if part) or (text,)
            queries.append(Query(parts, concepts))
    if not queries:
        raise EaseError(f"{source}: contains no mention of a concept; fetch it again.")
    return queries


def _fields(path: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the fields of each line that is not blank."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        place, fields = f"{path}, line {number}", [field.strip() for field in line.split(MARK)]
        if len(fields) != count:
            raise EaseError(
                f"{place}: {len(fields)} fields separated by {MARK} instead of {count}; is it another kind of file?"
            )
        yield place, fields


def _linked(place: str, concept: str) -> frozenset[str]:
    """Split a concept into its parts; none if it is unlinked."""
    if not concept.strip(" |"):
        raise EaseError(f"{place}: the concept is missing; fetch the file again.")
    if concept.lower() == UNLINKED:
        return frozenset()
    return frozenset(part.strip() for part in concept.split("|") if part.strip())


def _text(place: str, text: str) -> str:
    """Return a name or mention in lower case, which must not be blank."""
    if not text:
        raise EaseError(f"{place}: the name is missing; fetch the file again.")
    return text.lower()
