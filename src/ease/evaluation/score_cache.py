"""Scores kept on disk, so that a stopped evaluation resumes after its last complete task.

Parquet files beside them have the contributions of the items and the resampled scores, one row per score, so that
encoders can later be compared on the same items.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ease
from ease.evaluation.items import Items
from ease.evaluation.resampling import Resampled, with_intervals
from ease.evaluation.scores import Score
from ease.io.atomic import atomic_path, write_text_atomically
from ease.io.files import report_write_errors
from ease.io.locks import writing

SCORES_VERSION = 3
"""Raise it if the same embeddings now give other scores: every task is scored again."""

ITEMS_SCHEMA = pa.schema(
    [
        ("subset", pa.string()),
        ("metric", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.list_(pa.struct([("name", pa.string()), ("values", pa.list_(pa.float64()))]))),
        ("resampled", pa.list_(pa.float32())),
    ]
)
"""`kind` and `columns` are those of `Items`, empty for averages; `resampled` is in points."""


def scoring_version() -> str:
    """Return the version of the code behind a score: the package's and `SCORES_VERSION`, such as `0.1.0+1`."""
    return f"{ease.__version__}+{SCORES_VERSION}"


def cached_scores(
    folder: Path | None, task: str, depends_on: Any, compute: Callable[[], Sequence[Score]]
) -> list[Score]:
    """Return a model's scores on a task with their intervals; compute them only if the model's folder lacks them.

    The cache key is `scoring_version()` and `depends_on`: the task's options, versions of its data and the like, as
    JSON. Without a folder, the scores are always computed.
    """
    if folder is None:
        return with_intervals(compute())[0]
    items = items_file(folder, task, depends_on)
    file = items.with_name(items.name.replace(".items.parquet", ".json"))
    if file.is_file() and items.is_file():
        return [Score(**fields) for fields in json.loads(file.read_text(encoding="utf-8"))]
    scores, resampled = with_intervals(compute())
    with writing(folder), report_write_errors(file):  # another run may have scored the same encoder
        write_items(items, scores, resampled)
        write_text_atomically(file, json.dumps([score.row() for score in scores], indent=2))
    return scores


def items_file(folder: Path, task: str, depends_on: Any) -> Path:
    """Return the file of the items of a task's scores."""
    key = hashlib.sha256(json.dumps([scoring_version(), depends_on], sort_keys=True).encode()).hexdigest()[:16]
    return folder / f"{task}-{key}.items.parquet"


def write_items(file: Path, scores: Sequence[Score], resampled: Mapping[int, Resampled]) -> None:
    """Write the items of scores, and the resampled scores by the position of the score."""
    rows = []
    for position, score in enumerate(scores):
        row: dict[str, Any] = {"subset": score.subset, "metric": score.metric, "kind": None, "columns": []}
        if score.items is not None and len(score.items):
            row["kind"] = score.items.kind
            row["columns"] = [{"name": name, "values": values} for name, values in score.items.columns.items()]
        rows.append({**row, "resampled": resampled.get(position)})
    with atomic_path(file) as aside:
        pq.write_table(pa.Table.from_pylist(rows, ITEMS_SCHEMA), aside, compression="zstd")


def read_items(file: Path) -> dict[tuple[str, str], Items]:
    """Read the items of the scores that have some, by subset and metric."""
    items = {}
    for subset, metric, kind, columns in _rows(file, "kind", "columns"):
        if kind.is_valid:
            values = {
                column["name"].as_py(): column["values"].values.to_numpy(zero_copy_only=False) for column in columns
            }
            items[subset.as_py(), metric.as_py()] = Items(kind.as_py(), values)
    return items


def read_resampled(file: Path) -> dict[tuple[str, str], Resampled]:
    """Read the resampled scores by subset and metric."""
    return {
        (subset.as_py(), metric.as_py()): scores.values.to_numpy()
        for subset, metric, scores in _rows(file, "resampled")
        if scores.is_valid
    }


def _rows(file: Path, *columns: str) -> list[Any]:
    return list(zip(*pq.ParquetFile(file).read(columns=["subset", "metric", *columns]).columns, strict=True))
