"""Sentence pairs of evaluation tasks for analyses, and measurements of several encoders on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel

from ease.errors import EaseError
from ease.evaluation.tasks import AVERAGE, Encode, error_prefix, get_task, task_names
from ease.evaluation.tasks.components.graded_pairs import GradedPair

Item = TypeVar("Item")
PRINTED = " (printed)"
"""Ending of the name of a model whose figures a paper prints"""
Encoders = Mapping[str, Encode]
"""Encoders by the names of their models."""
GradedSets = Mapping[str, Sequence[GradedPair]]
"""Graded pairs by subset, such as a language pair."""


class ParallelSentences(NamedTuple):
    """Sentences of two languages; row i of one is the translation of row i of the other."""

    languages: tuple[str, str]
    left: Sequence[str]
    right: Sequence[str]


def graded_pairs(task: str, options: BaseModel) -> GradedSets:
    """Read the graded pairs of a task."""
    pairs: GradedSets = _reader(task, "read_pairs", "graded pairs")(options)
    return pairs


def distinct_sentences(pairs: Sequence[GradedPair]) -> list[str]:
    """Return each sentence of the pairs once, in order."""
    return list(dict.fromkeys(sentence for pair in pairs for sentence in (pair.left, pair.right)))


def parallel_sentences(task: str, options: BaseModel, subset: str) -> ParallelSentences:
    """Read the parallel sentences of a task in the two languages that a subset such as `ja-en` names."""
    left, right = _reader(task, "read_parallel", "parallel sentences")(options, subset)
    first, _, second = subset.rpartition("-")
    return ParallelSentences((first, second), left, right)


def _reader(task: str, function: str, what: str) -> Any:
    """Return a reading function of a task's module."""
    reader = getattr(get_task(task), function, None)
    if reader is None:
        others = [name for name in task_names() if hasattr(get_task(name), function)]
        raise EaseError(f"The task {task!r} has no {what}: choose from {', '.join(others)}.")
    return reader


def sample(items: Sequence[Item], count: int, generator: np.random.Generator) -> list[Item]:
    """Draw `count` items without replacement, in their order; all if there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[row] for row in np.sort(generator.choice(len(items), count, replace=False))]


def check_printed(printed: Mapping[str, Sequence[float]], count: int) -> None:
    """Refuse a paper's figures of a model that are not one for each of `count` rows."""
    for model, figures in printed.items():
        if len(figures) != count:
            raise EaseError(
                f"`printed` has {len(figures)} figures of {model} for {count} rows: give one for each."
            )


def measure_subsets(
    encoders: Encoders,
    sets: GradedSets,
    measure: Callable[[Encode, Sequence[GradedPair]], dict[str, float]],
) -> pd.DataFrame:
    """Measure each encoder on each subset, and average the subsets if there are several.

    Args:
        encoders: Encoders to compare.
        sets: Pairs by subset.
        measure: Returns measurements by their names; floats are averaged over subsets, integers are summed.

    Returns:
        The columns `model`, `subset` and the names of the measurements.

    Raises:
        EaseError: With the model and the subset that cannot be measured.
    """
    rows: list[dict[str, Any]] = []
    for model, encode in encoders.items():
        own = []
        for subset, pairs in sets.items():
            with error_prefix(f"{model}, {subset}"):
                own.append(measure(encode, pairs))
            rows.append({"model": model, "subset": subset, **own[-1]})
        if len(own) > 1:
            table = pd.DataFrame(own)
            whole = table.select_dtypes("integer")
            rows.append(
                {"model": model, "subset": AVERAGE, **table.drop(columns=whole).mean(), **whole.sum()}
            )
    return pd.DataFrame(rows)
