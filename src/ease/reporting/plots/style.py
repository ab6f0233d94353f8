"""The common style of all figures: a method has the same colour, pattern, dash and symbol in each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

from ease.io.files import read_data_file
from ease.lazy import go, pd, subplots
from ease.methods import UNTRAINED, method_names, method_record


class Style(NamedTuple):
    """Style of a method: colour, fill pattern of bars, dash of lines, symbol of points."""

    colour: str
    pattern: str = ""
    dash: str = ""
    symbol: str = ""


_STYLES = read_data_file("ease.reporting.plots", "styles.yml")
METHOD_STYLES = {method: Style(*parts) for method, parts in _STYLES["methods"].items()}
OTHER_STYLES = [Style(*parts) for parts in _STYLES["others"]]
PUBLISHED_STYLES = [Style(*parts) for parts in _STYLES["published"]]
AMOUNT_STYLES = [Style(*parts) for parts in _STYLES["amounts"]]

TEXT_COLOUR = "#6E6E6E"
"""Colour of texts and whiskers: readable on white and on black; the pages replace it by the colour of their texts"""

_CLEAR = "rgba(0,0,0,0)"
_GRID = "rgba(127,127,127,0.25)"
_AXIS = {"gridcolor": _GRID, "zerolinecolor": _GRID, "automargin": True, "title": {"standoff": 8}}
FIGURE_TEMPLATE: dict[str, Any] = {
    "layout": {
        "font": {"family": "Helvetica, Arial, sans-serif", "size": 13, "color": TEXT_COLOUR},
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "xaxis": _AXIS,
        "yaxis": {**_AXIS, "ticklabelstandoff": 5},
        "title": {"x": 0.01, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 6}},
        "legend": {"orientation": "h", "x": 0, "yref": "container", "yanchor": "top", "title_text": ""},
    }
}

# Heights in pixels
TITLE_HEIGHT = 42
LEGEND_ROW_HEIGHT = 26
THINNEST_BAR = 4
THICKEST_BAR = 18
"""A bar of this height has space for a number."""
MAX_BARS_HEIGHT = 700
"""Bars are thinner than the thickest if all of a panel would be higher together."""
BAR_GAP = 10
"""Gap between groups of bars"""
PANEL_GAP = 60


def bar_fill(style: Style) -> dict[str, Any]:
    """Return the marker of bars: the colour, with light lines of the pattern over it."""
    lines = {"shape": style.pattern, "size": 6, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.6)"}
    return {"color": style.colour, "pattern": lines, "line_width": 0}


def method_styles(methods: Sequence[str]) -> dict[str, Style]:
    """Return each method's style; methods without a fixed style get the other styles in the order of their names."""
    free = dict(zip(sorted(set(methods) - METHOD_STYLES.keys()), cycle(OTHER_STYLES), strict=False))
    return {method: METHOD_STYLES.get(method) or free[method] for method in dict.fromkeys(methods)}


def series_styles(methods: Sequence[str]) -> list[Style]:
    """Return a distinct style for each series: the method's for its first series, else the next free style."""
    fixed: list[Style | None] = []
    for method in methods:
        style = METHOD_STYLES.get(method)
        # Several seeds or sweeps of a method are several series.
        if style in fixed:
            style = None
        fixed.append(style)
    free = cycle([*OTHER_STYLES, *(style for style in METHOD_STYLES.values() if style not in fixed)])
    return [style or next(free) for style in fixed]


def method_label(method: str) -> str:
    """Return a method's title; other names, such as variants, have spaces for underscores."""
    if method == UNTRAINED:
        return "Untrained"
    if method in method_names():
        return method_record(method).title
    return method.replace("_", " ")


