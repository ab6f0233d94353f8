"""Nodes of `sweep`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from ease.errors import EaseError
from ease.evaluation.sets import check_scorable, read_located
from ease.io.lazy import ibis
from ease.io.names import DEVELOPMENT
from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate
from ease.pipelines.mlflow_runs import log_plot, log_table
from ease.pipelines.recipe import EncoderDefaults
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.trainings import (
    TEST,
    Inputs,
    joined_rows,
    run_variant,
    training_folder,
)
from ease.pipelines.sweep.variants import PIVOT, Sweep
from ease.pipelines.training import TextOptions, TrainingData
from ease.pipelines.work import lock_for_run, remove_after_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.plots import plot_variants
from ease.reporting.score_summaries import language_scores, shown_scores, variant_table
from ease.wikimedia.languages import Language

logger = logging.getLogger(__name__)


def locate_sweep_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: dict[str, dict[str, Any]],
    setting: Setting,
    sweep: Sweep,
) -> dict[str, Any]:
    """Locate the evaluation sets that select the checkpoints of a sweep and score its variants."""
    varied = sweep.varied_settings(sweep.own_setting(setting))
    references = [task for one in varied for task in (*one.dev_tasks, *one.test_tasks)]
    references += [task for joined in sweep.joined.values() for task in joined.tasks]
    return locate(list(dict.fromkeys(references)), acquire, sets, tasks)


def run_sweep(
    sweep: Sweep,
    evaluation_data: dict[str, Any],
    setting: Setting,
    tasks: dict[str, dict[str, Any]],
    work: str,
    acquire: AcquireOptions,
    texts: TextOptions,
    encoders: EncoderDefaults,
    sentences: ibis.Table | None,
    training_pairs: ibis.Table | None,
    dumps: dict[str, Any],
    vocabulary: ibis.Table | None = None,
    entity_embeddings: Path | None = None,
    **recipes: Any,
) -> list[dict[str, Any]]:
    """Train and score every variant from every seed, or the training that `only` names; resume an interrupted sweep.

    Each training has a nested MLflow run.

    Args:
        sentences: The setting's sentences, for encoders with random weights; empty or None if no variant has one.
        training_pairs: The setting's pairs; None if no variant reads them.
        dumps: Describe the origin of the pairs.
        vocabulary: For methods that read entities, as `entity_embeddings`.
        recipes: The setting's recipes by their methods' names.

    Returns:
        A row for each score: variant, recipe, method, seed, development, seconds, split, the score's own columns,
        model, data, code.
    """
    setting = sweep.own_setting(setting)
    for varied in sweep.varied_settings(setting):
        check_scorable(varied.test_tasks, read_located(evaluation_data))
    folder = Path(work) / f"{setting.name}.{sweep.name}"
    tables = (training_pairs, evaluation_data, dumps, tasks, setting, vocabulary, entity_embeddings)
    data = TrainingData(Path(), *tables)
    inputs = Inputs(sentences, data, acquire, texts, recipes, encoders, folder)
    trainings = sweep.chosen_trainings(setting.languages)
    lock_for_run(folder)
    models: dict[str, Path] = {}
    rows = []
    for number, (name, (variant, seed)) in enumerate(trainings.items(), start=1):
        logger.info("%s, training %d of %d: %s", sweep.name, number, len(trainings), name)
        varied = sweep.varied_setting(setting, variant, seed)
        models[name], scored = run_variant(variant, seed, varied, inputs)
        rows += scored
    if sweep.only is None:
        rows += joined_rows(sweep, data, models)
    remove_after_run(_finished_work(folder, sweep, setting))
    return rows


def _finished_work(folder: Path, sweep: Sweep, setting: Setting) -> Path:
    """Return the folder that is no longer needed: the sweep's, or one training's if an interrupted sweep has others."""
    others = sweep.trainings(setting.languages).keys() - {sweep.only}
    unfinished = any(training_folder(folder, name).exists() for name in others)
    return training_folder(folder, sweep.only) if sweep.only and unfinished else folder


def report_sweep(
    trainings: list[dict[str, Any]], sweep: Sweep, setting: Setting
) -> tuple[pd.DataFrame, go.Figure, go.Figure]:
    """Return the scores of the sweep's trainings, one task as a plot, and the trainings' times as a plot; log them."""
    setting = sweep.own_setting(setting)
    rows = trained_rows(trainings, sweep, setting)
    tested = rows[rows["split"] != DEVELOPMENT]
    if sweep.each_language:
        languages = {code: _subsets(code) for code in setting.languages if code != PIVOT}
        shown = language_scores(tested, languages)
    else:
        shown = shown_scores(tested, sweep.shown)
    task = str(shown["task"].iloc[0])
    plotted = shown[["variant", "method", "seed", "development", "value"]].rename(columns={"value": task})
    summary = variant_table(tested)
    logger.info("Variants, in points of 100:\n%s", format_table(plotted))
    logger.info("Mean and standard deviation over seeds, in points of 100:\n%s", format_table(summary))
    figure = plot_variants(shown, title=f"{task}: {sweep.name.replace('_', ' ')}")
    log_table(plotted, "variants")
    log_table(summary, "summary")
    log_plot(figure, "variants")
    times = training_times(rows, sweep.name)
    log_plot(times, "training_times")
    return rows, figure, times


def training_times(rows: pd.DataFrame, sweep: str) -> go.Figure:
    """Plot the seconds of each training's steps, without evaluations (Mirror-BERT, section 4.4)."""
    trained = rows[rows["seconds"] > 0].drop_duplicates("model").drop(columns="value")
    title = f"Time of training: {sweep.replace('_', ' ')}"
    return plot_variants(trained.rename(columns={"seconds": "value"}), title, "training steps (seconds)")


def trained_rows(trainings: Sequence[dict[str, Any]], sweep: Sweep, setting: Setting) -> pd.DataFrame:
    """Return the scores of the sweep's trainings in the order of the sweep, without those that it no longer has."""
    names = (*sweep.trainings(setting.languages), *sweep.joined_trainings())
    by_name: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for row in trainings:
        by_name.get(row["model"], []).append(row)
    missing = [name for name, own in by_name.items() if not own]
    if missing:
        logger.info("Trainings of %s without scores: %s", sweep.name, ", ".join(missing))
    if len(missing) == len(by_name):
        raise EaseError(
            f"No saved training of {sweep.name} is one that the sweep has now: run `kedro run "
            f"--pipelines={sweep.name}`."
        )
    rows = pd.DataFrame([{"split": TEST, **row} for own in by_name.values() for row in own])
    # Scores of earlier versions have no intervals.
    numbers = rows.columns.intersection(["development", "deviation", "low", "high"])
    return rows.astype(dict.fromkeys(numbers, float))


def _subsets(language: str) -> tuple[str, ...]:
    """Return the subsets of a language in tasks of pairs with English: `br-en`, and `bre-eng` in Tatoeba."""
    codes = sorted(Language(language).three_letter_codes)
    return f"{language}-{PIVOT}", *(f"{code}-eng" for code in codes)
