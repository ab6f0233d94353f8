"""Figures of data (ingestion, pair selection, MewsC-16) and of embeddings (alignment, projections, cosines)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ease.evaluation.scores import AVERAGE
from ease.lazy import go, pd, subplots
from ease.reporting.plots.style import (
    AMOUNT_STYLES,
    OTHER_STYLES,
    Style,
    bar_fill,
    empty_figure,
    finish,
    method_label,
    method_styles,
    panel_grid,
)

RESOLVED_STYLE = Style("#009E73")
UNRESOLVED_STYLE = Style("#D9D9D9")
PAPER_STYLE = Style("#8C8C8C", "/")
PANELS_PER_ROW = 3
LINE_COLOUR = "rgba(127,127,127,0.5)"
COSINE_BINS = 80
PAIRS_HINT = "The shorter the lines beside the extent of the points, the less the language matters."


def plot_ingest_summary(summary: pd.DataFrame) -> go.Figure:
    """Plot kept and skipped pages, and resolved and unresolved links, by language.

    `summary`: One row per language, with `language`, `kept` (pages), `skipped_<reason>` (pages), `links` and
        `links_resolved`. Missing values are 0.
    """
    title = "Ingested pages and links"
    if summary.empty:
        return empty_figure(title)
    rows = summary.sort_values("language", ascending=False).fillna(0)
    reasons = [name for name in summary.columns if name.startswith("skipped_") and summary[name].sum() > 0]
    titles = ("Pages", "Links of kept pages")
    figure = subplots.make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles)
    _add_amounts(figure, 1, rows, ["kept", *reasons], "skipped", "pages")
    links = rows["links"].astype(float)
    resolved = rows["links_resolved"].astype(float)
    # A language without links has no share.
    share = (resolved / links).map("{:.0%}".format).replace("nan%", "")
    auto: dict[str, Any] = {"textposition": "auto"}
    figure.add_trace(_bar(rows, resolved, "links resolved", RESOLVED_STYLE, text=share, **auto), 1, 2)
    figure.add_trace(_bar(rows, links - resolved, "links unresolved", UNRESOLVED_STYLE, **auto), 1, 2)
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
        return empty_figure(title)
    filters = [name for name in funnel.columns if name not in ("language", "pairs", "left")]
    total = int(funnel["pairs"].sum())
    removals = [0, *(int(funnel[name].sum()) for name in filters)]
    remaining = [total - removed for removed in accumulate(removals)]
    titles = ("All languages", "Each language")
    figure = subplots.make_subplots(rows=1, cols=2, horizontal_spacing=0.1, subplot_titles=titles)
    steps = ["linked", *(f"− {name.replace('_', ' ')}" for name in filters)]
    text = [f"{count:,} ({count / max(total, 1):.0%})" for count in remaining]
    outside = {"text": text, "textposition": "outside", "cliponaxis": False}
    look = {"marker": {"color": AMOUNT_STYLES[0].colour}, "orientation": "h", "showlegend": False}
    figure.add_bar(y=steps, x=remaining, **outside, **look, row=1, col=1)
    rows = funnel.sort_values("language", ascending=False)
    effective_filters = [name for name in filters if funnel[name].sum()]
    _add_amounts(figure, 2, rows, ["left", *effective_filters], "removed", "pairs")
    figure.update_xaxes(title_text="sentence–entity pairs", rangemode="tozero")
    # Space beyond the longest bar for its text.
    figure.update_xaxes(range=[0, max(1, total) * 1.75], row=1, col=1)
    figure.update_yaxes(autorange="reversed", row=1, col=1)
    figure.update_yaxes(title_text="language", type="category", row=1, col=2)
    return finish(figure, title, 230 + max(24 * len(rows), 40 * (len(filters) + 1)))


def plot_mewsc16(statistics: pd.DataFrame) -> go.Figure:
    """Plot sentences and label types by language, as made here and as in the paper (Table 13).

    `statistics`: One row per language: `language`, `sentences`, `label_types`, and `paper_sentences` and
        `paper_label_types`, missing if the paper does not have the language.
    """
    title = "MewsC-16 as made here and as in the paper"
    if statistics.empty:
        return empty_figure(title)
    rows = statistics.sort_values("language")
    titles = ("Sentences", "Label types")
    figure = subplots.make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles)
    for prefix, name, style in (("", "made here", AMOUNT_STYLES[0]), ("paper_", "paper (Table 13)", PAPER_STYLE)):
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
    """Stack bars of each language: the amount that is left (the first of the names), and the losses by reason."""
    for index, name in enumerate(names):
        style = AMOUNT_STYLES[0]
        label = name
        if index:
            # The first style is that of the amount that is left: losses repeat the other styles.
            style = AMOUNT_STYLES[1 + (index - 1) % (len(AMOUNT_STYLES) - 1)]
            label = f"{lost}: {name.removeprefix(f'{lost}_').replace('_', ' ')}"
        figure.add_trace(_bar(rows, rows[name].astype(float), label, style, unit), 1, column)
    figure.update_layout(barmode="stack", legend_traceorder="normal")


def _bar(rows: pd.DataFrame, values: pd.Series, label: str, style: Style, unit: str = "", **options: Any) -> go.Bar:
    hover = f"%{{y}}: %{{x:,}} {unit} {label}<extra></extra>".replace("  ", " ")
    place = {"y": rows["language"], "x": values, "orientation": "h"}
    return go.Bar(**place, name=label, marker=bar_fill(style), hovertemplate=hover, **options)


def plot_alignment_uniformity(table: pd.DataFrame) -> go.Figure:
    """Plot uniformity and alignment, one point per model (EASE, Figure 3); closer to the lower left is better.

    `table`: Columns `model`, `subset`, `alignment`, `uniformity`; with several subsets, the mean is shown.
    """
    title = "Alignment and uniformity"
    if table.empty:
        return empty_figure(title)
    several = table.groupby("model")["subset"].transform("nunique") > 1
    rows = table[~several | (table["subset"] == AVERAGE)]
    figure = go.Figure()
    for model, style in method_styles(list(rows["model"])).items():
        model_rows = rows[rows["model"] == model]
        marker = {"color": style.colour, "symbol": style.symbol, "size": 14}
        place = {"x": model_rows["uniformity"], "y": model_rows["alignment"], "name": method_label(model)}
        figure.add_scatter(**place, mode="markers", marker=marker, showlegend=True)
    figure.update_xaxes(title_text="uniformity ℓ<sub>uniform</sub> (lower is better)", nticks=8)
    figure.update_yaxes(title_text="alignment ℓ<sub>align</sub> (lower is better)", rangemode="tozero")
    return finish(figure, title, 480)


def plot_language_pair(table: pd.DataFrame) -> go.Figure:
    """Plot projected sentences of two languages with lines to their translations, one panel per model.

    `table`: Columns `model`, `pair`, `language`, `sentence`, `x`, `y`, `variance` (the projection's share of it; NaN if
        unknown).
    """
    title = "Sentences and their translations"
    if table.empty:
        return empty_figure(title)
    languages = list(table["language"].unique())
    panels = dict(list(table.groupby("model", sort=False)))
    titles = []
    for model, rows in panels.items():
        model_title = method_label(model)
        share = rows["variance"].iloc[0]
        if pd.notna(share):
            model_title += f": {share:.0%} of the variance"
        titles.append(model_title)
    figure, places = panel_grid(titles, min(PANELS_PER_ROW, len(titles)), gap=0.16, spacing=0.04)
    for number, (rows, place) in enumerate(zip(panels.values(), places, strict=True), start=1):
        _add_translations(figure, rows, languages, number == 1, place)
        # Plotly calls the first axis `x`, the second `x2`.
        axis = "x"
        if number > 1:
            axis += str(number)
        figure.update_yaxes(scaleanchor=axis, **place)
    # The axes of a projection have no direction or unit, but the same scale.
    frame = {"showticklabels": False, "showgrid": False, "zeroline": False, "showline": True}
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(**frame, mirror=True, linecolor=LINE_COLOUR)
    title = f"{title}: {' and '.join(languages)}<br><sup>{PAIRS_HINT}</sup>"
    return finish(figure, title, 150 + 400 * places[-1]["row"]).update_layout(margin_t=120)


def _add_translations(
    figure: go.Figure, rows: pd.DataFrame, languages: Sequence[str], in_legend: bool, place: dict[str, int]
) -> None:
    """Add the sentences of two languages to one panel, with lines to their translations."""
    ends = rows.set_index(["language", "pair"])[["x", "y"]]
    left, right = (ends.loc[language] for language in languages)
    # All lines between translations are one trace, separated by gaps: a trace for each would be slow.
    lines = {
        axis: [end for pair in left.index for end in (left.at[pair, axis], right.at[pair, axis], None)]
        for axis in ("x", "y")
    }
    line = {"color": LINE_COLOUR, "width": 1}
    legend = {"name": "translations", "legendgroup": "translations", "showlegend": in_legend}
    figure.add_scatter(**lines, **legend, **place, mode="lines", line=line, hoverinfo="skip")
    for language, style in zip(languages, OTHER_STYLES, strict=False):
        sentences = rows[rows["language"] == language]
        marker = {"color": style.colour, "symbol": style.symbol, "size": 8, "opacity": 0.6}
        template = f"{language}: %{{customdata}}<extra></extra>"
        hover = {"customdata": sentences["sentence"], "hovertemplate": template}
        legend = {"name": language, "legendgroup": language, "showlegend": in_legend}
        points = {"x": sentences["x"], "y": sentences["y"], "mode": "markers", "marker": marker}
        figure.add_scatter(**points, **legend, **place, **hover)


def plot_cosine_distributions(table: pd.DataFrame, summary: pd.DataFrame) -> go.Figure:
    """Plot histograms of the cosines of positive and negative pairs, one panel per model (Figure 7 of Mirror-BERT).

    `table`: Columns `model`, `kind` (positive or negative), `cosine`. `summary`: Columns `model` and `auc`.
    """
    title = "Cosines of positive and negative pairs"
    if table.empty:
        return empty_figure(title)
    areas = summary.set_index("model")["auc"]
    panels = dict(list(table.groupby("model", sort=False)))
    titles = [f"{method_label(model)}: AUC {areas[model]:.2f}" for model in panels]
    shared = {"shared_xaxes": "all", "shared_yaxes": "all"}
    figure, places = panel_grid(titles, min(PANELS_PER_ROW, len(titles)), gap=0.25, spacing=0.04, **shared)
    for index, (rows, place) in enumerate(zip(panels.values(), places, strict=True)):
        for kind, style in zip(("positive", "negative"), AMOUNT_STYLES, strict=False):
            cosines = rows.loc[rows["kind"] == kind, "cosine"]
            counts, edges = np.histogram(cosines, bins=COSINE_BINS, range=(-1, 1))
            # Without the empty bins at both ends, so that the axis is no longer than it must be.
            filled = np.flatnonzero(counts)
            bins = slice(filled[0], filled[-1] + 1)
            centres = ((edges[:-1] + edges[1:]) / 2)[bins].round(4)
            shares = (counts / counts.sum())[bins]
            text = {"name": f"{kind} pairs", "legendgroup": kind}
            look = {"width": 2 / COSINE_BINS, "marker": bar_fill(style), "opacity": 0.6, "showlegend": index == 0}
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
        return empty_figure(title)
    figure = go.Figure()
    for model, style in method_styles(list(table["model"].unique())).items():
        rows = table[table["model"] == model]
        rates = {"x": rows["false_positive_rate"], "y": rows["true_positive_rate"]}
        name = f"{method_label(model)}: AUC {rows['auc'].iloc[0]:.3f}"
        line = {"color": style.colour, "dash": style.dash}
        figure.add_scatter(**rates, name=name, line=line, mode="lines", showlegend=True)
    chance = {"color": LINE_COLOUR, "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="chance", line=chance, hoverinfo="skip")
    figure.update_xaxes(title_text="false positive rate", range=[0, 1])
    figure.update_yaxes(title_text="true positive rate", range=[0, 1])
    return finish(figure, title, 520)
