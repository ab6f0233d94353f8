"""Parquet files of the items of a task's scores and of their resampled scores, one row per score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ease.errors import EaseError
from ease.evaluation.items import Items
from ease.evaluation.resampling import Resampled
from ease.evaluation.tasks import Score
from ease.io.atomic import atomic_path

SCHEMA = pa.schema(
    [
        ("subset", pa.string()),
        ("metric", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.list_(pa.struct([("name", pa.string()), ("values", pa.list_(pa.float64()))]))),
        ("resampled", pa.list_(pa.float32())),
    ]
)
"""`kind` and `columns` are those of `Items`, empty for averages; `resampled` is in points."""


class Kept(NamedTuple):
    """The items and the resampled scores of a score; either may be missing."""

    items: Items | None
    resampled: Resampled | None


def write_items(file: Path, scores: Sequence[Score], resampled: Mapping[int, Resampled]) -> None:
    """Write the items of scores, and the resampled scores by the position of the score."""
    rows = [
        {
            "subset": score.subset,
            "metric": score.metric,
            "kind": score.items.kind if score.items else None,
            "columns": [
                {"name": name, "values": values}
                for name, values in (score.items.columns.items() if score.items else ())
            ],
            "resampled": resampled.get(position),
        }
        for position, score in enumerate(scores)
    ]
    with atomic_path(file) as aside:
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), aside, compression="zstd")


def read_items(file: Path) -> dict[tuple[str, str], Kept]:
    """Read the items and resampled scores of each score, by subset and metric.

    Raises:
        EaseError: If the file is not such a file.
    """
    table = _read(file)
    resampled = _resampled(table)
    kept = {}
    for row, kind in enumerate(table["kind"].to_pylist()):
        subset, metric = table["subset"][row].as_py(), table["metric"][row].as_py()
        columns = {
            column["name"].as_py(): column["values"].values.to_numpy(zero_copy_only=False)
            for column in table["columns"][row]
        }
        kept[subset, metric] = Kept(Items(kind, columns) if kind else None, resampled.get((subset, metric)))
    return kept


def read_resampled(file: Path) -> dict[tuple[str, str], Resampled]:
    """Read the resampled scores by subset and metric. Errors are those of `read_items`."""
    return _resampled(_read(file, ["subset", "metric", "resampled"]))


def _resampled(table: pa.Table) -> dict[tuple[str, str], Resampled]:
    return {
        (subset.as_py(), metric.as_py()): scores.values.to_numpy()
        for subset, metric, scores in zip(table["subset"], table["metric"], table["resampled"], strict=True)
        if scores.is_valid
    }


def _read(file: Path, columns: Sequence[str] = SCHEMA.names) -> pa.Table:
    try:
        table = pq.ParquetFile(file).read(columns=list(columns))
        if not table.schema.equals(pa.schema([SCHEMA.field(name) for name in columns])):
            raise pa.ArrowInvalid(f"its columns are {', '.join(table.column_names)}")
    except (OSError, pa.ArrowInvalid) as error:
        raise EaseError(
            f"{file}: not a file of test items ({error}); delete it and evaluate again."
        ) from error
    return table
