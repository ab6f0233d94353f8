"""From tables and a recipe to a training in a nested MLflow run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import mlflow
import pandas as pd

from ease.model_card import WIKIDATA_LICENCE, DataSource, ModelCardData
from ease.pipelines.mlflow_runs import flatten_options, remember_run, reporter, training_run
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.plots import plot_curves
from ease.scoring import at_paths
from ease.training import TrainingJob, TrainingResult, run_job


class TrainingData(NamedTuple):
    """What every training of a setting is given."""

    encoder: Path
    training_pairs: ibis.Table
    vocabulary: ibis.Table
    entity_embeddings: Path
    evaluation_data: Mapping[str, Mapping[str, str]]
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
        result = run_job(job, reporter(run_id))
        curves = pd.DataFrame(history_rows(result)).assign(method=recipe.method)
        mlflow.log_figure(plot_curves(curves), "curves.html")
    remember_run(result.model, run_id)
    return result


def write_job(folder: Path, data: TrainingData, recipe: Recipe) -> TrainingJob:
    """Lay out the tables as files that every process of the training can read, and describe the job."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs, vocabulary = folder / "training_pairs.parquet", folder / "entity_vocabulary.parquet"
    data.training_pairs.order_by("pair_id").to_parquet(pairs)
    data.vocabulary.order_by("row").to_parquet(vocabulary)
    development = {name: data.tasks[name] for name in data.setting.dev_tasks}
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
        development=at_paths(development, {name: data.evaluation_data[name] for name in development}),
        card=describe_data(data, recipe.method),
    )


def describe_data(data: TrainingData, method: str) -> ModelCardData:
    """Tell the model card what the model is trained on."""
    dumps = data.dumps["wikipedia"]
    sources = [DataSource(name=f"Wikipedia ({dump['language']})", date=dump["dump_date"]) for dump in dumps]
    if data.dumps["wikidata"]:
        wikidata = DataSource(name="Wikidata", date=data.dumps["wikidata_date"], licence=WIKIDATA_LICENCE)
        sources.append(wikidata)
    start = data.setting.encoder.name
    return ModelCardData(
        name=f"{method} ({data.setting.name})",
        languages=data.setting.languages,
        sources=tuple(sources),
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


def take_over(folder: Path, result: TrainingResult) -> Path:
    """Move the model out of the folder in which it was trained, and remove the folder."""
    model = folder.with_name(f"{folder.name}.model")
    shutil.rmtree(model, ignore_errors=True)
    result.model.rename(model)
    shutil.rmtree(folder)
    return model
