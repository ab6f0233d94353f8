"""The report as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ease.reporting.figures import bar_rows
from ease.reporting.plots import plot_table_bars, plot_table_scatter
from ease.reporting.report import TEXTS, Report

CONFIG = {"displaylogo": False, "responsive": True}


def render_html(report: Report) -> str:
    """Render the report with Plotly embedded."""
    bars = [plot_table_bars([(table.title, bar_rows(table))]) for table in report.tables]
    scatters = [plot_table_scatter([points]) for points in report.scatters]
    figures = {"bars": _embed(bars, "bars"), "scatters": _embed(scatters, "scatter")}
    plotly = _plotly() if bars else ""
    return _template("report").render(report=report, plotly=plotly, **TEXTS, **figures)


def render_comparison(table: pd.DataFrame, figures: Mapping[str, go.Figure]) -> str:
    """Render a table of scores (see `score_table`), with figures by their headings below it."""
    shown = dict(zip(figures, _embed(list(figures.values()), "figure"), strict=True))
    return _template("comparison").render(table=table, plotly=_plotly(), figures=shown)


def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("ease.reporting"), autoescape=True, undefined=StrictUndefined
    )
    environment.trim_blocks = environment.lstrip_blocks = True
    return environment.get_template(f"{name}.html.j2")


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
