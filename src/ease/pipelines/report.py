"""Compare scores: of a setting's methods, of all settings in a report, of published checkpoints with their papers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import mlflow
import pandas as pd
import plotly.graph_objects as go
from kedro.pipeline import Pipeline
from pydantic import Field

from ease.encoders.options import RANDOM, EncodingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import read_located
from ease.io.atomic import atomic_folder, write_text_atomically
from ease.io.lazy import ibis
from ease.io.models import Rows, StrictModel
from ease.io.names import BASELINES, UNTRAINED
from ease.methods import in_order
from ease.pipelines.acquire import AcquireOptions
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate
from ease.pipelines.evaluate import EvaluateOptions, Scoring, score_baseline
from ease.pipelines.mlflow_runs import log_plot, log_table
from ease.pipelines.setting import Setting
from ease.pipelines.train import WHITENING
from ease.pipelines.wiring import namespaced, step
from ease.pipelines.work import scratch_for_run
from ease.reporting.comparison import compare_with_printed, dimension_tables, full_rows, printed_tasks
from ease.reporting.exports import write_exports
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import gather_models
from ease.reporting.plots import plot_curves, plot_scores, plot_table_bars, plot_table_scatter
from ease.reporting.published import Published
from ease.reporting.report import (
    ReportOptions,
    bar_rows,
    build_report,
    render_comparison,
    render_html,
    render_markdown,
    table_markdown,
)
from ease.reporting.score_summaries import COLUMNS, score_table

logger = logging.getLogger(__name__)

COLUMNS_OF_SWEEPS = "base pooling seed task subset metric value deviation low high note data code".split()
Papers = Published | dict[str, Any]
"""The papers' tables, or the catalog's functions that read them, by paper"""
PAPER_TABLES = "papers.tables"
"""Dataset of the papers' tables"""
WIDTH = 140
"""Longest line in the log, without the time and the name of the logger"""


def compare_scores(**scores: Rows) -> tuple[pd.DataFrame, go.Figure]:
    """Compare the scores of several encoders as a table and as a plot, also in the log and in MLflow."""
    rows = _by_method(scores, COLUMNS)
    table, figure = score_table(rows), plot_scores(rows)
    if len(rows):
        _log("Scores, in points of 100:", format_table(table, width=WIDTH))
        log_table(table, "comparison")
        log_plot(figure, "comparison")
    return table, figure


def compare_curves(**histories: Rows) -> go.Figure:
    """Plot the training curves of several methods, also in MLflow."""
    rows = _by_method(histories, ["method", "step", "name", "value"])
    figure = plot_curves(rows)
    if len(rows):
        log_plot(figure, "curves")
    return figure


def write_comparison(comparison: ibis.Table, scores: go.Figure, curves: go.Figure, work: str, setting: Setting) -> Path:
    """Write the scores and the curves of a setting's methods as one HTML page that needs no network.

    Without scores, there is no page.
    """
    if not scores.data:
        return Path()
    shown = {"Scores by method": scores, "Training curves": curves}
    figures = {title: figure for title, figure in shown.items() if figure.data}
    page = scratch_for_run(work, "comparison") / "comparison.html"
    encoder, languages = setting.encoder.name, len(setting.languages)
    start = "random weights" if encoder.startswith(RANDOM) else encoder
    about = f"the setting “{setting.name}” ({languages} language{'s' * (languages > 1)}, start: {start})"
    write_text_atomically(page, render_comparison(comparison.to_pandas(), figures, about))
    return page


def _by_method(given: Mapping[str, Rows], columns: Sequence[str]) -> pd.DataFrame:
    """Concatenate the rows of several methods, without scores of truncated embeddings; a method may have no rows."""
    rows = [{**row, "method": method} for method in in_order(given) for row in full_rows(given[method])]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)


