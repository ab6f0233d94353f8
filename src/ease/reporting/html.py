"""The report as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ease.reporting.figures import bar_rows
from ease.reporting.plots import plot_table_bars, plot_table_scatter
from ease.reporting.report import LEGEND, NO_SCORES, SPREADS, TITLE, Report

CONFIG = {"displaylogo": False, "responsive": True}


def render_html(report: Report) -> str:
    """Render the report with Plotly embedded."""
    bars = [plot_table_bars([(table.title, bar_rows(table))]) for table in report.tables]
    scatters = [plot_table_scatter([points]) for points in report.scatters]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=TITLE,
            legend=LEGEND,
            no_scores=NO_SCORES,
            spreads=SPREADS,
            report=report,
            plotly=_plotly() if bars else "",
            bars=_embed(bars, "bars"),
            scatters=_embed(scatters, "scatter"),
        )
    )


def render_comparison(table: pd.DataFrame, figures: Mapping[str, go.Figure]) -> str:
    """Render a table of scores with figures below it.

    Args:
        table: Result of `score_table`; points are rounded to one decimal.
        figures: Figures by their headings.
    """
    shown = _embed(list(figures.values()), "figure")
    template = _environment().get_template("comparison.html.j2")
    return template.render(table=table, plotly=_plotly(), figures=dict(zip(figures, shown, strict=True)))


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ease.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _plotly() -> Markup:
    """Return the source of plotly.js."""
    from plotly.offline import get_plotlyjs  # imports IPython

    return Markup(get_plotlyjs())


def _embed(figures: Sequence[go.Figure], name: str) -> list[Markup]:
    """Return the figures as HTML elements of a page that has loaded plotly.js."""
    return [
        Markup(
            figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=f"{name}-{number}")
        )
        for number, figure in enumerate(figures, start=1)
    ]
