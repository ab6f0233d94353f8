"""Data frames as Markdown tables that are also readable as plain text."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Sequence

from ease.lazy import pd


def _cell(value: object, decimals: int) -> str:
    """Format a value: integers with separators, other numbers rounded, missing values as a dash."""
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
    """Format the rows whose counts in two columns differ, and the total of all rows; the first column has names."""
    total = {table.columns[0]: "total", **table.iloc[:, 1:].sum().to_dict()}
    return format_table(pd.concat([table[table[before] != table[after]], pd.DataFrame([total])]))


def format_table(table: pd.DataFrame, decimals: int = 1, right: Collection[str] = (), width: int | None = None) -> str:
    """Format a table as Markdown with aligned columns, numbers to the right.

    `right` are further columns to align to the right, such as formatted numbers. If a line would be longer than `width`
    characters, `…` replaces columns from the third on; the last columns, such as averages, are replaced last.
    """
    cells = [[_cell(value, decimals) for value in row] for row in table.itertuples(index=False, name=None)]
    names = [_cell(str(name), decimals) for name in table.columns]
    to_right = [name in right or pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    widths = [max(3, *(len(row[column]) for row in [names, *cells])) for column in range(len(names))]
    # Each column takes two spaces and a bar, and the line begins with a bar.
    while width and sum(widths) + 3 * len(widths) + 1 > width and len(names) > 4:
        for row in [names, *cells]:
            row[2:4] = ["…"]
        to_right[2:4] = [False]
        widths[2:4] = [3]
    # A colon at the end is Markdown's mark for a column that is aligned to the right.
    rule = ["-" * column_width for column_width in widths]
    for column, is_right in enumerate(to_right):
        if is_right:
            rule[column] = rule[column][:-1] + ":"
    return "\n".join(_line(row, widths, to_right) for row in [names, rule, *cells])


def _line(row: Sequence[str], widths: Sequence[int], to_right: Sequence[bool]) -> str:
    """Return a line of a table, with each text in the width of its column."""
    padded = []
    for text, width, is_right in zip(row, widths, to_right, strict=True):
        if is_right:
            padded.append(text.rjust(width))
        else:
            padded.append(text.ljust(width))
    return f"| {' | '.join(padded)} |"
