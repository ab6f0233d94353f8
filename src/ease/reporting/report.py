"""The report of scores beside the published ones, in HTML and Markdown, and the page that compares methods."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.resampling import seed_interval
from ease.evaluation.scores import AVERAGE
from ease.evaluation.scoring import BASELINES
from ease.io.files import read_data_file
from ease.lazy import go, pd
from ease.methods import UNTRAINED
from ease.options import StrictModel
from ease.reporting.comparison import ComparisonTable, build_plain_table, build_table
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import (
    NOT_RECORDED,
    RUN_PAGES,
    OwnModel,
    ScoreCell,
    differing_parameters,
    encoding_text,
    training_facts,
)
from ease.reporting.plots import method_label, picture_svg, plot_table_bars, plot_table_scatter
from ease.reporting.plots.style import TITLE_HEIGHT
from ease.reporting.published import PublishedPapers, ScoreKey
from ease.reporting.score_summaries import by_main_metric

REPORT_TEXTS: dict[str, Any] = read_data_file("ease.reporting", "texts.yml")


class ScatterPoints(NamedTuple):
    """Points of a scatter plot, and the titles of figure and axes."""

    title: str
    points: pd.DataFrame
    """Columns `label`, `kind` (published or own), `method`, `x`, `y`"""
    x_title: str
    y_title: str


@dataclass
class ScoreReport:
    """The content of the report, in order."""

    papers: list[str] = field(default_factory=list)
    tables: list[ComparisonTable] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    scatters: list[ScatterPoints] = field(default_factory=list)
    models: pd.DataFrame = field(default_factory=lambda: pd.DataFrame())  # imports pandas when called
    differences: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Parameters in which the trained models of a setting differ"""
    scores: dict[str, pd.DataFrame] = field(default_factory=dict)


class ScatterOptions(StrictModel):
    """Two tables of a paper to plot against each other."""

    paper: str
    title: str
    x: str = Field(description="number of the table of the horizontal axis")
    y: str = Field(description="number of the table of the vertical axis")


class ReportOptions(StrictModel):
    """Figures of the report in addition to those of its tables."""

    scatters: tuple[ScatterOptions, ...] = ()


def build_report(
    published: PublishedPapers,
    options: ReportOptions,
    models: Sequence[OwnModel],
    latest: Mapping[tuple[str, str], str] | None = None,
    run_pages: str = RUN_PAGES,
) -> ScoreReport:
    """Return the report: every published table for which we have a score, with our models, and our other tables.

    `latest` has the versions of the encoders `latest`, by setting and method, where other versions were scored.
    `run_pages` is the address of MLflow's pages of runs, without a run's id.
    """
    report = ScoreReport(scatters=build_scatters(options, published, models))
    for paper in published.root.values():
        tables = {number: build_table(paper, number, models) for number in paper.tables}
        if any(tables.values()):
            report.papers.append(f"{paper.short}: {paper.citation}")
        report.tables += [table for table in tables.values() if table]
        absent = [f"{number} ({paper.tables[number].title})" for number, table in tables.items() if not table]
        if absent:
            report.skipped.append(f"Tables of {paper.short} without a score of ours: {', '.join(absent)}.")
    report.tables += plain_tables(models, published.tasks())
    if models:
        report.models = model_versions(models, latest or {}, run_pages)
        report.differences = differences_by_setting(models)
        report.scores = all_scores(models)
    return report


def differences_by_setting(models: Sequence[OwnModel]) -> dict[str, pd.DataFrame]:
    """Return the training parameters in which a setting's models differ, except for those of sweeps."""
    trained = [model for model in models if model.method != UNTRAINED and model.setting != BASELINES]
    tables = {}
    for setting in dict.fromkeys(model.setting for model in trained):
        parameters = {
            method_label(model.method): model.parameters
            for model in trained
            if model.setting == setting and not model.sweep
        }
        table = differing_parameters(parameters)
        if len(table):
            tables[setting] = table
    return tables


