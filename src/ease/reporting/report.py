"""The report of scores beside the published ones, in HTML and Markdown, and the page that compares methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.resampling import seed_interval
from ease.evaluation.tasks import AVERAGE, get_task
from ease.io.files import read_data_file
from ease.options import StrictModel
from ease.reporting.comparison import ComparisonTable, build_plain_table, build_table
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import Cell, OwnModel, encoding_text
from ease.reporting.plots import method_label, plot_table_bars, plot_table_scatter
from ease.reporting.plots.style import TITLE
from ease.reporting.published import Published, Source

TEXTS: dict[str, Any] = read_data_file("ease.reporting", "texts.yml")


class Points(NamedTuple):
    """Columns `label`, `kind` (published or own), `method`, `x`, `y`; titles of figure and axes."""

    title: str
    points: pd.DataFrame
    x_title: str
    y_title: str


@dataclass
class Report:
    """The content of the report, in order."""

    papers: list[str] = field(default_factory=list)
    tables: list[ComparisonTable] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    scatters: list[Points] = field(default_factory=list)
    models: pd.DataFrame = field(default_factory=pd.DataFrame)
    scores: dict[str, pd.DataFrame] = field(default_factory=dict)


class Scatter(StrictModel):
    """Two tables of a paper to plot against each other."""

    paper: str
    title: str
    x: str = Field(description="number of the table of the horizontal axis")
    y: str = Field(description="number of the table of the vertical axis")


class ReportOptions(StrictModel):
    """Figures of the report beside the tables' own."""

    scatters: tuple[Scatter, ...] = ()


def build_report(published: Published, options: ReportOptions, own: Sequence[OwnModel]) -> Report:
    """Add our models to every published table for which we have a score."""
    report = Report(scatters=build_scatters(options, published, own))
    for paper in published.root.values():
        built = {number: build_table(paper, number, own) for number in paper.tables}
        report.tables += [table for table in built.values() if table]
        report.papers += [f"{paper.short}: {paper.citation}"] if any(built.values()) else []
        absent = [f"{number} ({paper.tables[number].title})" for number, table in built.items() if not table]
        if absent:
            report.skipped.append(f"Tables of {paper.short} without a score of ours: {', '.join(absent)}.")
    report.tables += plain_tables(own, published.tasks())
    if own:
        report.models, report.scores = model_versions(own), all_scores(own)
    return report


def plain_tables(own: Sequence[OwnModel], published: set[str]) -> list[ComparisonTable]:
    """Return tables of the main scores of tasks that no paper reports, one per task and sweep."""
    tables = []
    for task in dict.fromkeys(task for model in own for task in model.rows["task"] if task not in published):
        metric = get_task(task).METRIC
        models = [model for model in own if task in set(model.rows["task"])]
        rows = pd.concat([model.rows for model in models])
        subsets = rows.loc[(rows["task"] == task) & (rows["metric"] == metric), "subset"].unique()
        shown = [name for name in map(str, subsets) if name != AVERAGE or len(subsets) != 2]  # of one subset
        columns = {subset: Source(task, subset, metric) for subset in shown}
        for sweep in dict.fromkeys(model.sweep for model in own):
            title = f"Task {task}, sweep {sweep}" if sweep else f"Task {task}"
            if trained := [model for model in models if model.sweep == sweep]:
                tables.append(build_plain_table(title, metric.replace("_", " "), columns, trained))
    return tables


def build_scatters(options: ReportOptions, published: Published, own: Sequence[OwnModel]) -> list[Points]:
    """Return the points of each pair of tables, by their average columns, if one of our models has both averages."""
    found = []
    for scatter in options.scatters:
        paper, numbers = published.root.get(scatter.paper), (scatter.x, scatter.y)
        if paper is None or not set(numbers) <= paper.tables.keys():
            raise EaseError(
                f"`report.scatters` names the tables {scatter.x} and {scatter.y} of {scatter.paper!r}; "
                f"published are {published}."
            )
        tables = [paper.tables[number] for number in numbers]
        rows: list[tuple[Any, ...]] = [
            (name, "published", paper.models[name].method or "", *(table.rows[name][-1] for table in tables))
            for name in tables[0].rows
            if name in tables[1].rows
        ]
        averages = [
            paper.sources(number, table.columns[-1].header) for number, table in zip(numbers, tables, strict=True)
        ]
        rows += [
            (model.label, "own", model.method, *(model.measure(sources).value for sources in averages)) for model in own
        ]
        points = pd.DataFrame(rows, columns=["label", "kind", "method", "x", "y"]).dropna()
        if "own" in set(points["kind"]):
            titles = (
                f"Table {number}: {table.score}<br>{table.columns[-1].header}"
                for number, table in zip(numbers, tables, strict=True)
            )
            found.append(Points(scatter.title, points, *titles))
    return found


DIGITS = 12  # digits of a digest that are shown

UNKNOWN = "not recorded"
DATA = "Data (SHA-256)"


