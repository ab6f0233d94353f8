"""The content of the report: tables, figures, and the names of omitted tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd
from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.resampling import Interval, seed_interval
from ease.evaluation.tasks import AVERAGE, get_task
from ease.io.data_files import read_data_file
from ease.io.models import StrictModel
from ease.reporting.comparison import ComparisonTable, Row, build_plain_table, build_table
from ease.reporting.own import OwnModel, encoding_text
from ease.reporting.published import Paper, Published, Source

TEXTS: dict[str, Any] = read_data_file("ease.reporting", "texts.yml")


@dataclass
class Report:
    """The content of the report, in order."""

    papers: list[str] = field(default_factory=list)
    tables: list[ComparisonTable] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    scatters: list[Points] = field(default_factory=list)
    models: pd.DataFrame = field(default_factory=pd.DataFrame)
    scores: dict[str, pd.DataFrame] = field(default_factory=dict)


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
    sweeps = dict.fromkeys(model.sweep for model in own)
    for task in dict.fromkeys(task for model in own for task in model.rows["task"] if task not in published):
        metric = get_task(task).METRIC
        scored = [
            model.rows[(model.rows["task"] == task) & (model.rows["metric"] == metric)] for model in own
        ]
        columns = {
            subset: Source(task, subset, metric) for rows in scored for subset in map(str, rows["subset"])
        }
        if len(columns) == 2:
            columns.pop(AVERAGE, None)  # of one subset
        for sweep in sweeps:
            title = f"Task {task}, sweep {sweep}" if sweep else f"Task {task}"
            models = [model for model in own if model.sweep == sweep and task in set(model.rows["task"])]
            if models:
                tables.append(build_plain_table(title, metric.replace("_", " "), columns, models))
    return tables


class Scatter(StrictModel):
    """Two tables of a paper to plot against each other."""

    paper: str
    title: str
    x: str = Field(description="number of the table of the horizontal axis")
    y: str = Field(description="number of the table of the vertical axis")


class ReportOptions(StrictModel):
    """Figures of the report beside the tables' own."""

    scatters: tuple[Scatter, ...] = ()


class Points(NamedTuple):
    """Columns `label`, `kind` (published or own), `method`, `x`, `y`; titles of figure and axes."""

    title: str
    points: pd.DataFrame
    x_title: str
    y_title: str


def build_scatters(options: ReportOptions, published: Published, own: Sequence[OwnModel]) -> list[Points]:
    """Return the points of each pair of tables for which one of our models has scores on both."""
    return [points for scatter in options.scatters if (points := _points_of(scatter, published, own))]


def _points_of(scatter: Scatter, published: Published, own: Sequence[OwnModel]) -> Points | None:
    paper = published.root.get(scatter.paper)
    if paper is None or not {scatter.x, scatter.y} <= paper.tables.keys():
        raise EaseError(
            f"`report.scatters` names the tables {scatter.x} and {scatter.y} of {scatter.paper!r}; "
            f"published are {published}."
        )
    numbers = (scatter.x, scatter.y)
    single = [[column.header for column in paper.tables[number].columns if column.task] for number in numbers]
    axes = [
        {header: paper.sources(number, header)[0] for header in headers}
        for number, headers in zip(numbers, single, strict=True)
    ]
    scored = [m for m in own if all(any(_has(m, source) for source in axis.values()) for axis in axes)]
    # Means must be over the same columns, so a column without a score of one of our models is dropped for all.
    shared = [
        {header: source for header, source in axis.items() if all(_has(model, source) for model in scored)}
        for axis in axes
    ]
    if not scored or not all(shared):
        return None
    rows = [
        {
            "label": name,
            "kind": "published",
            "method": paper.models[name].method or "",
            **dict(zip("xy", means, strict=True)),
        }
        for name in paper.tables[scatter.x].rows
        if None not in (means := _published_means(paper, name, numbers, shared))
    ]
    for model in scored:
        x, y = (model.measure(list(axis.values())).mean for axis in shared)
        rows.append({"label": model.label, "kind": "own", "method": model.method, "x": x, "y": y})
    titles = []
    for number, axis, whole in zip(numbers, shared, axes, strict=True):
        every = len(axis) == len(whole)
        over = f"all {len(whole)}" if every else f"{len(axis)} of {len(whole)}: {', '.join(axis)}"
        titles.append(f"Table {number}: {paper.tables[number].score}<br>mean over {over}")
    return Points(scatter.title, pd.DataFrame(rows), *titles)


