"""Figures of data: ingestion, pair selection and MewsC-16, with a horizontal bar for each language."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.reporting.plots.style import AMOUNT_STYLES, Style, fill, finish, nothing

RESOLVED, UNRESOLVED, PAPER = Style("#009E73"), Style("#D9D9D9"), Style("#8C8C8C", "/")


def plot_ingest_summary(summary: pd.DataFrame) -> go.Figure:
    """Plot kept and skipped pages, and resolved and unresolved links, by language.

    Args:
        summary: One row per language, with `language`, `kept` (pages), `skipped_<reason>` (pages), `links` and
            `links_resolved`. Missing values are 0.
    """
    title = "Ingested pages and links"
    if summary.empty:
        return nothing(title)
    rows = summary.sort_values("language", ascending=False).fillna(0)
    reasons = [name for name in summary.columns if name.startswith("skipped_") and summary[name].sum() > 0]
    titles = ("Pages", "Links of kept pages")
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles)
    _add_amounts(figure, 1, rows, ["kept", *reasons], "skipped", "pages")
    links, resolved = rows["links"].astype(float), rows["links_resolved"].astype(float)
    share = (resolved / links).map("{:.0%}".format).replace("nan%", "")
    auto: dict[str, Any] = {"textposition": "auto"}
    figure.add_trace(_bar(rows, resolved, "links resolved", RESOLVED, text=share, **auto), 1, 2)
    figure.add_trace(_bar(rows, links - resolved, "links unresolved", UNRESOLVED, **auto), 1, 2)
    for column, unit in enumerate(("pages", "links"), start=1):
        figure.update_xaxes(title_text=unit, rangemode="tozero", row=1, col=column)
    figure.update_yaxes(title_text="language", type="category", row=1, col=1)
    return finish(figure, title, 230 + 24 * len(rows))


def plot_pair_funnel(funnel: pd.DataFrame) -> go.Figure:
    """Plot the pairs left after each filter over all languages, and left and removed pairs by language.

    Args:
        funnel: One row per language: `language`, `pairs` (before filtering), the pairs removed by each filter in order,
            and `left`.
    """
    title = "Pairs left after each filter"
    if funnel.empty:
        return nothing(title)
    filters = [name for name in funnel.columns if name not in ("language", "pairs", "left")]
    total = int(funnel["pairs"].sum())
    removed = [0, *(int(funnel[name].sum()) for name in filters)]
    left = [total - gone for gone in accumulate(removed)]
    titles = ("All languages", "Each language")
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.1, subplot_titles=titles)
    steps = ["linked", *(f"− {name.replace('_', ' ')}" for name in filters)]
    text = [f"{count:,} ({count / max(total, 1):.0%})" for count in left]
    hover = "%{y}: %{x:,} left, %{customdata:,} removed<extra></extra>"
    outside = {"text": text, "textposition": "outside", "cliponaxis": False}
    look = {"marker": {"color": AMOUNT_STYLES[0].colour}, "orientation": "h", "showlegend": False}
    told = {"customdata": removed, "hovertemplate": hover}
    figure.add_bar(y=steps, x=left, **outside, **look, **told, row=1, col=1)
    rows = funnel.sort_values("language", ascending=False)
    lossy = [name for name in filters if funnel[name].sum()]
    _add_amounts(figure, 2, rows, ["left", *lossy], "removed", "pairs")
    figure.update_xaxes(title_text="sentence–entity pairs", rangemode="tozero")
    figure.update_xaxes(range=[0, max(1, total) * 1.75], row=1, col=1)
    figure.update_yaxes(autorange="reversed", row=1, col=1)
    figure.update_yaxes(title_text="language", type="category", row=1, col=2)
    return finish(figure, title, 230 + max(24 * len(rows), 40 * (len(filters) + 1)))


def plot_mewsc16(statistics: pd.DataFrame) -> go.Figure:
    """Plot sentences and label types by language, made here and in the paper (Table 13).

    Args:
        statistics: One row per language: `language`, `sentences`, `label_types`, and `paper_sentences` and
            `paper_label_types`, missing if the paper does not have the language.
    """
    title = "MewsC-16 as made here and as in the paper"
    if statistics.empty:
        return nothing(title)
    rows = statistics.sort_values("language")
    titles = ("Sentences", "Label types")
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles)
    for prefix, name, style in (("", "made here", AMOUNT_STYLES[0]), ("paper_", "paper (Table 13)", PAPER)):
        for column, measure in enumerate(("sentences", "label_types"), start=1):
            bar = _bar(rows, rows[f"{prefix}{measure}"], name, style, f"{measure.replace('_', ' ')},")
            figure.add_trace(bar.update(legendgroup=name, showlegend=column == 1), 1, column)
    figure.update_layout(barmode="group", legend_traceorder="normal")
    # Sizes of languages differ by a factor of 100; all bars start at one sentence.
    decades = [0, math.log10(rows[["sentences", "paper_sentences"]].max().max()) + 0.1]
    figure.update_xaxes(
        title_text="sentences (logarithmic)", type="log", dtick=1, range=decades, row=1, col=1
    )
    figure.update_xaxes(title_text="label types", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_yaxes(title_text="language", row=1, col=1)
    return finish(figure, title, 230 + 34 * len(rows))


def _add_amounts(
    figure: go.Figure, column: int, rows: pd.DataFrame, names: Sequence[str], lost: str, unit: str
) -> None:
    """Stack what is left of each language (the first column named) and what was lost for each reason."""
    for index, name in enumerate(names):
        style = AMOUNT_STYLES[1 + (index - 1) % (len(AMOUNT_STYLES) - 1) if index else 0]
        label = f"{lost}: {name.removeprefix(f'{lost}_').replace('_', ' ')}" if index else name
        figure.add_trace(_bar(rows, rows[name].astype(float), label, style, unit), 1, column)
    figure.update_layout(barmode="stack", legend_traceorder="normal")


def _bar(
    rows: pd.DataFrame, values: pd.Series, label: str, style: Style, unit: str = "", **options: Any
) -> go.Bar:
    hover = f"%{{y}}: %{{x:,}} {unit} {label}<extra></extra>".replace("  ", " ")
    place = {"y": rows["language"], "x": values, "orientation": "h"}
    return go.Bar(**place, name=label, marker=fill(style), hovertemplate=hover, **options)
