"""Figures of the training data's making."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.plots.style import Style, finish, nothing

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
    """What became of each language's pages and links.

    Args:
        summary: A row a language: `language`, `kept` (pages), a column `skipped_<reason>` (pages) for each
            reason, `links`, `links_resolved`. What is missing counts as 0.
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
        bar = go.Bar(
            y=rows["language"],
            x=rows[name],
            name=label,
            orientation="h",
            marker={"color": look.colour, "pattern": {"shape": look.pattern}},
            hovertemplate=f"%{{y}}: %{{x:,}} pages {label}<extra></extra>",
        )
        figure.add_trace(bar, 1, 1)
    _add_links(figure, rows)
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_xaxes(title_text="pages", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title_text="links", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(title_text="language", type="category", row=1, col=1)
    return finish(figure, title, 230 + 24 * len(rows))


def _add_links(figure: go.Figure, rows: pd.DataFrame) -> None:
    """Split each language's links into those that lead to an article and the others."""
    unresolved = rows["links"] - rows["links_resolved"]
    share = (rows["links_resolved"] / rows["links"].where(rows["links"] > 0)).map("{:.0%}".format)
    parts = (
        ("links resolved", rows["links_resolved"], RESOLVED, share),
        ("links unresolved", unresolved, UNRESOLVED, None),
    )
    for name, values, colour, text in parts:
        bar = go.Bar(
            y=rows["language"],
            x=values,
            name=name,
            orientation="h",
            text=None if text is None else text.replace("nan%", ""),
            textposition="auto",
            marker={"color": colour},
            hovertemplate=f"%{{y}}: %{{x:,}} {name}<extra></extra>",
        )
        figure.add_trace(bar, 1, 2)


def plot_pair_funnel(funnel: pd.DataFrame) -> go.Figure:
    """How many pairs each filter leaves.

    Args:
        funnel: Columns `step` (the filter's name), `pairs` (those left after it), in the order of filtering.
    """
    title = "Pairs left after each filter"
    if funnel.empty:
        return nothing(title)
    first = max(int(funnel["pairs"].iloc[0]), 1)
    texts = [f"{count:,} ({count / first:.0%})" for count in funnel["pairs"]]
    removed = -funnel["pairs"].diff().fillna(0)
    bar = go.Bar(
        y=funnel["step"].str.replace("_", " "),
        x=funnel["pairs"],
        orientation="h",
        text=texts,
        textposition="outside",
        cliponaxis=False,
        customdata=removed,
        marker={"color": KEPT.colour},
        hovertemplate="%{y}: %{x:,} left, %{customdata:,.0f} removed<extra></extra>",
    )
    figure = go.Figure(bar)
    figure.update_xaxes(title_text="sentence–entity pairs", range=[0, first * 1.18])
    figure.update_yaxes(autorange="reversed", title_text="after filter")
    return finish(figure, title, 190 + 40 * len(funnel))