def plain_tables(models: Sequence[OwnModel], published_tasks: set[str]) -> list[ComparisonTable]:
    """Return tables of the main scores of tasks that no paper reports, one per task and sweep."""
    tables = []
    tasks = dict.fromkeys(task for model in models for task in model.rows["task"] if task not in published_tasks)
    for task in tasks:
        task_models = [model for model in models if task in set(model.rows["task"])]
        rows = pd.concat([model.rows for model in task_models])
        main = rows[by_main_metric(rows) & (rows["task"] == task)]
        metric = str(main["metric"].iloc[0])
        subsets = list(map(str, main["subset"].unique()))
        # The average of one subset would repeat it.
        if len(subsets) == 2:
            subsets = [subset for subset in subsets if subset != AVERAGE]
        columns = {subset: ScoreKey(task, subset, metric) for subset in subsets}
        for sweep in dict.fromkeys(model.sweep for model in models):
            title = f"Task {task}"
            if sweep:
                title += f", sweep {sweep}"
            sweep_models = [model for model in task_models if model.sweep == sweep]
            if sweep_models:
                tables.append(build_plain_table(title, metric.replace("_", " "), columns, sweep_models))
    return tables


def build_scatters(
    options: ReportOptions, published: PublishedPapers, models: Sequence[OwnModel]
) -> list[ScatterPoints]:
    """Return the points of each pair of tables, by their average columns, if one of our models has both averages."""
    scatters = []
    for scatter in options.scatters:
        points = _scatter_points(scatter, published, models)
        if "own" in set(points.points["kind"]):
            scatters.append(points)
    return scatters


def _scatter_points(scatter: ScatterOptions, published: PublishedPapers, models: Sequence[OwnModel]) -> ScatterPoints:
    """Return the models that have scores in the last columns, the averages, of both tables."""
    paper = published.root.get(scatter.paper)
    if paper is None or not {scatter.x, scatter.y} <= paper.tables.keys():
        tables = "; ".join(f"{name}: {', '.join(paper.tables)}" for name, paper in published.root.items())
        raise EaseError(
            f"`report.scatters` names the tables {scatter.x} and {scatter.y} of {scatter.paper!r}, but the published "
            f"tables are {tables}."
        )
    x_table = paper.tables[scatter.x]
    y_table = paper.tables[scatter.y]
    rows: list[tuple[Any, ...]] = []
    for name in x_table.rows:
        if name in y_table.rows:
            method = paper.models[name].method or ""
            rows.append((name, "published", method, x_table.rows[name][-1], y_table.rows[name][-1]))
    x_header = x_table.columns[-1].header
    y_header = y_table.columns[-1].header
    x_keys = paper.score_keys(scatter.x, x_header)
    y_keys = paper.score_keys(scatter.y, y_header)
    for model in models:
        rows.append((model.label, "own", model.method, model.measure(x_keys).value, model.measure(y_keys).value))
    points = pd.DataFrame(rows, columns=["label", "kind", "method", "x", "y"]).dropna()
    x_title = f"Table {scatter.x}: {x_table.score}<br>{x_header}"
    y_title = f"Table {scatter.y}: {y_table.score}<br>{y_header}"
    return ScatterPoints(scatter.title, points, x_title, y_title)


DIGEST_DIGITS = 12
"""Digits of a digest that are shown"""

DIGEST_COLUMN = "Data (SHA-256)"


def model_versions(models: Sequence[OwnModel], latest: Mapping[tuple[str, str], str], run_pages: str) -> pd.DataFrame:
    """Return one row per model and version of the code that scored it; a version that is not `latest` says so."""
    rows = [
        {
            "Model": model.name,
            "Version or name": _version_text(model, latest),
            "Starts from": model.base,
            "Pooling": model.pooling or "the model's own",
            "Encoded with": encoding_text(rows) or NOT_RECORDED,
            "Seeds": ", ".join(seed or NOT_RECORDED for seed in model.seeds) or "none",
            **training_facts(rows.to_dict("records"), run_pages),
            "Code": code or NOT_RECORDED,
            "Scores": len(rows),
        }
        for model in models
        for code, rows in model.rows.groupby("code", sort=False)
    ]
    return pd.DataFrame(rows)


def _version_text(model: OwnModel, latest: Mapping[tuple[str, str], str]) -> str:
    text = model.model or NOT_RECORDED
    if not model.sweep and (model.setting, model.method) in latest:
        text += f" (`latest` is {latest[model.setting, model.method]}, not scored)"
    return text


