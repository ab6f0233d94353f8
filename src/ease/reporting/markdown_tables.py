"""Data frames as Markdown tables that are also readable as plain text."""

from __future__ import annotations

import numbers
from collections.abc import Collection

import pandas as pd


def _cell(value: object, decimals: int) -> str:
    """Format a value: integers with separators, other numbers rounded, missing ones as a dash."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "–"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, numbers.Integral):
        return f"{value:,}"
    if isinstance(value, numbers.Real):
        return f"{value:,.{decimals}f}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def format_losses(table: pd.DataFrame, before: str, after: str) -> str:
    """Format the rows of a table (names, then counts) whose counts in two columns differ, and the total of all rows."""
    total = {table.columns[0]: "total", **table.iloc[:, 1:].sum().to_dict()}
    return format_table(pd.concat([table[table[before] != table[after]], pd.DataFrame([total])]))


def format_table(table: pd.DataFrame, decimals: int = 1, right: Collection[str] = (), width: int | None = None) -> str:
    """Format a table as Markdown with aligned columns, numbers to the right.

    `right` are further columns to align to the right, such as formatted numbers. In lines of at most `width`, columns
    after the second give way to `…`, the last ones, such as averages, at last.
    """
    cells = [[_cell(value, decimals) for value in row] for row in table.itertuples(index=False, name=None)]
    names = [_cell(str(name), decimals) for name in table.columns]
    to_right = [name in right or pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    widths = [max(3, *(len(row[column]) for row in [names, *cells])) for column in range(len(names))]
    while width and sum(widths) + 3 * len(widths) + 1 > width and len(names) > 4:
        for row in [names, *cells]:
            row[2:4] = ["…"]
        to_right[2:4], widths[2:4] = [False], [3]
    rule = ["-" * (width - 1) + (":" if numeric else "-") for width, numeric in zip(widths, to_right, strict=True)]

    def line(row: list[str]) -> str:
        padded = (
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(row, widths, to_right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    return "\n".join(line(row) for row in [names, rule, *cells])
