"""Belebele: the passage that answers a question, in 122 languages (Bandarkar et al., 2024).

The questions of a language are the queries, and all of its passages the documents, as in MTEB.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ease.errors import EaseError
from ease.evaluation.tasks import Encode, Files, Score, averages, score_subsets
from ease.evaluation.tasks.components.flores_languages import BELEBELE
from ease.evaluation.tasks.components.labelled_texts import read_objects
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.evaluation.tasks.components.relevance import METRIC, Relevance, collect_relevance, score_relevance

__all__ = ["KIND", "METRIC", "SOURCE", "Options", "evaluate", "files"]

TASK = "belebele"
KIND = "Retrieval"
SOURCE = (
    "https://huggingface.co/datasets/facebook/belebele: data/{acm_Arab,...,zul_Latn}.jsonl (CC BY-SA 4.0)"
)


class Options(SubsetOptions):
    """The folder of acm_Arab.jsonl to zul_Latn.jsonl, and the languages to score."""


def files(options: Options) -> Files:
    """One file per language."""
    return {code: (options.path / f"{code}.jsonl",) for code in options.chosen(BELEBELE)}


def read_questions(path: Path) -> Relevance:
    """Read JSON lines with the fields flores_passage and question, each row a question about its passage."""
    return collect_relevance(_rows(path), (), str(path))


def _rows(path: Path) -> Iterator[tuple[str, str, float]]:
    for place, row in read_objects(path, ("flores_passage", "question")):
        question, passage = (str(row[name] or "").strip() for name in ("question", "flores_passage"))
        if not question or not passage:
            raise EaseError(f"{place}: the question or the passage is blank; fetch the file again.")
        yield question, passage, 1.0


def evaluate(encode: Encode, options: Options) -> list[Score]:
    """Mean nDCG@10 of the questions of each language, and the mean over the languages."""
    scores = score_subsets(
        TASK,
        files(options),
        lambda code, paths: [score_relevance(encode, TASK, code, read_questions(*paths))],
    )
    return [*scores, *averages(scores, len(BELEBELE))]
