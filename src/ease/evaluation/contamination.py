"""Search for test texts in a table of training sentences with DuckDB or Spark, and the test items that contain them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.evaluation.scoring import TaskOptions, chosen_tasks, task_options
from ease.evaluation.tasks import Score, get_task
from ease.evaluation.text_fingerprints import ContaminationOptions, Match, TestIndex, best_matches
from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

SENTENCE = "sentence"
QUICK: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("seeds", "batch_sizes", "learning_rates", "strengths", "strengths_trec"), lambda given: given[:1]
    ),
    **dict.fromkeys(("n_init", "epochs"), lambda given: 1),
    "network": lambda given: None,
}
"""Values of options that make tasks fast; they change scores, but not items."""

DIMENSION = 4
"""Dimension of the random embeddings with which tasks are read."""


class TaskTexts(NamedTuple):
    """The texts of the items of a score, in order."""

    task: str
    subset: str
    metric: str
    texts: Sequence[tuple[str, ...]]


def read_task_texts(
    references: Sequence[str], options: TaskOptions
) -> tuple[list[TaskTexts], dict[str, str]]:
    """Read the texts of the tasks' items, by scoring random embeddings.

    Returns:
        The texts of each score, and for each task that cannot be read in this way the reason.
    """
    found, failed = [], {}
    for name, chosen in chosen_tasks(references, options).items():
        validated = task_options(name, {name: chosen})
        fields = type(validated).model_fields
        quick = {
            option: make(getattr(validated, option)) for option, make in QUICK.items() if option in fields
        }
        generator = np.random.default_rng(0)

        def encode(sentences: Sequence[str], generator: np.random.Generator = generator) -> np.ndarray:
            return generator.normal(size=(len(sentences), DIMENSION)).astype(np.float32)

        try:
            scores = get_task(name).evaluate(encode, validated.model_copy(update=quick))
        except EaseError as error:
            failed[name] = str(error)
            continue
        known = [score for score in scores if score.items is not None and score.items.texts is not None]
        found += [_texts_of(score) for score in known]
        if not known:
            failed[name] = "no item of this task contributes alone to its score"
    return found, failed


def _texts_of(score: Score) -> TaskTexts:
    assert score.items is not None
    assert score.items.texts is not None
    return TaskTexts(score.task, score.subset, score.metric, score.items.texts)


def find_matches(
    texts: Sequence[str], training: ir.Table, options: ContaminationOptions
) -> dict[str, tuple[Match, int]]:
    """Return the best match of each test text among training sentences, and the number of sentences that match it.

    The table's engine passes batches of sentences to a function that keeps those with a fingerprint of a test text.
    Only these are sent to this process and compared.

    Args:
        texts: Distinct test texts.
        training: A table of DuckDB or Spark with the column `sentence`.
        options: Thresholds for near duplicates.
    """
    index = TestIndex(texts, options)
    if not texts:
        return {}
    likely = training.select(SENTENCE).filter(_flag(index, training)(training[SENTENCE]))
    matches = best_matches(index, _batches(likely))
    return {index.texts[text]: match for text, match in matches.items()}


def _flag(index: TestIndex, table: ir.Table) -> Any:
    """Return a function for the table's engine that marks sentences with a fingerprint of a test text."""

    def flags(sentences: Sequence[str | None]) -> NDArray[np.bool_]:
        flagged: NDArray[np.bool_] = np.zeros(len(sentences), dtype=bool)
        found = index.candidates(sentences)
        flagged[[row for pairs in found.values() for row, _ in pairs]] = True
        return flagged

    options = {"name": ibis.util.gen_name("may_match"), "signature": (("string",), "boolean")}
    if table.get_backend().name == "duckdb":
        return ibis.udf.scalar.pyarrow(lambda column: pa.array(flags(column.to_pylist())), **options)
    # Spark passes single rows to functions of PyArrow, and batches to those of pandas.
    return ibis.udf.scalar.pandas(lambda column: pd.Series(flags(column.fillna("").tolist())), **options)


def _batches(table: ir.Table) -> Iterator[list[str | None]]:
    for batch in table.to_pyarrow_batches():
        yield batch.column(0).to_pylist()


def contaminated_items(texts: TaskTexts, matches: Mapping[str, tuple[Match, int]]) -> NDArray[np.bool_]:
    """Return which items have a text that is among the training sentences: (items,)."""
    return np.array([any(text in matches for text in item) for item in texts.texts], dtype=bool)
