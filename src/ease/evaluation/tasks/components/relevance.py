"""Queries with relevant documents, scored by nDCG@10 of the documents' ranking by cosine."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.ranking import ndcg
from ease.evaluation.tasks import Encode, Score, error_prefix
from ease.evaluation.tasks.components.prompted import encode_in_role

logger = logging.getLogger(__name__)

METRIC = "ndcg_at_10"


class Relevance(NamedTuple):
    """Distinct queries and documents, and the gain of each relevant document's row, for each query."""

    queries: list[str]
    documents: list[str]
    gains: list[dict[int, float]]


def collect_relevance(
    judgements: Iterable[tuple[str, str, float]], further: Iterable[str], place: str
) -> Relevance:
    """Number the distinct queries and documents; a query without a relevant document is skipped.

    Args:
        judgements: Queries, documents and gains; 0 is not relevant. Of a repeated judgement, the highest gain counts.
        further: Other documents to search in.
        place: The files, named in the error message.

    Raises:
        EaseError: If there are no two documents, or no query has a relevant one.
    """
    queries: dict[str, dict[int, float]] = {}
    documents: dict[str, int] = {}
    for query, document, gain in judgements:
        row = documents.setdefault(document, len(documents))
        own = queries.setdefault(query, {})
        own[row] = max(gain, own.get(row, 0.0))
    for document in further:
        documents.setdefault(document, len(documents))
    kept = {query: gains for query, gains in queries.items() if any(gains.values())}
    if not kept:
        raise EaseError(f"{place}: no query has a relevant document; is it the right column?")
    if len(documents) < 2:
        raise EaseError(f"{place}: {len(documents)} document, so there is nothing to rank; add documents.")
    if skipped := len(queries) - len(kept):
        logger.info("%s: %d queries without a relevant document are skipped", place, skipped)
    return Relevance(list(kept), list(documents), list(kept.values()))


def score_relevance(encode: Encode, task: str, subset: str, data: Relevance) -> Score:
    """Mean nDCG@10 of the queries, in points; queries and documents have their own prompts."""
    queries = encode_in_role(encode, "query")(data.queries)
    documents = encode_in_role(encode, "passage")(data.documents)
    with error_prefix(f"{task} {subset}"):
        values = ndcg(queries, documents, data.gains)
    value = 100 * float(values.mean())
    logger.info(
        "%s %s: nDCG@10 %.1f, %d queries, %d documents", task, subset, value, len(values), len(documents)
    )
    items = mean_items(values, [(query,) for query in data.queries])
    return Score(task, subset, METRIC, value, items=items)