def model_versions(own: Sequence[OwnModel]) -> pd.DataFrame:
    """Return one row per model and version of the code that scored it."""
    rows = [
        {
            "Model": model.name,
            "Version or name": model.model or UNKNOWN,
            "Starts from": model.base,
            "Pooling": model.pooling or "the model's own",
            "Encoded with": encoding_text(rows) or UNKNOWN,
            "Seeds": ", ".join(seed or UNKNOWN for seed in model.seeds) or "none",
            "Code": code or UNKNOWN,
            "Scores": len(rows),
        }
        for model in own
        for code, rows in model.rows.groupby("code", sort=False)
    ]
    return pd.DataFrame(rows)


def all_scores(own: Sequence[OwnModel]) -> dict[str, pd.DataFrame]:
    """Return all scores of each task as text: one row per subset and metric, one column per model.

    A standard deviation over training seeds follows ±; one over repetitions of the task is in parentheses. The 95%
    interval, in square brackets, is over the seeds if there are several, else over the test items.
    """
    rows = pd.concat([model.rows.assign(label=model.label) for model in own], ignore_index=True)
    keys, tables = ["subset", "metric"], {}
    for task, group in rows.groupby("task", sort=False):
        labels = list(group["label"].unique())
        if group["subset"].nunique() == 2:
            group = group[group["subset"] != AVERAGE]  # of one subset
        cells = group.groupby([*keys, "label"], sort=False).apply(_score_text, include_groups=False)
        order = pd.MultiIndex.from_frame(group[keys].drop_duplicates())
        wide = cells.unstack("label")[labels].reindex(order)
        wide[DATA] = group.groupby(keys, sort=False)["data"].agg(
            lambda data: "; ".join(sorted({one[:DIGITS] for one in data if one})) or UNKNOWN
        )
        names = {"subset": "Subset", "metric": "Metric"}
        tables[str(task)] = wide.fillna("").reset_index().rename(columns=names)
    return tables


def _score_text(scores: pd.DataFrame) -> str:
    """Format a score with its standard deviation, interval and note."""
    text, first = f"{scores['value'].mean():.2f}", scores.iloc[0]
    low, high = first["low"], first["high"]
    deviations = scores["deviation"].dropna()
    if len(scores) > 1:
        text += f" ± {scores['value'].std():.2f}"
        low, high = seed_interval(list(scores["value"]))
    elif len(deviations):
        text += f" ({deviations.iloc[0]:.2f})"
    if pd.notna(low) and pd.notna(high):
        text += f" [{low:.2f}, {high:.2f}]"
    notes = [note for note in scores["note"].unique() if note]
    return f"{text}, {'; '.join(notes)}" if notes else text


def bar_rows(table: ComparisonTable) -> pd.DataFrame:
    """Return scores of our models and of their published counterparts, in the columns that ours have.

    One row per score: `label`, `kind` (published or own), `method`, `column`, `value`, and the limits of its
    95% interval, `low` and `high`.
    """
    named = {row.name.removeprefix("difference from ") for row in table.rows if row.kind == "difference"}
    compared = [row for row in table.rows if row.kind == "published" and row.name in named]
    own = [row for row in table.rows if row.kind == "own"]
    ours = [any(row.cells[place].value is not None for row in own) for place in range(len(table.headers))]
    rows = [
        (row.label, row.kind, row.method, header, cell.value, *(cell.interval or (None, None)))
        for row in (*compared, *own)
        for header, cell, shown in zip(table.headers, row.cells, ours, strict=True)
        if shown and cell.value is not None
    ]
    return pd.DataFrame(rows, columns=["label", "kind", "method", "column", "value", "low", "high"])


CONFIG = {"displayModeBar": False, "responsive": True}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render_html(report: Report) -> str:
    """Render the report with Plotly embedded."""
    bars = [plot_table_bars([(table.title, bar_rows(table))]) for table in report.tables]
    scatters = [plot_table_scatter([points]) for points in report.scatters]
    figures = {"bars": _embed(bars, "bars"), "scatters": _embed(scatters, "scatter")}
    return _render("report", with_plotly=bool(bars), report=report, **TEXTS, **figures)


def render_comparison(table: pd.DataFrame, figures: Mapping[str, go.Figure], about: str) -> str:
    """Render a table of scores (see `score_table`), with figures by their headings, the first one beside the table.

    `about`: What the methods share, as a part of the first sentence.
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
        tasks=[task + (f" ({count} subsets)" if count > 1 else "") for task, count in reversed(subsets.items())],
        groups=groups,
        metrics={name: TEXTS["metrics"].get(name) for _, name in groups},
        about=about,
        today=datetime.now(UTC).date(),
        figures=dict(zip(figures, _embed(list(figures.values()), "figure"), strict=True)),
    )


def _render(name: str, *, with_plotly: bool, **values: Any) -> str:
    loader = PackageLoader("ease.reporting")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    plotly = ""
    if with_plotly:
        from plotly.offline import get_plotlyjs  # imports IPython

        plotly = Markup(get_plotlyjs())
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
    footnotes = [f"{number}".translate(SUPERSCRIPTS) + f" {note}" for number, note in enumerate(table.footnotes, 1)]
    text = f"{table.score}\n\n{format_table(grid, right=table.headers, width=width)}"
    notes = "  \n".join([*footnotes, *table.notes])
    return f"{text}\n\n{notes}" if notes else text
