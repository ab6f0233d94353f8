"""Your own queries with relevant documents, from files with columns (docs/own_data.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from ease.evaluation.tasks import Encode, Files, Score, available_subsets, averages
from ease.evaluation.tasks.components.graded_pairs import parse_gold
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.own_files import (
    OwnSet,
    read_own_rows,
    require_own,
    required,
    select_own,
)
from ease.evaluation.tasks.components.relevance import METRIC, Relevance, collect_relevance, score_relevance
from ease.io.models import StrictModel

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

TASK = "own_queries"
KIND = "Retrieval"
SOURCE = "nobody: the files are your own, and `tasks.own_queries.sets` names them"


class Columns(StrictModel):
    """Names of the columns."""

    query: str = Field("query", description="column of the query")
    document: str = Field("document", description="column of the document")
    gain: str | None = Field(
        None, description="column of the relevance, from 0 (not relevant); null: all are relevant"
    )


class QuerySet(OwnSet):
    """A file of queries, each in a row with one of its documents."""

    columns: Columns = Field(Columns(), description="names of the columns")
    documents: Path | None = Field(
        None, description="a file of further documents to search in, with the same column of documents"
    )

    def files(self, folder: Path) -> tuple[Path, ...]:
        """Return the file of queries and, if given, that of further documents."""
        return (*super().files(folder), *([folder / self.documents] if self.documents else []))


class Options(SubsetOptions):
    """The folder of the files, the sets to score, and the sets."""

    sets: dict[str, QuerySet] = Field({}, description="files of queries, by the names of the sets")


def files(options: Options) -> Files:
    """The queries and, if given, the further documents."""
    return select_own(options, options.sets, TASK)


def read_set(paths: tuple[Path, ...], chosen: QuerySet) -> Relevance:
    """Read queries with their documents, and the further documents.

    Raises:
        EaseError: If a column or a text is missing, a relevance is not a number, or no query has a relevant document.
    """
    path, *further = paths
    columns = chosen.columns.model_dump()
    others = (_documents(other, columns["document"]) for other in further)
    return collect_relevance(
        _judgements(path, columns), (document for own in others for document in own), str(path)
    )


def _judgements(path: Path, columns: dict[str, str | None]) -> Iterator[tuple[str, str, float]]:
    for place, row in read_own_rows(path, columns):
        query, document = required(place, row, columns, "query", "document")
        gain = 1.0
        if columns["gain"] is not None:
            (text,) = required(place, row, columns, "gain")
            gain = parse_gold(text, 0, float("inf"), f"{place}, column {columns['gain']!r}")
        yield query, document, gain


def _documents(path: Path, column: str | None) -> Iterator[str]:
    columns = {"document": column}
    for place, row in read_own_rows(path, columns):
        yield from required(place, row, columns, "document")


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Mean nDCG@10 of each set's queries, and the mean over the sets."""
    found = available_subsets(require_own(files(options), TASK))
    data = {name: read_set(paths, options.sets[name]) for name, paths in found.items()}
    scores = [score_relevance(encode, TASK, name, one) for name, one in data.items()]
    return [*scores, *averages(scores, len(options.chosen(options.sets)))]
