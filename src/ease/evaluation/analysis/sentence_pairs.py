"""The sentence pairs to analyse: those of evaluation tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from ease.errors import EaseError
from ease.evaluation.tasks import get_task, task_names
from ease.evaluation.tasks.components.graded_pairs import GradedPair


class ParallelSentences(NamedTuple):
    """Sentences of two languages, row i of one translating row i of the other."""

    languages: tuple[str, str]
    left: Sequence[str]
    right: Sequence[str]


def graded_pairs(task: str, options: BaseModel) -> dict[str, list[GradedPair]]:
    """Read the graded pairs of a task, by subset.

    Raises:
        EaseError: If the task has none, or its files are not what it reads.
    """
    pairs: dict[str, list[GradedPair]] = _reader(task, "read_pairs", "graded pairs")(options)
    return pairs


def distinct_sentences(pairs: Sequence[GradedPair]) -> list[str]:
    """Each sentence of the pairs once, in their order."""
    return list(dict.fromkeys(sentence for pair in pairs for sentence in (pair.left, pair.right)))


def parallel_sentences(task: str, options: BaseModel, subset: str) -> ParallelSentences:
    """Read the parallel sentences of a task in the two languages that a subset such as `ja-en` names.

    Raises:
        EaseError: If the task has none, or not in these languages.
    """
    left, right = _reader(task, "read_parallel", "parallel sentences")(options, subset)
    first, _, second = subset.rpartition("-")
    return ParallelSentences((first, second), left, right)


def _reader(task: str, function: str, what: str) -> Any:
    """The function of a task's module that reads what is analysed."""
    reader = getattr(get_task(task), function, None)
    if reader is None:
        having = [name for name in task_names() if hasattr(get_task(name), function)]
        raise EaseError(f"The task {task!r} has no {what}: choose from {', '.join(having)}.")
    return reader