def all_scores(models: Sequence[OwnModel]) -> dict[str, pd.DataFrame]:
    """Return all scores of each task as text: one row per subset and metric, one column per model.

    A standard deviation over training seeds follows ±; one over repetitions of the task is in parentheses. The 95%
    interval, in square brackets, is over the seeds if there are several, else over the test items.
    """
    rows = pd.concat([model.rows.assign(label=model.label) for model in models], ignore_index=True)
    keys = ["subset", "metric"]
    tables = {}
    for task, group in rows.groupby("task", sort=False):
        labels = list(group["label"].unique())
        # The average of one subset would repeat it.
        if group["subset"].nunique() == 2:
            group = group[group["subset"] != AVERAGE]
        cells = group.groupby([*keys, "label"], sort=False).apply(_score_text, include_groups=False)
        # `unstack` sorts the rows: put them back into the order of the scores.
        order = pd.MultiIndex.from_frame(group[keys].drop_duplicates())
        wide = cells.unstack("label")[labels].reindex(order)
        wide[DIGEST_COLUMN] = group.groupby(keys, sort=False)["data"].agg(_digests_text)
        names = {"subset": "Subset", "metric": "Metric"}
        tables[str(task)] = wide.fillna("").reset_index().rename(columns=names)
    return tables


def _digests_text(data: Iterable[str]) -> str:
    """Format the different digests of data; a digest is empty if it is unknown."""
    return "; ".join(sorted({digest[:DIGEST_DIGITS] for digest in data if digest})) or NOT_RECORDED


def _score_text(scores: pd.DataFrame) -> str:
    """Format a score with its standard deviation, interval and note."""
    text = f"{scores['value'].mean():.2f}"
    first = scores.iloc[0]
    low = first["low"]
    high = first["high"]
    deviations = scores["deviation"].dropna()
    if len(scores) > 1:
        text += f" ± {scores['value'].std():.2f}"
        low, high = seed_interval(list(scores["value"]))
    elif len(deviations):
        text += f" ({deviations.iloc[0]:.2f})"
    if pd.notna(low) and pd.notna(high):
        text += f" [{low:.2f}, {high:.2f}]"
    notes = "; ".join(note for note in scores["note"].unique() if note)
    if notes:
        text += f", {notes}"
    return text


def bar_rows(table: ComparisonTable) -> pd.DataFrame:
    """Return scores of our models and of their published counterparts, in the columns that ours have.

    One row per score: `label`, `kind` (published or own), `method`, `column`, `value`, and the limits of its
    95% interval, `low` and `high`.
    """
    counterparts = {row.name.removeprefix("difference from ") for row in table.rows if row.kind == "difference"}
    published_rows = [row for row in table.rows if row.kind == "published" and row.name in counterparts]
    own_rows = [row for row in table.rows if row.kind == "own"]
    rows = []
    for row in (*published_rows, *own_rows):
        for place, (header, cell) in enumerate(zip(table.headers, row.cells, strict=True)):
            is_own_column = any(own_row.cells[place].value is not None for own_row in own_rows)
            if is_own_column and cell.value is not None:
                low, high = cell.interval or (None, None)
                rows.append((row.label, row.kind, row.method, header, cell.value, low, high))
    return pd.DataFrame(rows, columns=["label", "kind", "method", "column", "value", "low", "high"])


PLOTLY_CONFIG = {"displayModeBar": False, "responsive": True}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def render_html(report: ScoreReport, *, interactive: bool = True) -> str:
    """Return the report as a page, `interactive` with Plotly embedded, else with pictures of the figures."""
    bars = [plot_table_bars([(table.title, bar_rows(table))]) for table in report.tables]
    scatters = [plot_table_scatter([points]) for points in report.scatters]
    if interactive:
        figures = {"bars": _embed(bars, "bars"), "scatters": _embed(scatters, "scatter")}
    else:
        figures = {"bars": _pictures(bars), "scatters": _pictures(scatters)}
    return _render("report", with_plotly=interactive and bool(bars), report=report, **REPORT_TEXTS, **figures)


