"""The report as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ease.reporting.comparison import Cell, ComparisonTable
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_table_bars, plot_table_scatter
from ease.reporting.report import TEXTS, Report, bar_rows

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


SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render_markdown(report: Report) -> str:
    """Render the report."""
    parts = [f"# {TEXTS['title']}", TEXTS["legend"]]
    parts += [f"- {paper}" for paper in report.papers]
    parts += [f"## {table.title}\n\n{table_markdown(table)}" for table in report.tables]
    parts += report.skipped
    if report.tables:
        parts += ["## Where the scores come from", format_table(report.models)]
        parts += ["## All scores", TEXTS["spreads"]]
        parts += [f"### {task}\n\n{format_table(table)}" for task, table in report.scores.items()]
    return "\n\n".join(parts) + "\n"


def table_markdown(table: ComparisonTable, width: int | None = None) -> str:
    """Render a table with its notes, without its title; columns give way to lines of at most `width`."""
    cells = [[row.name, row.origin, *(_cell_markdown(cell) for cell in row.cells)] for row in table.rows]
    grid = pd.DataFrame(cells, columns=["Model", "From", *table.headers])
    footnotes = [f"{_superscript(number)} {note}" for number, note in enumerate(table.footnotes, start=1)]
    notes = "  \n".join([*footnotes, *table.notes])
    text = f"{table.score}\n\n{format_table(grid, right=table.headers, width=width)}"
    return f"{text}\n\n{notes}" if notes else text


def _cell_markdown(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    footnote = _superscript(cell.footnote) if cell.footnote else ""
    return f"{text}{footnote} {cell.limits}".rstrip()


def _superscript(number: int) -> str:
    return str(number).translate(SUPERSCRIPTS)
