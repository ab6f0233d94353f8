"""The common look of all figures.

Each method keeps its colour and its pattern, dash or symbol in every figure, so that none rests on colour
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

import plotly.graph_objects as go

from ease.methods import get_method, method_names


class Style(NamedTuple):
    """How a method looks: colour, fill pattern of bars, dash of lines, symbol of points."""

    colour: str
    pattern: str
    dash: str
    symbol: str


STYLES = {
    "untrained": Style("#8C8C8C", "", "dot", "x"),
    "simcse": Style("#E69F00", "/", "dash", "square"),
    "ease": Style("#0072B2", "", "solid", "circle"),
}
OTHER_STYLES = (
    Style("#009E73", "\\", "dashdot", "diamond"),
    Style("#CC79A7", "x", "longdash", "triangle-up"),
    Style("#D55E00", "-", "longdashdot", "cross"),
    Style("#56B4E9", ".", "dot", "star"),
    Style("#5D3A9B", "|", "dash", "pentagon"),
)
"""The palette of Okabe and Ito, told apart with any colour vision, and a violet."""


def method_styles(methods: Sequence[str]) -> dict[str, Style]:
    """Give each method its style; those without a fixed one take the others in order of their names."""
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
"""Greys for what others have printed, so that colour means what was scored here."""


def series_styles(methods: Sequence[str]) -> list[Style]:
    """Give each series a style of its own: its method's, for the first of a method, else the next that is free."""
    wanted = [STYLES.get(method) for method in methods]
    fixed = [style if style not in wanted[:index] else None for index, style in enumerate(wanted)]
    free = cycle([*OTHER_STYLES, *(style for style in STYLES.values() if style not in fixed)])
    return [style or next(free) for style in fixed]


def method_label(method: str) -> str:
    """A method's name as it is written in text; other names, such as those of variants, stay words."""
    return get_method(method).title if method in method_names() else method.replace("_", " ")


def finish(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Give a figure the common look, its legend above the plot and clear of the title."""
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
    """A figure that says that there is nothing to show."""
    figure = go.Figure()
    figure.add_annotation(text="Nothing to show: the table is empty.", showarrow=False, font={"size": 16})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return finish(figure, title, 300)
