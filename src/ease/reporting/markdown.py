"""The report as Markdown."""

from __future__ import annotations

import pandas as pd

from ease.reporting.comparison import Cell, ComparisonTable
from ease.reporting.markdown_tables import format_table
from ease.reporting.report import TEXTS, Report

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render_markdown(report: Report) -> str:
    """Render the report."""
    parts = [f"# {TEXTS['title']}", TEXTS["legend"]]
    parts += [f"- {paper}" for paper in report.papers]
    parts += [] if report.tables else [TEXTS["no_scores"]]
    parts += [f"## {table.title}\n\n{table_markdown(table)}" for table in report.tables]
    parts += report.skipped
    if report.tables:
        parts += ["## Where the scores come from", format_table(report.models)]
        parts += ["## All scores", TEXTS["spreads"]]
        parts += [f"### {task}\n\n{format_table(table)}" for task, table in report.scores.items()]
    return "\n\n".join(parts) + "\n"


def table_markdown(table: ComparisonTable) -> str:
    """Render a table with its notes, without its title."""
    cells = [[row.name, row.origin, *(_cell_markdown(cell) for cell in row.cells)] for row in table.rows]
    grid = pd.DataFrame(cells, columns=["Model", "From", *table.headers])
    footnotes = [f"{_superscript(number)} {note}" for number, note in enumerate(table.footnotes, start=1)]
    notes = "  \n".join([*footnotes, *table.notes])
    text = f"{table.score}\n\n{format_table(grid, right=table.headers)}"
    return f"{text}\n\n{notes}" if notes else text


def _cell_markdown(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    footnote = _superscript(cell.footnote) if cell.footnote else ""
    return f"{text}{footnote} {cell.limits}".rstrip()


def _superscript(number: int) -> str:
    return str(number).translate(SUPERSCRIPTS)
