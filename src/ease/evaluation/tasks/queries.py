"""Queries with relevant documents, scored by nDCG@10 of the documents' ranking by cosine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks.base import SubsetFiles, TaskOptions, Texts
from ease.evaluation.tasks.graded_pairs import parse_gold
from ease.evaluation.tasks.set_files import SetFiles, TableOptions, TableTask, read_fields, required
from ease.similarity.encode import Encode, encode_in_role
from ease.similarity.retrieval import ndcg

logger = logging.getLogger(__name__)

NDCG = "ndcg_at_10"


class Relevance(NamedTuple):
    """Distinct queries and documents, and the gain of each relevant document's row, for each query."""

    queries: list[str]
    documents: list[str]
    gains: list[dict[int, float]]


class QuerySet(SetFiles):
    """A file of queries, each in a row with one of its documents."""

    documents: str | None = Field(
        None, description="a file of further documents to search in, with the same column of documents"
    )


class QueryOptions(TableOptions, QuerySet):
    """Options of queries; the column `gain` is the relevance from 0 (none), and without it all are relevant."""

    sets: Mapping[str, QuerySet] = Field({}, description="sets by name, with what differs from the task's own files")


class Queries(TableTask):
    """Retrieval of documents."""

    TYPE = "Retrieval"
    METRICS = (NDCG,)
    Options: ClassVar[type[TaskOptions]] = QueryOptions
    options: Any

    def files(self) -> SubsetFiles:
        """Return the file of queries of each set and, if configured, that of further documents."""
        files = dict(super().files())
        for subset, paths in files.items():
            if further := self.options.form(subset).documents:
                files[subset] = (*paths, self.options.path / further)
        return files

    def read(self, subset: str, paths: tuple[Path, ...]) -> Relevance:
        """Number the distinct queries and documents; a query without a relevant document is skipped."""
        form = self.options.form(subset)
        further = paths[-1:] if form.documents else ()
        queries: dict[str, dict[int, float]] = {}
        documents: dict[str, int] = {}
        for place, row in self.rows(subset, paths[: len(paths) - len(further)]):
            query, document = required(place, row, "query", "document")
            gain = 1.0
            if "gain" in row:
                gain = parse_gold(required(place, row, "gain")[0], 0, float("inf"), place)
            gains = queries.setdefault(query, {})
            number = documents.setdefault(document, len(documents))
            # A repeated pair has its highest gain.
            gains[number] = max(gain, gains.get(number, 0.0))
        if further:
            for place, row in read_fields(further, {"document": form.columns["document"]}, form):
                documents.setdefault(required(place, row, "document")[0], len(documents))
        answerable = {query: gains for query, gains in queries.items() if any(gains.values())}
        if not answerable or len(documents) < 2:
            raise EaseError(
                f"{paths[0]}: {len(answerable)} queries with a relevant document among {len(documents)} documents, so "
                "there is nothing to rank; are these the right columns?"
            )
        if skipped := len(queries) - len(answerable):
            logger.info("%s: %d queries without a relevant document are skipped", paths[0], skipped)
        return Relevance(list(answerable), list(documents), list(answerable.values()))

    def texts(self, data: Relevance) -> Mapping[str, Texts]:
        """Return each query."""
        return {NDCG: [(query,) for query in data.queries]}

    def score(self, encode: Encode, subset: str, data: Relevance) -> Iterator[Score]:
        """Yield the mean nDCG@10 of the queries, in points; queries and documents have their own prompts."""
        queries = encode_in_role(encode, "query")(data.queries)
        documents = encode_in_role(encode, "passage")(data.documents)
        values = ndcg(queries, documents, data.gains)
        yield self.result(subset, NDCG, 100 * float(values.mean()), items=mean_items(values))
