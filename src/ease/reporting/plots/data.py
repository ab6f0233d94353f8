"""Figures of data (ingestion, pair selection, MewsC-16) and of embeddings (alignment, projections, cosines)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.evaluation.tasks import AVERAGE
from ease.reporting.plots.style import (
    AMOUNT_STYLES,
    OTHER_STYLES,
    Style,
    fill,
    finish,
    method_label,
    method_styles,
    nothing,
    panel_grid,
)

RESOLVED, UNRESOLVED, PAPER = Style("#009E73"), Style("#D9D9D9"), Style("#8C8C8C", "/")
PANELS_A_ROW = 3
LINE_COLOUR = "rgba(127,127,127,0.5)"
COSINE_BINS = 80
WHAT_TO_SEE = "The shorter the lines beside the extent of the points, the less the language matters."


def plot_ingest_summary(summary: pd.DataFrame) -> go.Figure:
    """Plot kept and skipped pages, and resolved and unresolved links, by language.

    `summary`: One row per language, with `language`, `kept` (pages), `skipped_<reason>` (pages), `links` and
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

    `funnel`: One row per language: `language`, `pairs` (before filtering), the pairs removed by each filter in order,
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
    outside = {"text": text, "textposition": "outside", "cliponaxis": False}
    look = {"marker": {"color": AMOUNT_STYLES[0].colour}, "orientation": "h", "showlegend": False}
    figure.add_bar(y=steps, x=left, **outside, **look, row=1, col=1)
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

    `statistics`: One row per language: `language`, `sentences`, `label_types`, and `paper_sentences` and
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
    figure.update_xaxes(title_text="sentences (logarithmic)", type="log", dtick=1, range=decades, row=1, col=1)
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


def _bar(rows: pd.DataFrame, values: pd.Series, label: str, style: Style, unit: str = "", **options: Any) -> go.Bar:
    hover = f"%{{y}}: %{{x:,}} {unit} {label}<extra></extra>".replace("  ", " ")
    place = {"y": rows["language"], "x": values, "orientation": "h"}
    return go.Bar(**place, name=label, marker=fill(style), hovertemplate=hover, **options)


def plot_alignment_uniformity(table: pd.DataFrame) -> go.Figure:
    """Plot uniformity and alignment, one point per model (Figure 3); closer to the lower left is better.

    `table`: Columns `model`, `subset`, `alignment`, `uniformity`; of several subsets, the mean is shown.
    """
    title = "Alignment and uniformity"
    if table.empty:
        return nothing(title)
    several = table.groupby("model")["subset"].transform("nunique") > 1
    rows = table[~several | (table["subset"] == AVERAGE)]
    figure = go.Figure()
    for model, style in method_styles(list(rows["model"])).items():
        own = rows[rows["model"] == model]
        marker = {"color": style.colour, "symbol": style.symbol, "size": 14}
        place = {"x": own["uniformity"], "y": own["alignment"], "name": method_label(model)}
        figure.add_scatter(**place, mode="markers", marker=marker, showlegend=True)
    figure.update_xaxes(title_text="uniformity ℓ<sub>uniform</sub> (lower is better)", nticks=8)
    figure.update_yaxes(title_text="alignment ℓ<sub>align</sub> (lower is better)", rangemode="tozero")
    return finish(figure, title, 480)


