"""Figures of ingestion and pair selection."""

from __future__ import annotations

from itertools import accumulate

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.reporting.plots.style import Style, finish, nothing

KEPT = Style("#0072B2", "", "", "")
SKIPPED = (
    Style("#E69F00", "/", "", ""),
    Style("#CC79A7", "x", "", ""),
    Style("#8C8C8C", "", "", ""),
    Style("#D55E00", "-", "", ""),
    Style("#F0E442", ".", "", ""),
    Style("#5D3A9B", "|", "", ""),
)
RESOLVED, UNRESOLVED = "#009E73", "#D9D9D9"


def plot_ingest_summary(summary: pd.DataFrame) -> go.Figure:
    """Plot kept and skipped pages, and resolved and unresolved links, by language.

    Args:
        summary: One row a language: `language`, `kept` (pages), `skipped_<reason>` (pages), `links`, `links_resolved`.
            Missing values are 0.
    """
    title = "Ingested pages and links"
    if summary.empty:
        return nothing(title)
    rows = summary.sort_values("language", ascending=False).fillna(0)
    reasons = [name for name in summary.columns if name.startswith("skipped_") and summary[name].sum() > 0]
    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        subplot_titles=("Pages", "Links of kept pages"),
    )
    for index, name in enumerate(["kept", *reasons]):
        look = SKIPPED[(index - 1) % len(SKIPPED)] if index else KEPT
        label = "kept" if name == "kept" else f"skipped: {name.removeprefix('skipped_').replace('_', ' ')}"
        figure.add_trace(_stacked_bar(rows, name, label, look, "pages"), 1, 1)
    _add_links(figure, rows)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_xaxes(title_text="pages", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title_text="links", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(title_text="language", type="category", row=1, col=1)
    return finish(figure, title, 230 + 24 * len(rows))


def _add_links(figure: go.Figure, rows: pd.DataFrame) -> None:
    """Add each language's resolved and unresolved links."""
    links, resolved = rows["links"].astype(float), rows["links_resolved"].astype(float)
    share = (resolved / links).map("{:.0%}".format).replace("nan%", "")
    parts = (
        ("links resolved", resolved, RESOLVED, share),
        ("links unresolved", links - resolved, UNRESOLVED, None),
    )
    for name, values, colour, text in parts:
        bar = go.Bar(
            y=rows["language"],
            x=values,
            name=name,
            orientation="h",
            text=text,
            textposition="auto",
            marker={"color": colour},
            hovertemplate=f"%{{y}}: %{{x:,}} {name}<extra></extra>",
        )
        figure.add_trace(bar, 1, 2)


def plot_pair_funnel(funnel: pd.DataFrame) -> go.Figure:
    """Plot the pairs left after each filter over all languages, and left and removed pairs by language.

    Args:
        funnel: One row a language: `language`, `pairs` (before filtering), the pairs removed by each filter in order,
            and `left`.
    """
    title = "Pairs left after each filter"
    if funnel.empty:
        return nothing(title)
    filters = [name for name in funnel.columns if name not in ("language", "pairs", "left")]
    rows = funnel.sort_values("language", ascending=False)
    figure = make_subplots(
        rows=1, cols=2, horizontal_spacing=0.1, subplot_titles=("All languages", "Each language")
    )
    figure.add_trace(_funnel_bar(funnel, filters), 1, 1)
    for index, name in enumerate(["left", *[name for name in filters if funnel[name].sum()]]):
        look = SKIPPED[(index - 1) % len(SKIPPED)] if index else KEPT
        label = "left" if name == "left" else f"removed: {name.replace('_', ' ')}"
        figure.add_trace(_stacked_bar(rows, name, label, look, "pairs"), 1, 2)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_xaxes(title_text="sentence–entity pairs", rangemode="tozero")
    figure.update_xaxes(range=[0, max(1, int(funnel["pairs"].sum())) * 1.75], row=1, col=1)
    figure.update_yaxes(autorange="reversed", row=1, col=1)
    figure.update_yaxes(title_text="language", type="category", row=1, col=2)
    return finish(figure, title, 230 + max(24 * len(rows), 40 * (len(filters) + 1)))


def _funnel_bar(funnel: pd.DataFrame, filters: list[str]) -> go.Bar:
    """Return bars of the pairs left after each filter, with numbers and percentages."""
    total = int(funnel["pairs"].sum())
    removed = [0, *(int(funnel[name].sum()) for name in filters)]
    left = [total - gone for gone in accumulate(removed)]
    return go.Bar(
        y=["linked", *(f"− {name.replace('_', ' ')}" for name in filters)],
        x=left,
        orientation="h",
        showlegend=False,
        text=[f"{count:,} ({count / max(total, 1):.0%})" for count in left],
        textposition="outside",
        cliponaxis=False,
        customdata=removed,
        marker={"color": KEPT.colour},
        hovertemplate="%{y}: %{x:,} left, %{customdata:,} removed<extra></extra>",
    )


def _stacked_bar(rows: pd.DataFrame, column: str, label: str, look: Style, unit: str) -> go.Bar:
    """Return one segment of each language's bar."""
    return go.Bar(
        y=rows["language"],
        x=rows[column].astype(float),
        name=label,
        orientation="h",
        marker={"color": look.colour, "pattern": {"shape": look.pattern}},
        hovertemplate=f"%{{y}}: %{{x:,}} {unit} {label}<extra></extra>",
    )