def _has(model: OwnModel, source: Source) -> bool:
    return model.measure([source]).mean is not None


def _published_means(
    paper: Paper, model: str, numbers: Sequence[str], shared: Sequence[dict[str, Source]]
) -> list[float | None]:
    """Return a published model's mean over the shared columns of each table, if the paper gives all scores."""
    means: list[float | None] = []
    for number, axis in zip(numbers, shared, strict=True):
        table = paper.tables[number]
        figures = [table.figure(model, header) if model in table.rows else None for header in axis]
        means.append(None if None in figures else fmean(figure for figure in figures if figure is not None))
    return means


DIGITS = 12
"""Digits of a digest that are shown."""

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
    return {str(task): _scores_of(group) for task, group in rows.groupby("task", sort=False)}


def _scores_of(rows: pd.DataFrame) -> pd.DataFrame:
    keys, labels = ["subset", "metric"], list(rows["label"].unique())
    if rows["subset"].nunique() == 2:
        rows = rows[rows["subset"] != AVERAGE]  # of one subset
    cells = rows.groupby([*keys, "label"], sort=False).apply(_score_text, include_groups=False)
    wide = cells.unstack("label")[labels].reindex(pd.MultiIndex.from_frame(rows[keys].drop_duplicates()))
    wide[DATA] = rows.groupby(keys, sort=False).apply(_data_text, include_groups=False)
    return wide.fillna("").reset_index().rename(columns={"subset": "Subset", "metric": "Metric"})


def _data_text(scores: pd.DataFrame) -> str:
    """Return the version of the data, or each model's version if they differ."""
    known = scores[scores["data"] != ""]
    models = {str(data)[:DIGITS]: ", ".join(own["label"].unique()) for data, own in known.groupby("data")}
    if len(models) > 1:
        return "; ".join(f"{data} ({names})" for data, names in models.items())
    return next(iter(models), UNKNOWN)


def _limits(scores: pd.DataFrame) -> Interval | None:
    if len(scores) > 1:
        return seed_interval(list(scores["value"]))
    limits = scores[["low", "high"]].iloc[0].astype(float)
    return None if limits.isna().any() else Interval(*limits)


def _score_text(scores: pd.DataFrame) -> str:
    """Format a score with its standard deviation and note."""
    deviations = scores["deviation"].dropna()
    text = f"{scores['value'].mean():.2f}"
    if len(scores) > 1:
        text += f" ± {scores['value'].std():.2f}"
    elif len(deviations):
        text += f" ({deviations.iloc[0]:.2f})"
    if limits := _limits(scores):
        text += f" [{limits.low:.2f}, {limits.high:.2f}]"
    notes = [note for note in scores["note"].unique() if note]
    return f"{text}, {'; '.join(notes)}" if notes else text


BAR_COLUMNS = ["label", "kind", "method", "column", "value", "low", "high"]


def bar_rows(table: ComparisonTable) -> pd.DataFrame:
    """Return scores of our models and of the published ones to compare with, in the columns that ours have.

    Published models are the counterparts of ours; without counterparts, the best one of each encoder by the last
    column, which is the average.

    Returns:
        One row per score: `label`, `kind` (published or own), `method`, `column`, `value`, and the limits of its
        95% interval, `low` and `high`.
    """
    named = {row.name.removeprefix("difference from ") for row in table.rows if row.kind == "difference"}
    compared = [row for row in table.rows if row.kind == "published" and row.name in named]
    own = [row for row in table.rows if row.kind == "own"]
    ours = [any(row.cells[place].value is not None for row in own) for place in range(len(table.headers))]
    rows = [
        (row.label, row.kind, row.method, header, cell.value, *(cell.interval or (None, None)))
        for row in (*(compared or best_published(table)), *own)
        for header, cell, shown in zip(table.headers, row.cells, ours, strict=True)
        if shown and cell.value is not None
    ]
    return pd.DataFrame(rows, columns=BAR_COLUMNS)


def best_published(table: ComparisonTable) -> list[Row]:
    """Return the published model of each encoder with the highest score in the last column."""
    best: dict[str, Row] = {}
    for row in table.rows:
        if row.kind == "published" and _last_figure(row) > _last_figure(best.get(row.base)):
            best[row.base] = row
    return list(best.values())


def _last_figure(row: Row | None) -> float:
    figures = [cell.value for cell in row.cells if cell.value is not None] if row else []
    return figures[-1] if figures else float("-inf")
