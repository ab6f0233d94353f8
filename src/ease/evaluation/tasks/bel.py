"""Biomedical entity linking: a mention has the concept of the nearest name (SapBERT; Mirror-BERT, Table 2).

The formats are those of SapBERT's evaluation data; names and mentions are lower-cased, as there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import Texts
from ease.evaluation.tasks.set_files import TableOptions, TableTask
from ease.io.text_tables import read_records, read_rows
from ease.similarity.encode import Encode
from ease.similarity.neighbours import hits_within, nearest_neighbours

logger = logging.getLogger(__name__)

WITHIN = {"accuracy_at_1": 1, "accuracy_at_5": 5}
CANDIDATES = max(WITHIN.values()) + 1
"""Nearest names searched: one more than needed, to see ties with the last."""

MARK = "||"
UNLINKED = "cui-less"
"""Concept of mentions that are not in the dictionary; such rows are skipped"""

TERM = "Term"
CONCEPT = "General SNOMED ID"


class Query(NamedTuple):
    """A mention, split into its parts if it is composite, and its concepts."""

    parts: tuple[str, ...]
    concepts: frozenset[str]


ConceptNames = dict[str, set[str]]
"""Concepts of each name"""


class Mentions(NamedTuple):
    """The dictionary of a set, the queries of all folds, and how many each fold has."""

    names: ConceptNames
    queries: list[Query]
    sizes: list[int]


class EntityLinking(TableTask):
    """Accuracy @1 and @5 of each set: the mean over the folds, with the standard deviation if there are several."""

    TYPE = "STS"
    METRICS = tuple(WITHIN)
    Options = TableOptions

    def read(self, subset: str, paths: tuple[Path, ...]) -> Mentions:
        """Read the dictionary and the mentions of a set: a folder of documents, a table, or folds of mentions."""
        names = read_names(paths[0])
        folds = [read_mentions(path) for path in paths[1:]]
        return Mentions(names, list(chain(*folds)), [len(fold) for fold in folds])

    def texts(self, data: Mentions) -> Mapping[str, Texts]:
        """Return the parts of each mention."""
        return {metric: [query.parts for query in data.queries] for metric in WITHIN}

    def score(self, encode: Encode, subset: str, data: Mentions) -> Iterator[Score]:
        """Search each mention's parts among the names by cosine; all parts must be found.

        A part is found if one of its nearest names shares a concept with the mention.
        """
        names, queries, sizes = data
        concepts = list(names.values())
        in_dictionary = set().union(*concepts)
        absent = sum(query.concepts.isdisjoint(in_dictionary) for query in queries)
        logger.info("%s %s: %d of %d mentions have concepts without a name", self.name, subset, absent, len(queries))
        # Parts that mentions share are encoded and searched once.
        part_rows: dict[str, int] = {}
        rows = []
        owners = []
        for number, query in enumerate(queries):
            for part in query.parts:
                rows.append(part_rows.setdefault(part, len(part_rows)))
                owners.append(number)
        neighbours = nearest_neighbours(
            encode(list(part_rows)), encode(list(names)), CANDIDATES, f"{self.name} {subset}"
        )
        right = [
            [not queries[number].concepts.isdisjoint(concepts[name]) for name in neighbours.rows[row]]
            for row, number in zip(rows, owners, strict=True)
        ]
        # The mean of folds of different sizes weights the mentions of each fold by its size.
        weights = np.repeat([len(queries) / size / len(sizes) for size in sizes], sizes)
        for metric, k in WITHIN.items():
            missed = np.array(owners)[~hits_within(neighbours.cosines[rows], np.array(right), k)]
            hits = ~np.isin(np.arange(len(queries)), missed)
            values = [float(np.mean(fold)) for fold in np.split(hits, np.cumsum(sizes)[:-1])]
            yield self.mean_result(subset, metric, values, items=mean_items(hits * weights, weights))


def read_names(path: Path) -> ConceptNames:
    """Read lines `concept||name`; several concepts are `one|other`, and a repeated name has those of all its lines."""
    names: ConceptNames = {}
    for place, (concept, name) in _fields(path, 2):
        if concepts := _linked(place, concept, name):
            names.setdefault(name.lower(), set()).update(concepts)
    if not names:
        raise EaseError(f"{path}: contains no name of a concept; fetch it again.")
    return names


def read_mentions(path: Path) -> list[Query]:
    """Read the mentions and their concepts of a folder of documents, a table or a file of a fold.

    A folder has documents, `*.concept` or `*.txt`, of lines `document||span||kind||mention||concept`. A table, `.csv`,
    has COMETA's columns, with tabs between. A fold has lines `concept||mention`. In the first and the last, the parts
    of a composite mention are joined by `|` or `+`, as are its concepts.
    """
    rows: Iterator[tuple[str, str, str]]
    composite = path.suffix != ".csv"
    if path.is_dir():
        documents = sorted([*path.glob("*.concept"), *path.glob("*.txt")])
        # Fields 4 and 5 are the mention and its concepts.
        rows = ((place, fields[3], fields[4]) for document in documents for place, fields in _fields(document, 5))
    elif composite:
        rows = ((place, mention, concept) for place, (concept, mention) in _fields(path, 2))
    else:
        records = read_records(path, (TERM, CONCEPT), "\t", quoted=True)
        rows = ((place, row[TERM], row[CONCEPT]) for place, row in records)
    queries = []
    for place, mention, concept in rows:
        if concepts := _linked(place, concept.replace("+", "|") if composite else concept, mention):
            queries.append(Query(_parts(mention.lower(), composite), concepts))
    if not queries:
        raise EaseError(f"{path}: contains no mention of a concept; fetch it again.")
    return queries


def _parts(text: str, composite: bool) -> tuple[str, ...]:
    """Split a composite mention into its parts."""
    if not composite:
        return (text,)
    parts = (part.strip() for part in text.replace("+", "|").split("|"))
    # "Ca2+" has an empty part; a mention of "+" and "|" only is not split.
    return tuple(filter(None, parts)) or (text,)


def _fields(path: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the fields of each line that is not blank."""
    for number, row in read_rows(path, MARK):
        place = f"{path}, line {number}"
        fields = [field.strip() for field in row]
        if fields not in ([], [""]):
            if len(fields) != count:
                raise EaseError(
                    f"{place}: {len(fields)} fields separated by {MARK} instead of {count}; is it another kind of file?"
                )
            yield place, fields


def _linked(place: str, concept: str, name: str) -> frozenset[str]:
    """Split the concept of a name into its parts; none if it is unlinked."""
    if concept.lower() == UNLINKED:
        return frozenset()
    concepts = frozenset(part.strip() for part in concept.split("|") if part.strip())
    if not concepts or not name:
        raise EaseError(f"{place}: the concept or the name is missing; fetch the file again.")
    return concepts
