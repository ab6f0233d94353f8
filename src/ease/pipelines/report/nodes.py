"""Compare the scores of a setting's methods, and report those of all settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from ease.encoders.options import RANDOM, EncodingOptions
from ease.encoders.saved import current_encoder
from ease.evaluation.scores import AVERAGE
from ease.io.atomic import atomic_folder, write_text_atomically
from ease.lazy import DataFrame, Figure, Table, pd
from ease.methods import UNTRAINED, in_order
from ease.options import Rows
from ease.pipelines.options import Papers
from ease.pipelines.setting import Setting
from ease.pipelines.tracking import log_plot, log_table, log_text
from ease.pipelines.work import scratch_for_run
from ease.reporting.comparison import dimension_tables, full_rows
from ease.reporting.exports import write_exports
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import RUN_PAGES, OwnModel, differing_parameters, gather_models, training_facts
from ease.reporting.plots import method_label, plot_curves, plot_scores, plot_table_bars, plot_table_scatter
from ease.reporting.published import PublishedPapers
from ease.reporting.report import (
    ReportOptions,
    bar_rows,
    build_report,
    render_comparison,
    render_html,
    render_markdown,
    table_markdown,
)
from ease.reporting.score_summaries import METHOD_SCORE_COLUMNS, score_table

logger = logging.getLogger(__name__)

COLUMNS_OF_SWEEPS = (
    "base pooling seed task subset metric value deviation low high main task_type note data code".split()
)
WIDTH = 140
"""Longest line in the log, without the time and the name of the logger"""


def compare_scores(**scores: Rows) -> tuple[DataFrame, Figure]:
    """Compare the scores of several encoders as a table and as a plot, also in the log and in MLflow."""
    rows = _by_method(scores, METHOD_SCORE_COLUMNS)
    table = score_table(rows)
    figure = plot_scores(rows)
    if len(rows):
        # A second metric, such as CSLS, would double the lines of a task with a hundred subsets.
        mains = {(row["task"], row["metric"]) for of_method in scores.values() for row in of_method if row.get("main")}
        keys = table[["task", "subset", "metric"]].itertuples(index=False)
        logged = [subset == AVERAGE or (task, metric) in mains for task, subset, metric in keys]
        _log("Scores, in points of 100:", format_table(table[logged], width=WIDTH))
        log_table(table, "comparison")
        log_plot(figure, "comparison")
    return table, figure


def compare_curves(**histories: Rows) -> Figure:
    """Plot the training curves of several methods, also in MLflow."""
    rows = _by_method(histories, ["method", "step", "name", "value"])
    figure = plot_curves(rows)
    if len(rows):
        log_plot(figure, "curves")
    return figure


def _differences(scores: Mapping[str, Rows]) -> DataFrame:
    """Return the training parameters in which trained methods differ, by the methods' labels."""
    parameters = {
        method_label(method): scores[method][-1].get("parameters") or {}
        for method in in_order(scores)
        if scores[method] and method != UNTRAINED
    }
    return differing_parameters(parameters)


def _models(scores: Mapping[str, Rows]) -> DataFrame:
    """Return the version of each method's encoder with its training run."""
    pages = _run_pages()
    rows = []
    for method in in_order(scores):
        if scores[method]:
            version = scores[method][-1]["model"]
            rows.append({"Method": method_label(method), "Version": version, **training_facts(scores[method], pages)})
    return pd.DataFrame(rows)


def _run_pages() -> str:
    """Return the address of MLflow's pages of runs: on the store's own server, or on that of `make mlflow`."""
    # Kedro imports this module at each start, and MLflow takes two seconds.
    import mlflow

    store: str = mlflow.get_tracking_uri()
    if store.startswith("http"):
        return f"{store.rstrip('/')}/#/runs/"
    return RUN_PAGES


def write_comparison(
    comparison: Table, bars: Figure, curves: Figure, work: str, setting: Setting, **scores: Rows
) -> Path:
    """Write the scores and the curves of a setting's methods as one HTML page that needs no network.

    The page has the encoders' versions and training runs, and the parameters in which these differ. Without scores,
    there is no page.
    """
    if not bars.data:
        # Nothing is saved for an empty path.
        return Path()
    # A whitening alone has no curve.
    figures = {"Scores by method": bars, "Training curves": curves}
    figures = {title: figure for title, figure in figures.items() if figure.data}
    start = setting.encoder.name
    if start.startswith(RANDOM):
        start = "random weights"
    count = len(setting.languages)
    description = f"the setting “{setting.name}” ({count} language{'s' * (count > 1)}, start: {start})"
    page = scratch_for_run(work, "comparison") / "comparison.html"
    html = render_comparison(comparison.to_pandas(), figures, description, _differences(scores), _models(scores))
    write_text_atomically(page, html)
    return page


def _by_method(rows_of_methods: Mapping[str, Rows], columns: Sequence[str]) -> DataFrame:
    """Concatenate the rows of several methods, without scores of truncated embeddings; a method may have no rows."""
    rows = [
        {**row, "method": method} for method in in_order(rows_of_methods) for row in full_rows(rows_of_methods[method])
    ]
    if not rows:
        return pd.DataFrame(columns=columns)
    return pd.DataFrame(rows)


