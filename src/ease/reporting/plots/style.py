"""The common style of all figures.

Each method has the same colour, pattern, dash and symbol in every figure, so that no figure relies on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.io.data_files import read_data_file
from ease.methods import get_method, method_names


class Style(NamedTuple):
    """Style of a method: colour, fill pattern of bars, dash of lines, symbol of points."""

    colour: str
    pattern: str
    dash: str
    symbol: str


_STYLES = read_data_file("ease.reporting.plots", "styles.yml")
STYLES = {method: Style(*parts) for method, parts in _STYLES["methods"].items()}
OTHER_STYLES, PUBLISHED_STYLES, AMOUNT_STYLES = (
    [Style(*parts) for parts in _STYLES[name]] for name in ("others", "published", "amounts")
)


def method_styles(methods: Sequence[str]) -> dict[str, Style]:
    """Return each method's style; methods without a fixed style get the others in order of their names."""
    others = sorted(set(methods) - STYLES.keys())
    given = {method: OTHER_STYLES[index % len(OTHER_STYLES)] for index, method in enumerate(others)}
    return {method: STYLES.get(method) or given[method] for method in dict.fromkeys(methods)}


def series_styles(methods: Sequence[str]) -> list[Style]:
    """Return a distinct style for each series: its method's for the first of a method, else the next free one."""
    wanted = [STYLES.get(method) for method in methods]
    fixed = [style if style not in wanted[:index] else None for index, style in enumerate(wanted)]
    free = cycle([*OTHER_STYLES, *(style for style in STYLES.values() if style not in fixed)])
    return [style or next(free) for style in fixed]


def method_label(method: str) -> str:
    """Return a method's title; other names, such as variants, have spaces for underscores."""
    return get_method(method).title if method in method_names() else method.replace("_", " ")


def score_bars(
    x: pd.Series, values: pd.Series, label: str, style: Style, numbered: bool, **options: Any
) -> go.Bar:
    """Return a model's bars of points, with their numbers above if asked; `options` are Plotly's."""
    return go.Bar(
        x=x,
        y=values,
        name=label,
        text=values.map("{:.1f}".format) if numbered else None,
        textangle=0,
        cliponaxis=False,
        marker={"color": style.colour, "pattern": {"shape": style.pattern, "size": 6}},
        hovertemplate=f"{label}, %{{x}}: %{{y:.1f}} points<extra></extra>",
        **{"textposition": "outside", **options},
    )


def show_intervals(bars: go.Bar, rows: pd.DataFrame) -> None:
    """Give a model's bars error bars from `low` to `high`, if one of the rows has them."""
    low, value, high = (rows[name].astype(float) for name in ("low", "value", "high"))
    if low.notna().any():  # an error bar would cross a label above the bar
        error = {"type": "data", "array": high - value, "arrayminus": value - low, "symmetric": False}
        bars.update(error_y={**error, "visible": True, "thickness": 1}, textposition="inside")


def score_range(rows: pd.DataFrame, space: float) -> list[float]:
    """Return a range of the points axis with all bars and intervals.

    Args:
        rows: Columns `value`, and `low` and `high`, which may be missing values.
        space: Factor that leaves space for a label above the highest bar.
    """
    low, value, high = (rows[name].astype(float) for name in ("low", "value", "high"))
    lowest, highest = (float(limit) for limit in (value.min(), value.max()))
    return [
        min(0.0, lowest * 1.1, float(low.fillna(0).min())),
        max(1.0, highest * space, float(high.fillna(0).max()) * 1.02),
    ]


def panel_grid(
    titles: Sequence[str], columns: int, gap: float, spacing: float, **shared: str
) -> tuple[go.Figure, list[dict[str, int]]]:
    """Return a figure with a panel for each title, and the panels' rows and columns."""
    rows = -(-len(titles) // columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=titles,
        horizontal_spacing=spacing,
        vertical_spacing=gap / rows,
        **shared,
    )
    return figure, [{"row": i // columns + 1, "col": i % columns + 1} for i in range(len(titles))]


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Apply the common layout, with the legend between title and plot."""
    has_legend = len(figure.data) > 1
    top = {"yref": "container", "yanchor": "top"}
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "x": 0.01, "y": 1, **top, "pad": {"t": 14}},
        font={"family": "Helvetica, Arial, sans-serif", "size": 13},
        legend={"orientation": "h", "x": 0, "y": 1 - 42 / height, **top, "title_text": ""},
        margin={"l": 70, "r": 30, "t": 110 if has_legend else 70, "b": 60},
        height=height,
    )
    figure.update_xaxes(automargin=True, title_standoff=8)
    figure.update_yaxes(automargin=True, title_standoff=8, ticklabelstandoff=5)
    return figure


def nothing(title: str) -> go.Figure:
    """Return a figure that says that the table is empty."""
    figure = go.Figure()
    figure.add_annotation(text="Nothing to show: the table is empty.", showarrow=False, font={"size": 16})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return finish(figure, title, 300)
