"""Tables of the main scores of truncated embeddings, one column a number of dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ease.evaluation.tasks import get_task
from ease.reporting.comparison import ComparisonTable, build_plain_table
from ease.reporting.own import gather_models
from ease.reporting.published import Source
from ease.reporting.score_summaries import main_figures

Rows = Iterable[Mapping[str, Any]]

FULL = "all"
"""Header of the scores of complete embeddings."""


def full_rows(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows of scores of complete embeddings."""
    return [dict(row) for row in rows if row.get("dimension") is None]


def dimension_tables(rows: Rows) -> list[ComparisonTable]:
    """Return one table per task of the models that were scored at several numbers of dimensions.

    Args:
        rows: Scores of all models; those of truncated embeddings have a `dimension`.
    """
    scores = pd.DataFrame([dict(row) for row in rows])
    if "dimension" not in scores or scores["dimension"].isna().all():
        return []
    keys = [name for name in ("setting", "method", "model", "base", "pooling", "seed") if name in scores]
    means = _means(scores, [*keys, "task", "metric", "dimension"])
    several = means.groupby([*keys, "task"], dropna=False)["dimension"].transform("nunique") > 0
    tables = []
    for name, own in means[several].groupby("task", sort=False):
        task, metric = str(name), get_task(str(name)).METRIC
        headers = [str(number) for number in sorted(own["dimension"].dropna().astype(int).unique())]
        columns = {header: Source(task, header, metric) for header in (*headers, FULL)}
        labels = [FULL if pd.isna(number) else str(int(number)) for number in own["dimension"]]
        known = [
            {key: value for key, value in row.items() if pd.notna(value)}
            for row in own.assign(subset=labels).to_dict("records")
        ]
        score = f"{metric.replace('_', ' ')} by the number of first dimensions, mean over subsets"
        tables.append(build_plain_table(f"Task {task} by dimension", score, columns, gather_models(known)))
    return tables


def _means(scores: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the mean of each model's main scores over the subsets of each task, by dimension."""
    return main_figures(scores).groupby(keys, sort=False, dropna=False, as_index=False)["value"].mean()
