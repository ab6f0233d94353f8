"""Previews of tables and figures in Kedro-Viz's side panel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from kedro_datasets._typing import PlotlyPreview, TablePreview

_EXACT_INTEGERS = 2**53
"""JavaScript rounds integers from this one on."""
_SMALL_FONT = {"size": 9}
"""Size in pixels that can be read in the side panel, which is 350 pixels wide, and in the wide view"""
_GRID_COLOURS = dict.fromkeys(("gridcolor", "zerolinecolor", "linecolor"), "rgba(128, 128, 128, 0.3)")
"""Visible on Kedro-Viz's dark and light backgrounds"""
_HEADING = {
    "showarrow": False,
    "font": {"size": 14},
    "x": 0,
    "xref": "paper",
    "xanchor": "left",
    "y": 1,
    "yref": "paper",
    "yanchor": "bottom",
    "yshift": 42,
}
"""An annotation at the left, above the titles of panels"""
_LEGEND = {"y": 0.975, "yref": "container", "yanchor": "top"}
"""The line between the heading and the titles of panels"""


def table_preview(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> TablePreview:
    """Return rows in Kedro-Viz's form; a missing value is an empty cell."""
    data = [[_cell(row.get(column)) for column in columns] for row in rows]
    return cast(TablePreview, {"index": list(range(len(data))), "columns": list(columns), "data": data})


def _cell(value: Any) -> int | float | str:
    """Return a value that JavaScript shows as it is."""
    if value is None or value != value:  # NaN is not JSON
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) < _EXACT_INTEGERS:
        return cast(int | float, value)
    return str(value)


def figure_preview(figure: Mapping[str, Any]) -> PlotlyPreview:
    """Return a Plotly figure whose title, legend and grid stay readable under Kedro-Viz's theme.

    The theme moves the title onto the plot area, shrinks the margin above to 64 pixels, and styles only the first axes.
    """
    layout = dict(figure.get("layout", {}))
    # As an annotation, the title stays above the titles of panels.
    title = (layout.pop("title", None) or {}).get("text", "")
    notes = [_with_small_font(note, "font") for note in layout.get("annotations", ())]
    layout["annotations"] = [*notes, {**_HEADING, "text": title}]
    layout["legend"] = {**layout.get("legend", {}), **_LEGEND}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            layout[name] = _readable_axis(axis)
    traces = [_with_small_font(trace, "textfont") if "text" in trace else trace for trace in figure.get("data", ())]
    return cast(PlotlyPreview, {**figure, "data": traces, "layout": layout})


def _readable_axis(axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return an axis with small labels and a grid, which the theme sets for the first axes only."""
    # Without a set angle, Plotly turns labels that are too wide.
    options = {key: value for key, value in axis.items() if key != "tickangle"}
    title = {**axis.get("title", {}), "font": _SMALL_FONT, "standoff": 2}
    return {**options, **_GRID_COLOURS, "tickfont": _SMALL_FONT, "title": title, "ticklen": 2}


def _with_small_font(part: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {**part, key: {**part.get(key, {}), **_SMALL_FONT}}
