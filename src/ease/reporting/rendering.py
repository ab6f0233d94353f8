"""The report as one self-contained HTML file and as Markdown; the page that compares methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ease.evaluation.tasks import AVERAGE
from ease.reporting.comparison import Cell, ComparisonTable
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import method_label, plot_table_bars, plot_table_scatter
from ease.reporting.plots.style import TITLE
from ease.reporting.report import TEXTS, Report, bar_rows

CONFIG = {"displayModeBar": False, "responsive": True}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render_html(report: Report) -> str:
    """Render the report with Plotly embedded."""
    bars = [plot_table_bars([(table.title, bar_rows(table))]) for table in report.tables]
    scatters = [plot_table_scatter([points]) for points in report.scatters]
    figures = {"bars": _embed(bars, "bars"), "scatters": _embed(scatters, "scatter")}
    return _render("report", with_plotly=bool(bars), report=report, **TEXTS, **figures)


def render_comparison(table: pd.DataFrame, figures: Mapping[str, go.Figure], about: str) -> str:
    """Render a table of scores (see `score_table`), with figures by their headings.

    Args:
        table: Scores, one column per method.
        figures: The first one stands beside the table, the others below.
        about: What the methods share, as a part of the first sentence.
    """
    groups = {
        names: [(row[1], [round(figure, 1) for figure in row[3:]]) for row in rows.itertuples(index=False)]
        for names, rows in table.groupby(["task", "metric"], sort=False)
    }
    subsets = {task: sum(name != AVERAGE for name, _ in rows) for (task, _), rows in reversed(groups.items())}
    return _render(
        "comparison",
        with_plotly=True,
        methods=[method_label(method) for method in table.columns[3:]],
        tasks=[
            task + (f" ({count} subsets)" if count > 1 else "") for task, count in reversed(subsets.items())
        ],
        groups=groups,
        metrics={name: TEXTS["metrics"].get(name) for _, name in groups},
        about=about,
        today=datetime.now(UTC).date(),
        figures=dict(zip(figures, _embed(list(figures.values()), "figure"), strict=True)),
    )


def _render(name: str, *, with_plotly: bool, **values: Any) -> str:
    from plotly.offline import get_plotlyjs  # imports IPython

    loader = PackageLoader("ease.reporting")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    plotly = Markup(get_plotlyjs()) if with_plotly else ""
    return environment.get_template(f"{name}.html.j2").render(average=AVERAGE, plotly=plotly, **values)


def _embed(figures: Sequence[go.Figure], name: str) -> list[Markup]:
    """Return the figures as HTML elements of a page that has loaded plotly.js and has the titles as headings."""
    elements = []
    for number, figure in enumerate(figures, start=1):
        layout = figure.layout
        lower = {"margin_t": layout.margin.t - TITLE, "height": layout.height - TITLE}
        untitled = go.Figure(figure).update_layout(title_text=None, legend_y=1, **lower)
        options = {"full_html": False, "include_plotlyjs": False, "config": CONFIG}
        elements.append(Markup(untitled.to_html(div_id=f"{name}-{number}", **options)))
    return elements


def render_markdown(report: Report) -> str:
    """Render the report."""
    parts = [f"# {TEXTS['title']}", TEXTS["legend"]]
    parts += [f"- {paper}" for paper in report.papers]
    parts += [f"## {table.title}\n\n{table_markdown(table)}" for table in report.tables]
    if report.tables:
        parts += ["## Where the scores come from", format_table(report.models)]
        parts += ["## All scores", TEXTS["spreads"]]
        parts += [f"### {task}\n\n{format_table(table)}" for task, table in report.scores.items()]
    return "\n\n".join([*parts, *report.skipped]) + "\n"


def table_markdown(table: ComparisonTable, width: int | None = None) -> str:
    """Render a table with its notes, without its title; columns give way to lines of at most `width`."""

    def cell_text(cell: Cell) -> str:
        text = f"**{cell.text}**" if cell.best else cell.text
        return f"{text}{str(cell.footnote or '').translate(SUPERSCRIPTS)} {cell.limits}".rstrip()

    cells = [[row.name, row.origin, *map(cell_text, row.cells)] for row in table.rows]
    grid = pd.DataFrame(cells, columns=["Model", "From", *table.headers])
    footnotes = [
        f"{number}".translate(SUPERSCRIPTS) + f" {note}" for number, note in enumerate(table.footnotes, 1)
    ]
    text = f"{table.score}\n\n{format_table(grid, right=table.headers, width=width)}"
    notes = "  \n".join([*footnotes, *table.notes])
    return f"{text}\n\n{notes}" if notes else text
