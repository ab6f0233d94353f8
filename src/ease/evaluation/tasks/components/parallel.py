"""Retrieval of translations in parallel texts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from ease.errors import EaseError
from ease.evaluation.items import mean_items
from ease.evaluation.retrieval import ParallelHits, parallel_hits
from ease.evaluation.tasks import Encode, Score, error_prefix

METRIC = "retrieval_accuracy"


class Sides(NamedTuple):
    """Sentences of two languages; row i of one is the translation of row i of the other."""

    left: list[str]
    right: list[str]


def distinct_pairs(rows: Iterable[tuple[str, str]], most: int | None, place: str) -> Sides:
    """Return the first pairs whose sentences are neither blank nor repeated: a repeated sentence would tie with itself.

    Args:
        rows: Pairs of sentences, read no further than necessary.
        most: Maximum number of pairs; None for all.
        place: The files, named in the error message.
    """
    pairs = list(islice(_distinct(rows), most))
    if len(pairs) < 2:
        raise EaseError(
            f"{place}: {len(pairs)} distinct pair(s) of sentences, and retrieval needs 2; give others."
        )
    left, right = zip(*pairs, strict=True)
    return Sides(list(left), list(right))


def _distinct(rows: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    seen: tuple[set[str], set[str]] = set(), set()
    for row in rows:
        pair = row[0].strip(), row[1].strip()
        if all(pair) and not any(text in texts for text, texts in zip(pair, seen, strict=True)):
            for text, texts in zip(pair, seen, strict=True):
                texts.add(text)
            yield pair


def score_retrieval(encode: Encode, task: str, subset: str, sides: Sides) -> Score:
    """Score the retrieval of each sentence's translation by cosine, averaged over both directions, in points."""
    embeddings = encode([*sides.left, *sides.right])
    count = len(sides.left)
    with error_prefix(f"{task} {subset}"):
        return score_hits(task, subset, parallel_hits(embeddings[:count], embeddings[count:]), sides)


def score_hits(task: str, subset: str, hits: ParallelHits, sides: Sides) -> Score:
    """Return the share of sentences, in points, whose translation was found, averaged over both directions."""
    items = mean_items(hits.average, list(zip(sides.left, sides.right, strict=True)))
    return Score(task, subset, METRIC, 100 * hits.accuracy.average, items=items)
