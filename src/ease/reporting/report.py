"""The whole report: which tables it shows, and what it says of those that it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from ease.evaluation.tasks import get_task
from ease.reporting.comparison import ComparisonTable, build_plain_table, build_table
from ease.reporting.own import OwnModel
from ease.reporting.provenance import all_scores, model_versions
from ease.reporting.published import Published, Source
from ease.reporting.scatters import Points, ReportOptions, build_scatters

TITLE = "Scores beside the published ones"
LEGEND = (
    "All scores are in points: 100 is the best. Rows marked “paper” are printed figures, those marked “here” are of "
    "this project. Of the models that start from the same encoder, the best figure of a column is bold. A difference "
    "is ours minus the published one. Where a recipe was trained from several seeds, the mean and the sample's "
    "standard deviation over the seeds are shown; “1 seed” says that there is no telling how much of a figure is "
    "chance."
)
SPREADS = (
    "Spreads: ± over seeds of the training, in brackets over a task's own repetitions. The digest is that of the files "
    "which the score was computed from."
)
NO_SCORES = "There is no score yet: `kedro run --pipelines=evaluate` makes them."


@dataclass
class Report:
    """What the report shows, in its order."""

    papers: list[str] = field(default_factory=list)
    tables: list[ComparisonTable] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    scatters: list[Points] = field(default_factory=list)
    models: pd.DataFrame = field(default_factory=pd.DataFrame)
    scores: dict[str, pd.DataFrame] = field(default_factory=dict)


def build_report(published: Published, options: ReportOptions, own: Sequence[OwnModel]) -> Report:
    """Put our models beside the published ones, in every table for which we have a figure.

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
            report.left_out.append(f"Tables of {paper.short} without a figure of ours: {', '.join(absent)}.")
    report.tables += plain_tables(own, published.tasks())
    if own:
        report.models, report.scores = model_versions(own), all_scores(own)
    return report


def plain_tables(own: Sequence[OwnModel], published: set[str]) -> list[ComparisonTable]:
    """Lay out the main scores of tasks that no paper's table shows, such as those on the sample, sweeps apart."""
    tables = []
    sweeps = dict.fromkeys(model.sweep for model in own)
    for task in dict.fromkeys(task for model in own for task in model.rows["task"] if task not in published):
        metric = get_task(task).METRIC
        subsets = dict.fromkeys(
            str(subset)
            for model in own
            for subset in model.rows.loc[
                (model.rows["task"] == task) & (model.rows["metric"] == metric), "subset"
            ]
        )
        columns = {subset: Source(task, subset, metric) for subset in subsets}
        for sweep in sweeps:
            title = f"Task {task}, sweep {sweep}" if sweep else f"Task {task}"
            models = [model for model in own if model.sweep == sweep and task in set(model.rows["task"])]
            if models:
                tables.append(build_plain_table(title, metric.replace("_", " "), columns, models))
    return tables
