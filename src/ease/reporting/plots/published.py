"""Figures of our scores and published ones."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.reporting.plots.style import (
    PUBLISHED_STYLES,
    Style,
    finish,
    nothing,
    score_bars,
    score_range,
    series_styles,
    show_intervals,
)

Scatter = tuple[str, pd.DataFrame, str, str]
"""Title of a panel; points with columns `label`, `kind`, `method`, `x`, `y`; titles of the axes."""

BAR_PANEL, SCATTER_PANEL = 330, 480
"""Heights in pixels."""

WIDTH = 1000
"""Assumed width of a panel in pixels for placing labels."""

LABELLED_BARS, WIDEST_BARS = 30, 20
"""Maximum number of bars of a panel with labels, and minimum number that the panel has space for."""


def plot_table_bars(tables: Sequence[tuple[str, pd.DataFrame]]) -> go.Figure:
    """Plot tables as bars, one panel each: our models in colour, published ones in grey.

    Args:
        tables: Titles, and scores in points with the columns `label`, `kind` (published or own), `method`, `column`,
            `value`, and `low` and `high`, the limits of the 95% interval (may be missing).
    """
    title = "Scores beside the published ones"
    tables = [(name, rows) for name, rows in tables if not rows.empty]
    if not tables:
        return nothing(title)
    figure = _panels([name for name, _ in tables])
    styles = _styles([rows for _, rows in tables])
    shown: set[str] = set()
    for panel, (_, rows) in enumerate(tables, start=1):
        for label in dict.fromkeys(rows["label"]):
            series = rows[rows["label"] == label]
            bars = score_bars(
                series["column"], series["value"], label, styles[label], numbered=len(rows) <= LABELLED_BARS
            )
            bars.update(legendgroup=label, showlegend=label not in shown)
            show_intervals(bars, series)
            figure.add_trace(bars, panel, 1)
            shown.add(label)
        _set_axes(figure, panel, rows)
    figure.update_layout(barmode="group", bargap=0.22)
    figure.update_yaxes(title_text="points")
    room = 24 * (-(-len(shown) // 4))
    height = 120 + room + BAR_PANEL * len(tables)
    finish(figure, tables[0][0] if len(tables) == 1 else title, height)
    return figure.update_layout(margin_t=70 + room)


def _panels(names: Sequence[str]) -> go.Figure:
    """Return stacked panels, with titles if there are several."""
    titles = list(names) if len(names) > 1 else None
    return make_subplots(rows=len(names), cols=1, subplot_titles=titles, vertical_spacing=0.24 / len(names))


def _set_axes(figure: go.Figure, panel: int, rows: pd.DataFrame) -> None:
    """Set the order of columns, and ranges with space for labels above the bars."""
    columns = list(dict.fromkeys(rows["column"]))
    places = max(len(columns), min(8, -(-WIDEST_BARS // rows["label"].nunique())))
    order = {"type": "category", "categoryorder": "array", "categoryarray": columns}
    figure.update_xaxes(**order, range=[-0.5, places - 0.5], row=panel, col=1)
    figure.update_yaxes(range=score_range(rows, 1.12), row=panel, col=1)


def _styles(tables: Sequence[pd.DataFrame]) -> dict[str, Style]:
    """Return each model's style in all panels."""
    series = pd.concat(list(tables)).drop_duplicates("label")
    own, published = series[series["kind"] == "own"], series[series["kind"] == "published"]
    greys = [PUBLISHED_STYLES[index % len(PUBLISHED_STYLES)] for index in range(len(published))]
    return {
        **dict(zip(published["label"], greys, strict=True)),
        **dict(zip(own["label"], series_styles(list(own["method"])), strict=True)),
    }


