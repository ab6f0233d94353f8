"""The content of the report: tables, figures, and the names of omitted tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from ease.evaluation.tasks import get_task
from ease.io.data_files import read_data_file
from ease.reporting.comparison import ComparisonTable, build_plain_table, build_table
from ease.reporting.own import OwnModel
from ease.reporting.provenance import all_scores, model_versions
from ease.reporting.published import Published, Source
from ease.reporting.scatters import Points, ReportOptions, build_scatters

TEXTS: dict[str, str] = read_data_file("ease.reporting", "texts.yml")


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
    """Add our models to every published table for which we have a score.

    Raises:
        EaseError: If the parameters name tables that do not exist.
    """
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
        for sweep in sweeps:
            title = f"Task {task}, sweep {sweep}" if sweep else f"Task {task}"
            models = [model for model in own if model.sweep == sweep and task in set(model.rows["task"])]
            if models:
                tables.append(build_plain_table(title, metric.replace("_", " "), columns, models))
    return tables
