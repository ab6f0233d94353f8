"""Queries with relevant documents, scored by nDCG@10 of the documents' ranking by cosine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.tasks import Files, Score, TaskOptions, Texts
from ease.evaluation.tasks.graded_pairs import parse_gold
from ease.evaluation.tasks.set_files import SetFiles, TableOptions, TableTask, read_fields, required
from ease.similarity.encode import Encode, encode_in_role
from ease.similarity.retrieval import ndcg

logger = logging.getLogger(__name__)

METRIC = "ndcg_at_10"


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

    KIND, METRICS = "Retrieval", (METRIC,)
    Options: ClassVar[type[TaskOptions]] = QueryOptions

    def files(self, options: Any) -> Files:
        """Return the file of queries of each set and, if given, that of further documents."""
        found = dict(super().files(options))
        for subset, paths in found.items():
            if further := options.form(subset).documents:
                found[subset] = (*paths, options.path / further)
        return found

    def read(self, options: Any, subset: str, paths: tuple[Path, ...]) -> Relevance:
        """Number the distinct queries and documents; a query without a relevant document is skipped."""
        form = options.form(subset)
        further = paths[-1:] if form.documents else ()
        queries: dict[str, dict[int, float]] = {}
        documents: dict[str, int] = {}
        for place, row in self.rows(options, subset, paths[: len(paths) - len(further)]):
            query, document = required(place, row, "query", "document")
            gain = 1.0
            if "gain" in row:
                gain = parse_gold(required(place, row, "gain")[0], 0, float("inf"), place)
            own = queries.setdefault(query, {})
            number = documents.setdefault(document, len(documents))
            own[number] = max(gain, own.get(number, 0.0))
        if further:
            for place, row in read_fields(further, {"document": form.columns["document"]}, form):
                documents.setdefault(required(place, row, "document")[0], len(documents))
        kept = {query: gains for query, gains in queries.items() if any(gains.values())}
        if not kept or len(documents) < 2:
            raise EaseError(
                f"{paths[0]}: {len(kept)} queries with a relevant document among {len(documents)} documents, so there "
                "is nothing to rank; are these the right columns?"
            )
        if skipped := len(queries) - len(kept):
            logger.info("%s: %d queries without a relevant document are skipped", paths[0], skipped)
        return Relevance(list(kept), list(documents), list(kept.values()))

    def texts(self, options: Any, data: Relevance) -> Mapping[str, Texts]:
        """Return each query."""
        return {METRIC: [(query,) for query in data.queries]}

    def score(self, encode: Encode, options: Any, subset: str, data: Relevance) -> Iterator[Score]:
        """Mean nDCG@10 of the queries, in points; queries and documents have their own prompts."""
        queries = encode_in_role(encode, "query")(data.queries)
        documents = encode_in_role(encode, "passage")(data.documents)
        values = ndcg(queries, documents, data.gains)
        yield Score(self.name, subset, METRIC, 100 * float(values.mean()), items=mean_items(values))
