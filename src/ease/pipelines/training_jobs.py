"""From tables and a recipe to a training in a nested MLflow run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import mlflow
import pandas as pd
import pyarrow.parquet as pq

from ease.disk import write_faults_named
from ease.evaluation_sets import at_paths, read_located, require_sets
from ease.model_card import (
    SAMPLE_LICENCE,
    WIKIDATA_LICENCE,
    WIKIPEDIA_LICENCE,
    DataSource,
    ModelCardData,
)
from ease.pipelines.acquire.nodes import SAMPLE
from ease.pipelines.mlflow_runs import RunReport, flatten_options, remember_run, training_run
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.plots import plot_curves
from ease.scoring import chosen_tasks
from ease.training import TrainingJob, TrainingResult, run_job


class TrainingData(NamedTuple):
    """What every training of a setting is given."""

    encoder: Path
    training_pairs: ibis.Table
    vocabulary: ibis.Table
    entity_embeddings: Path
    evaluation_data: Mapping[str, Any]
    dumps: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]]
    setting: Setting


def train_tracked(name: str, data: TrainingData, recipe: Recipe, folder: Path) -> TrainingResult:
    """Train in a nested MLflow run, going on from a broken run's checkpoint; a finished training is not repeated.

    Args:
        name: Of the MLflow run.
        data: Tables, encoder and evaluation sets.
        recipe: Method, its parameters and the loop's.
        folder: Where the training works, and leaves its model.
    """
    job = write_job(folder, data, recipe)
    parameters = {**flatten_options(recipe), **flatten_options(data.setting, "setting")}
    with training_run(name, parameters) as run_id:
        report = RunReport(run_id)
        result = run_job(job, report)
        report.complete(result.history)
        curves = pd.DataFrame(history_rows(result)).assign(method=recipe.method)
        mlflow.log_figure(plot_curves(curves), "curves.html")
    remember_run(result.model, run_id)
    return result


def write_job(folder: Path, data: TrainingData, recipe: Recipe) -> TrainingJob:
    """Lay out the tables as files that every process of the training can read, and describe the job."""
    located = read_located(data.evaluation_data)
    require_sets(data.setting.dev_tasks, located, data.tasks)
    folder.mkdir(parents=True, exist_ok=True)
    pairs, vocabulary = folder / "training_pairs.parquet", folder / "entity_vocabulary.parquet"
    _write_parquet(data.training_pairs.order_by("pair_id"), pairs)
    _write_parquet(data.vocabulary.order_by("row"), vocabulary)
    return TrainingJob(
        folder=folder,
        pairs=pairs,
        vocabulary=vocabulary,
        table=data.entity_embeddings,
        encoder=str(data.encoder),
        pooling=data.setting.encoder.pooling,
        method=recipe.method,
        method_options=recipe.options,
        training=recipe.training,
        development=chosen_tasks(data.setting.dev_tasks, at_paths(data.tasks, located)),
        card=describe_data(data, recipe.method),
    )


def _write_parquet(table: ibis.Table, path: Path) -> None:
    """Write a table as one file: Spark's own writer makes a folder of files with random names."""
    with write_faults_named(path), pq.ParquetWriter(path, table.schema().to_pyarrow()) as writer:
        for batch in table.to_pyarrow_batches():
            writer.write_batch(batch)


def describe_data(data: TrainingData, method: str) -> ModelCardData:
    """Tell the model card what the model is trained on."""
    dumps, made_here = data.dumps, data.dumps["source"] == SAMPLE
    wiki, licence = ("Sample wiki", SAMPLE_LICENCE) if made_here else ("Wikipedia", WIKIPEDIA_LICENCE)
    sources = [
        DataSource(name=f"{wiki} ({dump['language']})", date=dump["dump_date"], licence=licence)
        for dump in dumps["wikipedia"]
    ]
    if dumps["wikidata"]:
        made = dumps["wikidata_source"] == SAMPLE
        name, licence = ("Sample Wikidata", SAMPLE_LICENCE) if made else ("Wikidata", WIKIDATA_LICENCE)
        sources.append(DataSource(name=name, date=dumps["wikidata_date"], licence=licence))
    start = data.setting.encoder.name
    return ModelCardData(
        name=f"{method} ({data.setting.name})",
        languages=data.setting.languages,
        sources=tuple(sources),
        licence="apache-2.0" if made_here else "cc-by-sa-4.0",
        base_model=None if ":" in start or Path(start).exists() else start,
    )


def history_rows(result: TrainingResult) -> list[dict[str, Any]]:
    """Lay the reported values out as rows of step, name and value."""
    return [
        {"step": int(values["step"]), "name": name, "value": value}
        for values in result.history
        for name, value in values.items()
        if name != "step"
    ]
