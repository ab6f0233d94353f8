"""The common style of all figures.

Each method has the same colour, pattern, dash and symbol in every figure, so that no figure relies on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

import plotly.graph_objects as go

from ease.methods import get_method, method_names


class Style(NamedTuple):
    """Style of a method: colour, fill pattern of bars, dash of lines, symbol of points."""

    colour: str
    pattern: str
    dash: str
    symbol: str


STYLES = {
    "untrained": Style("#8C8C8C", "", "dot", "x"),
    "simcse": Style("#E69F00", "/", "dash", "square"),
    "ease": Style("#0072B2", "", "solid", "circle"),
    "ease_plus": Style("#D55E00", "-", "longdashdot", "cross"),
}
OTHER_STYLES = (
    Style("#009E73", "\\", "dashdot", "diamond"),
    Style("#CC79A7", "x", "longdash", "triangle-up"),
    Style("#000000", "-", "longdashdot", "hexagon"),
    Style("#56B4E9", ".", "dot", "star"),
    Style("#5D3A9B", "|", "dash", "pentagon"),
)
"""The colour-blind safe palette of Okabe and Ito, and a violet."""


def method_styles(methods: Sequence[str]) -> dict[str, Style]:
    """Return each method's style; methods without a fixed style get the others in order of their names."""
    others = sorted(set(methods) - STYLES.keys())
    given = {method: OTHER_STYLES[index % len(OTHER_STYLES)] for index, method in enumerate(others)}
    return {method: STYLES.get(method) or given[method] for method in dict.fromkeys(methods)}


PUBLISHED_STYLES = (
    Style("#C7C7C7", "", "dot", "circle-open"),
    Style("#A3A3A3", "/", "dot", "square-open"),
    Style("#D9D9D9", "x", "dot", "diamond-open"),
    Style("#B5B5B5", "-", "dot", "triangle-up-open"),
    Style("#8A8A8A", "", "dot", "cross-open"),
    Style("#CFCFCF", "\\", "dot", "star-open"),
    Style("#B0B0B0", "|", "dot", "pentagon-open"),
    Style("#DDDDDD", ".", "dot", "hexagon-open"),
)
"""Greys for published models; colours are for models scored here."""


def series_styles(methods: Sequence[str]) -> list[Style]:
    """Return a distinct style for each series: its method's for the first of a method, else the next free one."""
    wanted = [STYLES.get(method) for method in methods]
    fixed = [style if style not in wanted[:index] else None for index, style in enumerate(wanted)]
    free = cycle([*OTHER_STYLES, *(style for style in STYLES.values() if style not in fixed)])
    return [style or next(free) for style in fixed]


def method_label(method: str) -> str:
    """Return a method's title; other names, such as variants, have spaces for underscores."""
    return get_method(method).title if method in method_names() else method.replace("_", " ")


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Apply the common layout, with the legend between title and plot."""
    has_legend = len(figure.data) > 1
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "x": 0.01, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 14}},
        font={"family": "Helvetica, Arial, sans-serif", "size": 13},
        legend={"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top", "title_text": ""},
        margin={"l": 70, "r": 30, "t": 110 if has_legend else 70, "b": 60},
        height=height,
    )
    figure.update_layout(legend_y=1 - 42 / height)
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
