"""Data of the bar charts of comparison tables."""

from __future__ import annotations

import pandas as pd

from ease.reporting.comparison import ComparisonTable, Row

COLUMNS = ["label", "kind", "method", "column", "value", "low", "high"]


def bar_rows(table: ComparisonTable) -> pd.DataFrame:
    """Return scores of our models and of the published ones to compare with, in the columns that ours have.

    Published models are the counterparts of ours; without counterparts, the best one of each encoder by the last
    column, which is the average.

    Returns:
        One row per score: `label`, `kind` (published or own), `method`, `column`, `value`, and the limits of its
        95% interval, `low` and `high`.
    """
    named = {row.name.removeprefix("difference from ") for row in table.rows if row.kind == "difference"}
    compared = [row for row in table.rows if row.kind == "published" and row.name in named]
    own = [row for row in table.rows if row.kind == "own"]
    ours = [any(row.cells[place].value is not None for row in own) for place in range(len(table.headers))]
    rows = [
        (row.label, row.kind, row.method, header, cell.value, *(cell.interval or (None, None)))
        for row in (*(compared or best_published(table)), *own)
        for header, cell, shown in zip(table.headers, row.cells, ours, strict=True)
        if shown and cell.value is not None
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def best_published(table: ComparisonTable) -> list[Row]:
    """Return the published model of each encoder with the highest score in the last column."""
    best: dict[str, Row] = {}
    for row in table.rows:
        if row.kind == "published" and _last_figure(row) > _last_figure(best.get(row.base)):
            best[row.base] = row
    return list(best.values())


def _last_figure(row: Row | None) -> float:
    figures = [cell.value for cell in row.cells if cell.value is not None] if row else []
    return figures[-1] if figures else float("-inf")
