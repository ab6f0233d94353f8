"""The common style of all figures: a method has the same colour, pattern, dash and symbol in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.io.files import read_data_file
from ease.methods import UNTRAINED, method_names, method_record


class Style(NamedTuple):
    """Style of a method: colour, fill pattern of bars, dash of lines, symbol of points."""

    colour: str
    pattern: str = ""
    dash: str = ""
    symbol: str = ""


_STYLES = read_data_file("ease.reporting.plots", "styles.yml")
STYLES = {method: Style(*parts) for method, parts in _STYLES["methods"].items()}
OTHER_STYLES, PUBLISHED_STYLES, AMOUNT_STYLES = (
    [Style(*parts) for parts in _STYLES[name]] for name in ("others", "published", "amounts")
)

INK = "#6E6E6E"
"""Of texts and whiskers: readable on white and on black; the pages replace it by the colour of their texts"""

_CLEAR, _GRID = "rgba(0,0,0,0)", "rgba(127,127,127,0.25)"
_AXIS = {"gridcolor": _GRID, "zerolinecolor": _GRID, "automargin": True, "title": {"standoff": 8}}
TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": "Helvetica, Arial, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "xaxis": _AXIS,
        "yaxis": {**_AXIS, "ticklabelstandoff": 5},
        "title": {"x": 0.01, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 6}},
        "legend": {"orientation": "h", "x": 0, "yref": "container", "yanchor": "top", "title_text": ""},
    }
)
TITLE, ROW = 42, 26  # heights of a figure's title and of a row of its legend, in pixels
THINNEST, THICKEST, MANY = 4, 18, 700
"""Height of a bar in pixels: the thickest, which has space for a number, or less where all would be higher than that"""
BAR_GAP, PANEL_GAP = 10, 60  # heights of the gaps between groups of bars, and between panels


def fill(style: Style) -> dict[str, Any]:
    """Return the marker of bars: the colour, with light lines of the pattern over it."""
    lines = {"shape": style.pattern, "size": 6, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.6)"}
    return {"color": style.colour, "pattern": lines, "line_width": 0}


def method_styles(methods: Sequence[str]) -> dict[str, Style]:
    """Return each method's style; methods without a fixed style get the others in order of their names."""
    given = dict(zip(sorted(set(methods) - STYLES.keys()), cycle(OTHER_STYLES), strict=False))
    return {method: STYLES.get(method) or given[method] for method in dict.fromkeys(methods)}


def series_styles(methods: Sequence[str]) -> list[Style]:
    """Return a distinct style for each series: its method's for the first of a method, else the next free one."""
    wanted = [STYLES.get(method) for method in methods]
    fixed = [style if style not in wanted[:index] else None for index, style in enumerate(wanted)]
    free = cycle([*OTHER_STYLES, *(style for style in STYLES.values() if style not in fixed)])
    return [style or next(free) for style in fixed]


def method_label(method: str) -> str:
    """Return a method's title; other names, such as variants, have spaces for underscores."""
    if method == UNTRAINED:
        return "Untrained"
    return method_record(method).title if method in method_names() else method.replace("_", " ")


def stack_bars(title: str, panels: Sequence[tuple[str, pd.DataFrame]], styles: Mapping[str, Style]) -> go.Figure:
    """Plot panels of horizontal bars one above the other; a single panel's title is the figure's.

    `panels`: Titles, and scores in points with the columns `label`, `column`, `value`, and `low` and `high`, the limits
    of the 95% interval (may be missing). `styles` are those of the labels.
    """
    sizes = [(rows["column"].nunique(), rows["label"].nunique()) for _, rows in panels]
    widths = [max(THINNEST, min(THICKEST, MANY // (columns * labels))) for columns, labels in sizes]
    heights = [columns * (labels * width + BAR_GAP) for (columns, labels), width in zip(sizes, widths, strict=True)]
    plot = sum(heights) + PANEL_GAP * (len(panels) - 1)
    several = len(panels) > 1
    figure = make_subplots(
        rows=len(panels),
        row_heights=heights,
        vertical_spacing=PANEL_GAP / plot if several else 0,
        subplot_titles=[name for name, _ in panels] if several else None,
    )
    shown: set[str] = set()
    for row, ((_, rows), width) in enumerate(zip(panels, widths, strict=True), start=1):
        for label, own in rows.groupby("label", sort=False):
            bars = _score_bars(own, label, styles[label], width == THICKEST)
            bars[0].showlegend = label not in shown
            figure.add_traces(bars, row, 1)
            shown.add(label)
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
    return finish(figure, title if several else panels[0][0], plot + 130)


def _score_bars(rows: pd.DataFrame, label: str, style: Style, numbered: bool) -> list[go.Bar]:
    """Return a model's bars with whiskers, and if asked invisible bars that carry the numbers beyond the whiskers."""
    low, value, high = (rows[name].astype(float) for name in ("low", "value", "high"))
    place = {"y": rows["column"], "orientation": "h", "offsetgroup": label, "legendgroup": label}
    hover = f"{label}, %{{y}}: %{{x:.1f}} points<extra></extra>"
    bars = go.Bar(x=value, name=label, marker=fill(style), hovertemplate=hover, **place)
    if low.notna().any():
        limits = {"array": high - value, "arrayminus": value - low, "symmetric": False}
        bars.error_x = {"type": "data", **limits, "thickness": 1, "width": 3, "color": INK}
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
    rows = -(-len(titles) // columns)
    gaps = {"horizontal_spacing": spacing, "vertical_spacing": gap / rows}
    figure = make_subplots(rows=rows, cols=columns, subplot_titles=titles, **gaps, **shared)
    return figure, [{"row": i // columns + 1, "col": i % columns + 1} for i in range(len(titles))]


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Apply the common layout, with the legend between title and plot."""
    rows = -(-sum(trace.showlegend is not False for trace in figure.data) // 3) if len(figure.data) > 1 else 0
    height += ROW * max(0, rows - 1)
    return figure.update_layout(
        template=TEMPLATE,
        title_text=title,
        legend_y=1 - TITLE / height,
        margin={"l": 70, "r": 30, "t": TITLE + 28 + ROW * rows, "b": 60},
        height=height,
    )


def nothing(title: str) -> go.Figure:
    """Return a figure that says that the table is empty."""
    figure = go.Figure().update_xaxes(visible=False).update_yaxes(visible=False)
    figure.add_annotation(text="Nothing to show: the table is empty.", showarrow=False, font={"size": 16})
    return finish(figure, title, 300)