def plot_table_scatter(panels: Sequence[Scatter]) -> go.Figure:
    """Plot models as points, one panel per pair of tables: our models in colour, published ones in grey.

    Args:
        panels: Titles, scores in points, and titles of the axes.
    """
    title = "One kind of task against another"
    if not panels:
        return nothing(title)
    figure = _panels([name for name, *_ in panels])
    styles = _styles([points for _, points, *_ in panels])
    for panel, (_, points, x_title, y_title) in enumerate(panels, start=1):
        x_range, y_range = _padded(points["x"]), _padded(points["y"])
        places = place_labels(points, x_range, y_range, WIDTH, SCATTER_PANEL - 130)
        for (_, row), place in zip(points.iterrows(), places, strict=True):
            figure.add_trace(_point(row, styles[row["label"]], place), panel, 1)
        figure.update_xaxes(title_text=x_title, range=x_range, row=panel, col=1)
        figure.update_yaxes(title_text=y_title, range=y_range, row=panel, col=1)
    figure.update_layout(showlegend=False)
    finish(figure, panels[0][0] if len(panels) == 1 else title, 60 + SCATTER_PANEL * len(panels))
    return figure.update_layout(margin={"t": 80, "b": 90, "l": 90})


def _point(row: pd.Series, style: Style, place: str) -> go.Scatter:
    own = row["kind"] == "own"
    return go.Scatter(
        x=[row["x"]],
        y=[row["y"]],
        mode="markers+text",
        name=row["label"],
        text=[f"<b>{row['label']}</b>" if own else row["label"]],
        textposition=place,
        textfont={"size": 12 if own else 11, "color": "#222222" if own else "#595959"},
        marker={
            "color": style.colour if own else "#8C8C8C",
            "symbol": style.symbol if own else "circle-open",
            "size": 12 if own else 9,
            "line": {"width": 0 if own else 2},
        },
        hovertemplate=f"{row['label']}: %{{x:.1f}}, %{{y:.1f}}<extra></extra>",
    )


def _padded(values: pd.Series) -> list[float]:
    """Return a range with space for labels at both ends."""
    low, high = float(values.min()), float(values.max())
    room = max(1.0, (high - low) * 0.13)
    return [low - room, high + room]


PLACES = {
    f"{row} {column}": (right, up)
    for row, up in (("top", 1), ("bottom", -1), ("middle", 0))
    for column, right in (("center", 0), ("right", 1), ("left", -1))
    if row != "middle" or right
}
"""Plotly's text positions with their directions from the point, in order of preference"""
LETTER, LINE, GAP = 6.5, 15.0, 7.0
"""Mean width of a letter, height of a line and distance of a label from its point, in pixels"""

Box = tuple[float, float, float, float]
"""Left, bottom, right and top in pixels"""


def place_labels(
    points: pd.DataFrame, x_range: Sequence[float], y_range: Sequence[float], width: float, height: float
) -> list[str]:
    """Choose for each point (`label`, `x`, `y`) the text position that overlaps least with other labels and points.

    The ranges of the panel are in the unit of the points, its width and height in pixels.
    """

    def box(x: float, y: float, wide: float, high: float) -> Box:
        return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2

    def overlap(one: Box, other: Box) -> float:
        wide, high = (min(one[end], other[end]) - max(one[end - 2], other[end - 2]) for end in (2, 3))
        return max(wide, 0) * max(high, 0)

    left = (points["x"] - x_range[0]) / (x_range[1] - x_range[0]) * width
    bottom = (points["y"] - y_range[0]) / (y_range[1] - y_range[0]) * height
    taken = [box(x, y, 2 * GAP, 2 * GAP) for x, y in zip(left, bottom, strict=True)]
    chosen = []
    for x, y, label in zip(left, bottom, points["label"], strict=True):
        wide = LETTER * len(label)
        boxes = {
            place: box(x + right * (wide / 2 + GAP), y + up * (LINE / 2 + GAP), wide, LINE)
            for place, (right, up) in PLACES.items()
        }
        chosen.append(min(boxes, key=lambda place: sum(overlap(boxes[place], other) for other in taken)))
        taken.append(boxes[chosen[-1]])
    return chosen