def gather_sweeps(setting: Setting, **sweeps: ibis.Table | None) -> Rows:
    """Return the scores of a setting's sweeps with their variants and seeds."""
    rows = []
    for name, table in sweeps.items():
        for row in table.to_pandas().to_dict("records") if table is not None else ():
            known = {column: row[column] for column in COLUMNS_OF_SWEEPS if not pd.isna(row.get(column))}
            under = f"{name}, {row['under']}" if row.get("under") else name
            of_sweep = {"method": row.get("recipe", row["variant"]), "model": f"sweep {under}", "sweep": under}
            rows.append({**_about(setting), **known, **of_sweep})
    return rows


def gather_scores(setting: Setting, sweep_scores: Rows, **scores: Rows) -> Rows:
    """Return the scores of a setting with their encoders and methods."""
    # A row's own values take precedence: the setting may have changed since.
    rows = [{**_about(setting), "method": method, **row} for method in in_order(scores) for row in scores[method]]
    return [*rows, *sweep_scores]


def _about(setting: Setting) -> dict[str, Any]:
    return {"setting": setting.name, "base": setting.encoder.name, "pooling": setting.encoder.pooling}


def write_report(
    published: Papers, options: ReportOptions, work: str, encoding: EncodingOptions, baselines: Rows, **settings: Rows
) -> tuple[Path, go.Figure, go.Figure]:
    """Write the report as Markdown and HTML, also to MLflow; log its tables.

    Returns:
        The folder with `report.md` and `report.html`, none without a score; the tables as bars, tasks against tasks as
        points.
    """
    rows = _all_rows(baselines, settings)
    report = build_report(Published.model_validate(published), options, gather_models(full_rows(rows), encoding.cache))
    report.tables += dimension_tables(rows)
    for table in report.tables:
        _log(f"{table.title}, {table_markdown(table, WIDTH)}")
    bars = plot_table_bars([(table.title, bar_rows(table)) for table in report.tables])
    scatter = plot_table_scatter(report.scatters)
    if not report.tables:
        logger.warning("There are no scores, and no report: `kedro run --pipelines=evaluate` makes scores")
        return Path(), bars, scatter
    _log(*report.skipped)
    written = scratch_for_run(work, "report") / "report"
    with atomic_folder(written) as folder:
        (folder / "report.md").write_text(render_markdown(report), encoding="utf-8")
        (folder / "report.html").write_text(render_html(report), encoding="utf-8")
        mlflow.log_artifacts(str(folder), "report")
    log_plot(bars, "report_bars")
    if report.scatters:
        log_plot(scatter, "report_scatter")
    return written, bars, scatter


def _log(*parts: str) -> None:
    """Log text with its long lines wrapped, except for those of tables."""
    lines = [line for part in parts for line in part.split("\n")]
    wrapped = (line if line.startswith("|") else fill(line, WIDTH) for line in lines)
    logger.info("\n".join(wrapped))


def export_scores(work: str, baselines: Rows, **settings: Rows) -> Path:
    """Write the scores as MTEB's result files and as the evaluation results that the Hugging Face hub reads."""
    written = scratch_for_run(work, "exported_scores") / "exported_scores"
    with atomic_folder(written) as folder:
        count = write_exports(folder, gather_models(full_rows(_all_rows(baselines, settings))))
    logger.info("Scores of %d encoders written for MTEB and for the hub", count)
    return written


def _all_rows(baselines: Sequence[dict[str, Any]], settings: Mapping[str, Sequence[dict[str, Any]]]) -> Rows:
    rows = [row for own in settings.values() for row in own]
    return rows + [{"base": row.get("model"), **row} for row in baselines]


class ValidationOptions(StrictModel):
    """Tolerance of the comparison."""

    tolerance: float = Field(
        0.3, ge=0, description="points by which a score may differ from the printed one without being logged"
    )


def locate_printed_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    published: Papers,
) -> dict[str, Any]:
    """Locate the evaluation sets of all scores that papers print for a baseline."""
    references = dict.fromkeys(task for own in _printed(evaluate, published).values() for task in own)
    return locate(tuple(references), acquire, sets, tasks)