def gather_sweeps(setting: Setting, sweep_tables: dict[str, Table]) -> Rows:
    """Return the scores of a setting's sweeps with their variants and seeds."""
    rows = []
    for name, table in sweep_tables.items():
        for row in table.to_pandas().to_dict("records"):
            # Tables of earlier versions have fewer columns.
            columns = {column: row[column] for column in COLUMNS_OF_SWEEPS if not pd.isna(row.get(column))}
            title = name
            if row.get("under"):
                title = f"{name}, {row['under']}"
            variant = {"method": row.get("recipe", row["variant"]), "model": f"sweep {title}", "sweep": title}
            rows.append({**_describe_setting(setting), **columns, **variant})
    return rows


def gather_scores(setting: Setting, sweep_scores: Rows, **scores: Rows) -> Rows:
    """Return the scores of a setting with their encoders and methods."""
    # A row's own values take precedence: the setting may have changed since.
    rows = [
        {**_describe_setting(setting), "method": method, **row} for method in in_order(scores) for row in scores[method]
    ]
    return [*rows, *sweep_scores]


def _describe_setting(setting: Setting) -> dict[str, Any]:
    return {"setting": setting.name, "base": setting.encoder.name, "pooling": setting.encoder.pooling}


def write_report(
    published: Papers, options: ReportOptions, work: str, encoding: EncodingOptions, baselines: Rows, *settings: Rows
) -> tuple[Path, Figure, Figure]:
    """Write the report as Markdown and HTML, also to MLflow; log its tables.

    Returns:
        The folder with `report.md` and `report.html`, none without a score; the tables as bars, tasks against tasks as
        points.
    """
    rows = _all_rows(baselines, settings)
    models = gather_models(full_rows(rows), encoding.cache)
    latest = _unscored_latest(models, work)
    report = build_report(PublishedPapers.model_validate(published), options, models, latest, _run_pages())
    report.tables += dimension_tables(rows)
    for table in report.tables:
        _log(f"{table.title}, {table_markdown(table, WIDTH)}")
    bars = plot_table_bars([(table.title, bar_rows(table)) for table in report.tables])
    scatter = plot_table_scatter(report.scatters)
    if not report.tables:
        logger.warning("There are no scores, and no report: `kedro run --pipelines=evaluate` makes scores")
        return Path(), bars, scatter
    _log(*report.skipped)
    report_folder = scratch_for_run(work, "report") / "report"
    markdown = render_markdown(report)
    with atomic_folder(report_folder) as folder:
        (folder / "report.md").write_text(markdown, encoding="utf-8")
        (folder / "report.html").write_text(render_html(report), encoding="utf-8")
    log_text(markdown, "report/report.md")
    # Plotly would add 5 MB to each run.
    log_text(render_html(report, interactive=False), "report/report.html")
    log_plot(bars, "report_bars")
    if report.scatters:
        log_plot(scatter, "report_scatter")
    return report_folder, bars, scatter


def _unscored_latest(models: Sequence[OwnModel], work: str) -> dict[tuple[str, str], str]:
    """Return the versions of encoders `latest` by setting and method, where other versions were scored; warn of them.

    The work folder is in the folder of encoders.
    """
    versions = {}
    for model in models:
        encoder = current_encoder(Path(work).parent, model.setting, model.method)
        # A sweep's model has the sweep's name in place of a version.
        if encoder is not None and not model.sweep and model.model and encoder.parent.name != model.model:
            versions[model.setting, model.method] = encoder.parent.name
            name = f"{model.setting}.{model.method}"
            logger.warning(
                "The report has the scores of %s's version %s, and `latest` is %s: score `latest` by `kedro run "
                "--pipelines=evaluate --namespaces=%s`, or add `--load-versions=%s.encoder:%s` to change `latest`",
                name,
                model.model,
                encoder.parent.name,
                name,
                name,
                model.model,
            )
    return versions


def _log(*parts: str) -> None:
    """Log text with its long lines wrapped, except for those of tables."""
    lines = []
    for line in "\n".join(parts).split("\n"):
        if not line.startswith("|"):
            line = fill(line, WIDTH)
        lines.append(line)
    logger.info("\n".join(lines))


def export_scores(work: str, baselines: Rows, *settings: Rows) -> Path:
    """Write the scores as MTEB's result files and as the evaluation results that the Hugging Face hub reads."""
    exports = scratch_for_run(work, "exported_scores") / "exported_scores"
    with atomic_folder(exports) as folder:
        count = write_exports(folder, gather_models(full_rows(_all_rows(baselines, settings))))
    logger.info("Scores of %d encoders written for MTEB and for the hub", count)
    return exports


def _all_rows(baselines: Rows, settings: Sequence[Rows]) -> Rows:
    rows = [row for of_setting in settings for row in of_setting]
    return rows + [{"base": row.get("model"), **row} for row in baselines]
