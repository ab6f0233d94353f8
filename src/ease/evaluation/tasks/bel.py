"""Biomedical entity linking: a mention has the concept of the nearest name (SapBERT; Mirror-BERT, Table 2).

The formats are those of SapBERT's evaluation data; names and mentions are lower-cased, as there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ease.errors import EaseError
from ease.evaluation.encodes import Encode
from ease.evaluation.items import mean_items
from ease.evaluation.search import Flags, hits_within, nearest_neighbours
from ease.evaluation.tasks import Score, SubsetTask, Texts, repeated_score
from ease.evaluation.tasks.set_files import TableOptions, TableTask
from ease.io.text_tables import read_lines, read_records

logger = logging.getLogger(__name__)

WITHIN = {"accuracy_at_1": 1, "accuracy_at_5": 5}
CANDIDATES = max(WITHIN.values()) + 1
"""Nearest names searched: one more than needed, to see ties with the last."""

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


class Mentions(NamedTuple):
    """The dictionary of a set, and the queries of each fold."""

    names: Names
    folds: list[list[Query]]

    @property
    def queries(self) -> list[Query]:
        """The queries of all folds."""
        return [query for fold in self.folds for query in fold]


class EntityLinking(SubsetTask, TableTask):
    """Accuracy @1 and @5 of each set: the mean over the folds, with the standard deviation if there are several."""

    KIND, METRICS, Options = "STS", tuple(WITHIN), TableOptions

    def read(self, options: TableOptions, subset: str, paths: tuple[Path, ...]) -> Mentions:
        """Read the dictionary and the mentions of a set: a folder of documents, a table, or folds of mentions."""
        return Mentions(read_names(paths[0]), [_reader(path)(path) for path in paths[1:]])

    def texts(self, options: TableOptions, data: Mentions) -> Mapping[str, Texts]:
        """Return the parts of each mention."""
        return {metric: [query.parts for query in data.queries] for metric in WITHIN}

    def score(self, encode: Encode, options: TableOptions, subset: str, data: Mentions) -> Iterator[Score]:
        """Score a set."""
        queries, folds = data.queries, data.folds
        known = set().union(*data.names.values())
        absent = sum(query.concepts.isdisjoint(known) for query in queries)
        logger.info(
            "%s %s: %d of %d mentions have concepts without a name", self.name, subset, absent, len(queries)
        )
        found = link(encode, data.names, queries, f"{self.name} {subset}")
        ends = np.cumsum([len(fold) for fold in folds])[:-1]
        # The mean of folds of different sizes weights the mentions of each fold by its size.
        weights = np.concatenate(
            [np.full(len(fold), len(queries) / len(fold) / len(folds)) for fold in folds]
        )
        for metric, hits in found.items():
            values = [float(np.mean(fold)) for fold in np.split(hits, ends)]
            yield repeated_score(self.name, subset, metric, values, items=mean_items(hits * weights, weights))


TASK = EntityLinking


def _reader(path: Path) -> Callable[[Path], list[Query]]:
    if path.is_dir():
        return read_documents
    return read_cometa if path.suffix == ".csv" else read_mentions


def link(encode: Encode, names: Names, queries: list[Query], progress: str = "") -> dict[str, Flags]:
    """Search each query's parts among the names by cosine: whether all parts were found, (queries,), by metric.

    A part is found if one of its nearest names shares a concept with the query.
    """
    parts = list(dict.fromkeys(part for query in queries for part in query.parts))
    near = nearest_neighbours(encode(parts), encode(list(names)), CANDIDATES, progress=progress)
    rows = {part: row for row, part in enumerate(parts)}
    concepts = list(names.values())
    looked_up = [(rows[part], number) for number, query in enumerate(queries) for part in query.parts]
    cosines = near.cosines[[row for row, _ in looked_up]]
    right = np.array(
        [
            [not queries[number].concepts.isdisjoint(concepts[name]) for name in near.rows[row]]
            for row, number in looked_up
        ]
    )
    owners = np.array([number for _, number in looked_up])
    found = {}
    for metric, k in WITHIN.items():
        missed = owners[~hits_within(cosines, right, k)]
        found[metric] = ~np.isin(np.arange(len(queries)), missed)
    return found


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