def score_printed(
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    published: Papers,
    encoding: EncodingOptions,
) -> list[dict[str, Any]]:
    """Score each baseline for which a paper prints scores, on the tasks of these scores."""
    located = read_located(evaluation_data)
    return [
        row
        for name, own in _printed(evaluate, published).items()
        for row in score_baseline(name, evaluate.baselines[name], Scoring(own, located, tasks, encoding))
    ]


def _printed(evaluate: EvaluateOptions, published: Papers) -> dict[str, tuple[str, ...]]:
    """Return the tasks of each baseline's printed scores, restricted to its own `tasks`."""
    papers, found = Published.model_validate(published), {}
    for name, baseline in evaluate.baselines.items():
        (model,) = gather_models([baseline.about(name)])
        printed = printed_tasks(papers, model)
        if baseline.tasks is not None:
            printed = tuple(reference for reference in baseline.tasks if task_name(reference) in printed)
        if printed:
            found[name] = printed
    if not found:
        raise EaseError(
            "No baseline of `evaluate.baselines` is a model of conf/base/published: run with --env=paper, whose "
            "baselines are the papers' published checkpoints, or configure one."
        )
    return found


def name_differences(scores: list[dict[str, Any]], published: Papers, options: ValidationOptions) -> pd.DataFrame:
    """Compare the scores with the printed ones, as a table, in MLflow, and in the log where they differ."""
    table = compare_with_printed(Published.model_validate(published), gather_models(scores))
    log_table(table, "validate_evaluation")
    measured = table.dropna(subset=["difference"])
    differing = measured[measured["difference"].abs() > options.tolerance]
    for row in differing.to_dict("records"):
        logger.warning(
            "%(paper)s, table %(table)s, %(row)s (%(baseline)s), %(column)s: %(here).2f here, %(printed).2f printed "
            "(%(difference)+.2f)",
            row,
        )
    logger.info(
        "%d of %d printed scores differ by more than %s points; %d could not be measured",
        len(differing),
        len(measured),
        options.tolerance,
        len(table) - len(measured),
    )
    return table


def create_pipeline(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create what compares the methods of one setting and the encoder that they start from."""
    scores = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *methods)}
    histories = {method: f"{setting}.{method}.history" for method in methods if method != WHITENING}
    shown = {"scores": "comparison_plot", "curves": "curves_plot"}
    nodes = [
        step(compare_scores, ["comparison", "comparison_plot"], **scores),
        step(compare_curves, "curves_plot", **histories),
        step(write_comparison, "comparison_page", **shown),
    ]
    return namespaced(nodes, setting, "report")


def create_report_pipeline(methods: Mapping[str, Iterable[str]], sweeps: Mapping[str, Iterable[str]]) -> Pipeline:
    """Create the report over all settings, by their methods and sweeps, and the baselines."""
    made = ["report", "report_bars", "report_scatter"]
    scores = {"baselines": f"{BASELINES}.scores", **{name: f"{name}.report_scores" for name in methods}}
    reported = [
        step(write_report, made, tags="report", options="params:report", published=PAPER_TABLES, **scores),
        step(export_scores, "exported_scores", tags="report", **scores),
    ]
    gathered = Pipeline(reported)
    for setting, own in methods.items():
        of_methods = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *own)}
        of_sweeps = {name: f"{setting}.{name}_sweep" for name in sweeps[setting]}
        nodes = [step(gather_sweeps, "sweep_scores", **of_sweeps), step(gather_scores, "report_scores", **of_methods)]
        gathered += namespaced(nodes, setting, "report")
    return gathered


def create_validation_pipeline() -> Pipeline:
    """Create the comparison of the baselines' scores with the papers' printed ones."""
    sets, options = "params:acquire_evaluation", "params:validate_evaluation"
    nodes = [
        step(locate_printed_sets, "evaluation_data", tags="acquire_evaluation", sets=sets, published=PAPER_TABLES),
        step(score_printed, "scores", tags="evaluate", published=PAPER_TABLES),
        step(name_differences, "differences", tags="report", options=options, published=PAPER_TABLES),
    ]
    return namespaced(nodes, "validation")