def plot_language_pair(table: pd.DataFrame) -> go.Figure:
    """Plot projected sentences of two languages with lines to their translations, one panel per model.

    `table`: Columns `model`, `pair`, `language`, `sentence`, `x`, `y`, `variance` (its share in the
        projection; NaN if unknown).
    """
    title = "Sentences and their translations"
    if table.empty:
        return nothing(title)
    languages = list(table["language"].unique())
    panels = dict(list(table.groupby("model", sort=False)))
    shares = [own["variance"].iloc[0] for own in panels.values()]
    titles = [
        method_label(model) + ("" if pd.isna(share) else f": {share:.0%} of the variance")
        for model, share in zip(panels, shares, strict=True)
    ]
    figure, places = panel_grid(titles, min(PANELS_A_ROW, len(titles)), gap=0.16, spacing=0.04)
    for index, (own, place) in enumerate(zip(panels.values(), places, strict=True)):
        ends = own.set_index(["language", "pair"])[["x", "y"]]
        left, right = (ends.loc[language] for language in languages)
        # All lines between translations in one trace, separated by gaps
        lines = {
            axis: [end for pair in left.index for end in (left.at[pair, axis], right.at[pair, axis], None)]
            for axis in ("x", "y")
        }
        line = {"color": LINE_COLOUR, "width": 1}
        shown = {"name": "translations", "legendgroup": "translations", "showlegend": index == 0, **place}
        figure.add_scatter(**lines, **shown, mode="lines", line=line, hoverinfo="skip")
        for language, style in zip(languages, OTHER_STYLES, strict=False):
            rows = own[own["language"] == language]
            marker = {"color": style.colour, "symbol": style.symbol, "size": 8, "opacity": 0.6}
            told = f"{language}: %{{customdata}}<extra></extra>"
            hover = {"customdata": rows["sentence"], "hovertemplate": told}
            shown = {"name": language, "legendgroup": language, "showlegend": index == 0, **place}
            figure.add_scatter(x=rows["x"], y=rows["y"], **shown, **hover, mode="markers", marker=marker)
        figure.update_yaxes(scaleanchor=f"x{index + 1 if index else ''}", **place)
    # The axes of a projection have no direction or unit, but the same scale.
    bare = {"showticklabels": False, "showgrid": False, "zeroline": False}
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(**bare, showline=True, mirror=True, linecolor=LINE_COLOUR)
    title = f"{title}: {' and '.join(languages)}<br><sup>{WHAT_TO_SEE}</sup>"
    return finish(figure, title, 150 + 400 * places[-1]["row"]).update_layout(margin_t=120)


def plot_cosine_distributions(table: pd.DataFrame, summary: pd.DataFrame) -> go.Figure:
    """Plot histograms of the cosines of positive and negative pairs, one panel per model (Figure 7 of Mirror-BERT).

    `table`: Columns `model`, `kind` (positive or negative), `cosine`. `summary`: Columns `model` and `auc`.
    """
    title = "Cosines of positive and negative pairs"
    if table.empty:
        return nothing(title)
    areas = summary.set_index("model")["auc"]
    panels = dict(list(table.groupby("model", sort=False)))
    titles = [f"{method_label(model)}: AUC {areas[model]:.2f}" for model in panels]
    shared = {"shared_xaxes": "all", "shared_yaxes": "all"}
    figure, places = panel_grid(titles, min(PANELS_A_ROW, len(titles)), gap=0.25, spacing=0.04, **shared)
    for index, (own, place) in enumerate(zip(panels.values(), places, strict=True)):
        for kind, style in zip(("positive", "negative"), AMOUNT_STYLES, strict=False):
            cosines = own.loc[own["kind"] == kind, "cosine"]
            counts, edges = np.histogram(cosines, bins=COSINE_BINS, range=(-1, 1))
            filled = np.flatnonzero(counts)
            shown = slice(filled[0], filled[-1] + 1)  # without empty bins at both ends
            centres, shares = ((edges[:-1] + edges[1:]) / 2)[shown].round(4), (counts / counts.sum())[shown]
            text = {"name": f"{kind} pairs", "legendgroup": kind}
            look = {"width": 2 / COSINE_BINS, "marker": fill(style), "opacity": 0.6, "showlegend": index == 0}
            figure.add_bar(x=centres, y=shares, **text, **look, **place)
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(title_text="cosine", showticklabels=True)
    figure.update_yaxes(title_text="share of pairs", tickformat=".0%", col=1)
    return finish(figure, title, 130 + 320 * places[-1]["row"])


def plot_roc_curves(table: pd.DataFrame) -> go.Figure:
    """Plot the ROC curve of each model, with the diagonal of chance (Figure 4 of Mirror-BERT).

    `table`: Columns `model`, `false_positive_rate`, `true_positive_rate`, `auc`.
    """
    title = "ROC curves of the cosines of pairs"
    if table.empty:
        return nothing(title)
    figure = go.Figure()
    for model, style in method_styles(list(table["model"].unique())).items():
        own = table[table["model"] == model]
        rates = {"x": own["false_positive_rate"], "y": own["true_positive_rate"]}
        name = f"{method_label(model)}: AUC {own['auc'].iloc[0]:.3f}"
        line = {"color": style.colour, "dash": style.dash}
        figure.add_scatter(**rates, name=name, line=line, mode="lines", showlegend=True)
    chance = {"color": LINE_COLOUR, "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="chance", line=chance, hoverinfo="skip")
    figure.update_xaxes(title_text="false positive rate", range=[0, 1])
    figure.update_yaxes(title_text="true positive rate", range=[0, 1])
    return finish(figure, title, 520)
