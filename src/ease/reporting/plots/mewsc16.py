"""Figure of the statistics of MewsC-16."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ease.reporting.plots.style import Style, finish, nothing

MADE = Style("#0072B2", "", "", "")
PAPER = Style("#8C8C8C", "/", "", "")
PANELS = {"sentences": "Sentences", "label_types": "Label types"}


def plot_mewsc16(statistics: pd.DataFrame) -> go.Figure:
    """Plot sentences and label types by language, made here and in the paper (Table 13).

    Args:
        statistics: One row a language: `language`, `sentences`, `label_types`, `paper_sentences`, `paper_label_types`;
            missing if the paper does not have the language.
    """
    title = "MewsC-16 as made here and as in the paper"
    if statistics.empty:
        return nothing(title)
    rows = statistics.sort_values("language")
    largest = rows[["sentences", "paper_sentences"]].max().max()
    figure = make_subplots(
        rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=list(PANELS.values())
    )
    for prefix, name, look in (("", "made here", MADE), ("paper_", "paper (Table 13)", PAPER)):
        for column, measure in enumerate(PANELS, start=1):
            bar = go.Bar(
                y=rows["language"],
                x=rows[f"{prefix}{measure}"],
                name=name,
                orientation="h",
                legendgroup=name,
                showlegend=column == 1,
                marker={"color": look.colour, "pattern": {"shape": look.pattern}},
                hovertemplate=f"%{{y}}: %{{x:,}} {measure.replace('_', ' ')}, {name}<extra></extra>",
            )
            figure.add_trace(bar, 1, column)
    figure.update_layout(barmode="group", legend_traceorder="normal")
    # Sizes of languages differ by a factor of 100; all bars start at one sentence.
    decades = [0, math.log10(largest) + 0.1]
    figure.update_xaxes(
        title_text="sentences (logarithmic)", type="log", dtick=1, range=decades, row=1, col=1
    )
    figure.update_xaxes(title_text="label types", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_yaxes(title_text="language", row=1, col=1)
    return finish(figure, title, 230 + 34 * len(rows))