def render_comparison(
    table: pd.DataFrame,
    figures: Mapping[str, go.Figure],
    origin: str,
    differences: pd.DataFrame | None = None,
    models: pd.DataFrame | None = None,
) -> str:
    """Return the page with a table of scores (see `score_table`) and figures, of which the first is beside the table.

    Args:
        table: Scores by task, subset and metric, with a column for each method.
        figures: Figures by their headings.
        origin: What the methods have in common, as a part of the first sentence.
        differences: Training parameters in which the methods differ (see `differing_parameters`).
        models: Version and training of each method's encoder.
    """
    groups = {
        names: [(row[1], [round(figure, 1) for figure in row[3:]]) for row in rows.itertuples(index=False)]
        for names, rows in table.groupby(["task", "metric"], sort=False)
    }
    # A task with several metrics is named once, with the number of subsets of its first metric.
    tasks: dict[str, str] = {}
    for (task, _), rows in groups.items():
        count = sum(name != AVERAGE for name, _ in rows)
        text = str(task)
        if count > 1:
            text += f" ({count} subsets)"
        tasks.setdefault(task, text)
    return _render(
        "comparison",
        with_plotly=True,
        methods=[method_label(method) for method in table.columns[3:]],
        tasks=list(tasks.values()),
        groups=groups,
        metrics={name: REPORT_TEXTS["metrics"].get(name) for _, name in groups},
        origin=origin,
        differences=pd.DataFrame() if differences is None else differences,
        models=pd.DataFrame() if models is None else models,
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
        # Imported here, since it imports IPython.
        from plotly.offline import get_plotlyjs

        plotly = Markup(get_plotlyjs())
    return environment.get_template(f"{name}.html.j2").render(average=AVERAGE, plotly=plotly, **values)


def _pictures(figures: Sequence[go.Figure]) -> list[Markup]:
    """Return pictures of the figures as HTML elements, each on white: its texts are dark even in a dark theme."""
    style = "background: #fff; max-width: 100%"
    sources = (b64encode(picture_svg(figure).encode()).decode() for figure in figures)
    return [Markup(f'<img alt="" style="{style}" src="data:image/svg+xml;base64,{source}">') for source in sources]


def _embed(figures: Sequence[go.Figure], name: str) -> list[Markup]:
    """Return the figures as HTML elements of a page that has loaded plotly.js and has the titles as headings."""
    elements = []
    for number, figure in enumerate(figures, start=1):
        layout = figure.layout
        # The page has the title as a heading: the figure gives back its height.
        lower = {"margin_t": layout.margin.t - TITLE_HEIGHT, "height": layout.height - TITLE_HEIGHT}
        untitled = go.Figure(figure).update_layout(title_text=None, legend_y=1, **lower)
        options = {"full_html": False, "include_plotlyjs": False, "config": PLOTLY_CONFIG}
        elements.append(Markup(untitled.to_html(div_id=f"{name}-{number}", **options)))
    return elements


def render_markdown(report: ScoreReport) -> str:
    """Return the report as Markdown."""
    parts = [f"# {REPORT_TEXTS['title']}", REPORT_TEXTS["legend"]]
    parts += [f"- {paper}" for paper in report.papers]
    parts += [f"## {table.title}\n\n{table_markdown(table)}" for table in report.tables]
    if report.tables:
        parts += ["## Where the scores come from", format_table(report.models)]
        for setting, table in report.differences.items():
            parts += [f"### Parameters that differ between the models of {setting}", format_table(table)]
        parts += ["## All scores", REPORT_TEXTS["spreads"]]
        parts += [f"### {task}\n\n{format_table(table)}" for task, table in report.scores.items()]
    return "\n\n".join([*parts, *report.skipped]) + "\n"


def table_markdown(table: ComparisonTable, width: int | None = None) -> str:
    """Return a table as Markdown with its notes, without its title, in lines of at most `width` characters."""
    cells = [[row.name, row.origin, *map(_cell_markdown, row.cells)] for row in table.rows]
    grid = pd.DataFrame(cells, columns=["Model", "From", *table.headers])
    footnotes = [f"{number}".translate(SUPERSCRIPTS) + f" {note}" for number, note in enumerate(table.footnotes, 1)]
    text = f"{table.score}\n\n{format_table(grid, right=table.headers, width=width)}"
    # Two spaces at its end break a line in Markdown.
    notes = "  \n".join([*footnotes, *table.notes])
    if notes:
        text += f"\n\n{notes}"
    return text


def _cell_markdown(cell: ScoreCell) -> str:
    """Return a score with its footnote's number and its interval, in bold if it is among the best."""
    text = cell.text
    if cell.best:
        text = f"**{text}**"
    return f"{text}{str(cell.footnote or '').translate(SUPERSCRIPTS)} {cell.limits}".rstrip()