def stack_bars(title: str, panels: Sequence[tuple[str, pd.DataFrame]], styles: Mapping[str, Style]) -> go.Figure:
    """Plot panels of horizontal bars one above the other; a single panel's title is the figure's.

    `panels`: Titles, and scores in points with the columns `label`, `column`, `value`, and `low` and `high`, the limits
    of the 95% interval (may be missing). `styles` are those of the labels.
    """
    sizes = [(rows["column"].nunique(), rows["label"].nunique()) for _, rows in panels]
    thicknesses = [
        max(THINNEST_BAR, min(THICKEST_BAR, MAX_BARS_HEIGHT // (columns * labels))) for columns, labels in sizes
    ]
    heights = [
        columns * (labels * thickness + BAR_GAP)
        for (columns, labels), thickness in zip(sizes, thicknesses, strict=True)
    ]
    height = sum(heights) + PANEL_GAP * (len(panels) - 1)
    titles = None
    spacing = 0.0
    if len(panels) > 1:
        titles = [name for name, _ in panels]
        spacing = PANEL_GAP / height
        figure_title = title
    else:
        figure_title = panels[0][0]
    figure = subplots.make_subplots(
        rows=len(panels), row_heights=heights, vertical_spacing=spacing, subplot_titles=titles
    )
    # A label stands in the legend once, for all panels.
    in_legend: set[str] = set()
    for row, ((_, rows), thickness) in enumerate(zip(panels, thicknesses, strict=True), start=1):
        for label, label_rows in rows.groupby("label", sort=False):
            bars = _score_bars(label_rows, label, styles[label], thickness == THICKEST_BAR)
            bars[0].showlegend = label not in in_legend
            figure.add_traces(bars, row, 1)
            in_legend.add(label)
        columns = list(rows["column"].unique())
        figure.update_yaxes(type="category", categoryarray=columns, range=[len(columns) - 0.5, -0.5], row=row)
    # Numbers that are higher than their bars, as in a small preview, are hidden.
    figure.update_layout(barmode="group", bargap=0.18, uniformtext={"minsize": 9, "mode": "hide"})
    # One range for all panels, with space beyond the longest bar for its number.
    limits = pd.concat([rows[["value", "low", "high"]].astype(float) for _, rows in panels])
    score_range = [min(0.0, float(limits.min().min()) * 1.1), max(1.0, float(limits.max().max()) * 1.12)]
    figure.update_xaxes(range=score_range, showticklabels=False)
    figure.update_xaxes(title_text="points", showticklabels=True, row=len(panels))
    figure.update_yaxes(showgrid=False)
    return finish(figure, figure_title, height + 130)


def _score_bars(rows: pd.DataFrame, label: str, style: Style, numbered: bool) -> list[go.Bar]:
    """Return a model's bars with whiskers; if `numbered`, also invisible bars with the numbers beyond the whiskers."""
    low, value, high = (rows[name].astype(float) for name in ("low", "value", "high"))
    place = {"y": rows["column"], "orientation": "h", "offsetgroup": label, "legendgroup": label}
    hover = f"{label}, %{{y}}: %{{x:.1f}} points<extra></extra>"
    bars = go.Bar(x=value, name=label, marker=bar_fill(style), hovertemplate=hover, **place)
    if low.notna().any():
        limits = {"array": high - value, "arrayminus": value - low, "symmetric": False}
        bars.error_x = {"type": "data", **limits, "thickness": 1, "width": 3, "color": TEXT_COLOUR}
    if not numbered:
        return [bars]
    text = {"text": value.map("{:.1f}".format), "textposition": "outside", "textfont_size": 11}
    ends = high.fillna(value).clip(lower=0)
    quiet = {"marker_color": _CLEAR, "showlegend": False, "hoverinfo": "skip", "cliponaxis": False}
    return [bars, go.Bar(x=ends, **text, **quiet, **place)]


def panel_grid(
    titles: Sequence[str], columns: int, gap: float, spacing: float, **shared: str
) -> tuple[go.Figure, list[dict[str, int]]]:
    """Return a figure with a panel for each title, and the panels' rows and columns."""
    rows = math.ceil(len(titles) / columns)
    gaps = {"horizontal_spacing": spacing, "vertical_spacing": gap / rows}
    figure = subplots.make_subplots(rows=rows, cols=columns, subplot_titles=titles, **gaps, **shared)
    return figure, [{"row": i // columns + 1, "col": i % columns + 1} for i in range(len(titles))]


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Apply the common layout, with the legend between title and plot."""
    rows = 0
    # About three names fit into a row of the legend. Plotly shows none for a single trace.
    if len(figure.data) > 1:
        rows = math.ceil(sum(trace.showlegend is not False for trace in figure.data) / 3)
    height += LEGEND_ROW_HEIGHT * max(0, rows - 1)
    return figure.update_layout(
        # As an object: Plotly would merge a dictionary into its own template, with that template's colours.
        template=go.layout.Template(FIGURE_TEMPLATE),
        title_text=title,
        legend_y=1 - TITLE_HEIGHT / height,
        margin={"l": 70, "r": 30, "t": TITLE_HEIGHT + 28 + LEGEND_ROW_HEIGHT * rows, "b": 60},
        height=height,
    )


def empty_figure(title: str) -> go.Figure:
    """Return a figure that says that the table is empty."""
    figure = go.Figure().update_xaxes(visible=False).update_yaxes(visible=False)
    figure.add_annotation(text="Nothing to show: the table is empty.", showarrow=False, font={"size": 16})
    return finish(figure, title, 300)
