"""Previews in Kedro-Viz: a few rows of a table, with labels of entities, and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import ibis
from kedro_datasets._typing import TablePreview

ROWS = 20
"""Rows of a preview"""
Row = dict[str, Any]

_EXACT_INTEGERS = 2**53
"""JavaScript rounds integers from this one on."""
_SMALL = 9
"""Text in pixels that can be read in the side panel and in the wide view."""
_GRID = "rgba(128, 128, 128, 0.3)"
"""Visible on Kedro-Viz's dark and light backgrounds."""


def table_preview(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> TablePreview:
    """Return rows in Kedro-Viz's form; a missing value is an empty cell."""

    def cell(value: Any) -> int | float | str:
        if value is None or value != value:
            return ""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if number and abs(value) < _EXACT_INTEGERS else str(value)

    data = [[cell(row.get(column)) for column in columns] for row in rows]
    return cast(TablePreview, {"index": [*range(len(data))], "columns": [*columns], "data": data})


def first_rows(table: ibis.Table, spread: str | None) -> list[Row]:
    """Return the first rows of a table, or of each value of the column `spread`; at most `ROWS` in all.

    Sorted tables begin with many rows of one value. The search for a value's rows ends when there are enough.
    """
    values: list[Any] = []
    if spread:
        found = table.filter(table[spread].notnull()).select(spread).distinct().order_by(spread).limit(ROWS)
        values = found.to_pyarrow()[spread].to_pylist()
    if not values:
        return list(table.limit(ROWS).to_pyarrow().to_pylist())
    parts = (table.filter(table[spread] == value).limit(ROWS // len(values)) for value in values)
    rows = ibis.union(*parts).to_pyarrow().to_pylist()
    return sorted(rows, key=lambda row: values.index(row[spread]))


def with_labels(rows: Sequence[Row], columns: Sequence[str], vocabulary: ibis.Table) -> list[Row]:
    """Insert a column `<name>_label` after each entity column; the vocabulary has the columns `entity` and `label`."""
    entities = {row[name] for row in rows for name in columns if row.get(name) is not None}
    known = vocabulary.filter(vocabulary.entity.isin(sorted(entities))).select("entity", "label").to_pyarrow()
    labels = dict(zip(known["entity"].to_pylist(), known["label"].to_pylist(), strict=True))
    wide: list[Row] = [{} for _ in rows]
    for row, wider in zip(rows, wide, strict=True):
        for name, value in row.items():
            wider |= {name: value, f"{name}_label": labels.get(value)} if name in columns else {name: value}
    return wide


def pivoted(rows: Iterable[Row], index: str, across: str, value: str) -> list[Row]:
    """Return one row for each value of `index`, with a column for each value of `across`."""
    wide: dict[Any, Row] = {}
    for row in rows:
        wide.setdefault(row[index], {index: row[index]})[row[across]] = row[value]
    return list(wide.values())


def figure_preview(figure: dict[str, Any]) -> dict[str, Any]:
    """Return a Plotly figure whose title, legend and grid stay readable under Kedro-Viz's theme.

    The theme moves the title onto the plot area, shrinks the margin above to 64 pixels and styles the first axes alone.
    So the title becomes an annotation above the titles of panels, and the legend gets the line between them. The side
    panel is 350 pixels wide: the other axes, labels and the titles of panels get small text, and labels turn where they
    are too wide.
    """
    layout = dict(figure.get("layout", {}))
    title = (layout.pop("title", None) or {}).get("text", "")
    placed = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
    heading = {"text": title, "showarrow": False, "yshift": 42, "font": {"size": 14}, **placed}
    notes = layout.get("annotations", ())
    smaller = [{**note, "font": {**note.get("font", {}), "size": _SMALL}} for note in notes]
    layout["annotations"] = [*smaller, heading]
    layout["legend"] = {**layout.get("legend", {}), "y": 0.975, "yref": "container", "yanchor": "top"}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            layout[name] = _small_axis(axis)
    traces = [
        {**trace, "textfont": {**trace.get("textfont", {}), "size": _SMALL}} if "text" in trace else trace
        for trace in figure.get("data", ())
    ]
    return {**figure, "data": traces, "layout": layout}


def _small_axis(axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return an axis with small text, whose labels may turn, and a grid that is visible on any background."""
    text = {"size": _SMALL}
    title = {**axis.get("title", {}), "font": text, "standoff": 2}
    kept = {name: value for name, value in axis.items() if name != "tickangle"}
    colours = {name: _GRID for name in ("gridcolor", "zerolinecolor", "linecolor")}
    return {**kept, **colours, "tickfont": text, "title": title, "ticklen": 2}
