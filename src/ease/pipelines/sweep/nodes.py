"""Nodes of `sweep`."""

from __future__ import annotations

import logging
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ibis
import mlflow
import pandas as pd
import plotly.graph_objects as go
from pydantic import BaseModel, ConfigDict, Field

from ease.encoding import encode_with
from ease.entities.permutation import permute_entities
from ease.evaluation_sets import at_paths, read_located, scorable
from ease.pipelines.acquire.nodes import AcquireOptions
from ease.pipelines.gathering import TextOptions, gather_data
from ease.pipelines.mlflow_runs import add_scores
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.train.nodes import build_encoder
from ease.pipelines.training_jobs import TrainingData, train_tracked
from ease.plots import plot_variants
from ease.scoring import score_tasks, task_name
from ease.tables import format_table
from ease.tasks import AVERAGE

logger = logging.getLogger(__name__)


class Variant(BaseModel):
    """One way to train, repeated from several seeds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field(description="whose recipe is varied")
    seeds: tuple[int, ...] = Field(min_length=1, description="of the encoder's weights and of the training")
    options: dict[str, Any] = Field({}, description="method parameters that differ from the recipe's")
    training: dict[str, Any] = Field({}, description="parameters of the loop that differ from the recipe's")
    permute_entities: bool = Field(
        False, description="give each language its own permutation of the entities"
    )

    @property
    def label(self) -> str:
        """Name the variant by what differs from the recipe."""
        differing = [f"{name}={value}" for name, value in {**self.options, **self.training}.items()]
        return " ".join([self.method, *differing, *(["permuted"] if self.permute_entities else [])])


class Sweep(BaseModel):
    """Variants to train and score on the setting's test tasks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="the sweep's name, as in paths")
    variants: tuple[Variant, ...] = Field(min_length=1)


def run_sweep(
    sentences: ibis.Table,
    training_pairs: ibis.Table,
    vocabulary: ibis.Table,
    entity_embeddings: Path,
    evaluation_data: dict[str, Any],
    dumps: dict[str, Any],
    sweep: Sweep,
    setting: Setting,
    tasks: dict[str, dict[str, Any]],
    work: str,
    acquire: AcquireOptions,
    texts: TextOptions,
    **recipes: Any,
) -> tuple[pd.DataFrame, go.Figure]:
    """Train and score every variant from every seed, each in a nested MLflow run; a broken sweep goes on.

    Args:
        recipes: The setting's recipes by their methods' names.

    Returns:
        Columns variant, method, seed, task, subset, metric, value, development; and the main task's plot.
    """
    folder = Path(work) / f"{setting.name}.{sweep.name}"
    rows = []
    for variant in sweep.variants:
        pairs = training_pairs
        for seed in variant.seeds:
            seeded = with_seed(setting, seed)
            if variant.permute_entities:
                pairs = permute_entities(training_pairs, vocabulary, seed)
            start = build_encoder(sentences, seeded, str(folder))
            data = TrainingData(
                start, pairs, vocabulary, entity_embeddings, evaluation_data, dumps, tasks, seeded
            )
            recipe = varied(Recipe.model_validate(recipes[variant.method]), variant, seed)
            if recipe.data is not None:
                file, _ = gather_data(recipe, training_pairs, acquire, texts, folder / "texts")
                data = data._replace(
                    rows=ibis.duckdb.connect().read_parquet(file), vocabulary=None, entity_embeddings=None
                )
            rows += train_variant(variant, seed, recipe, data, folder)
    table, figure = report_variants(pd.DataFrame(rows), setting)
    shutil.rmtree(folder)
    return table, figure


def train_variant(
    variant: Variant, seed: int, recipe: Recipe, data: TrainingData, folder: Path
) -> list[dict[str, Any]]:
    """Train one variant from one seed and score it on the test tasks."""
    name = f"{variant.label} seed={seed}"
    result = train_tracked(name, data, recipe, folder / name)
    located = read_located(data.evaluation_data)
    references = scorable(data.setting.test_tasks, located)
    scores = score_tasks(encode_with(result.model), references, at_paths(data.tasks, located))
    add_scores(result.model, scores)
    about = {
        "variant": variant.label,
        "method": variant.method,
        "seed": seed,
        "development": result.best_score,
    }
    return [{**about, **asdict(score)} for score in scores]


def with_seed(setting: Setting, seed: int) -> Setting:
    """Return the setting with an encoder from another seed."""
    return setting.model_copy(update={"encoder": setting.encoder.model_copy(update={"seed": seed})})


def varied(recipe: Recipe, variant: Variant, seed: int) -> Recipe:
    """Return the recipe with the variant's own parameters and the seed."""
    training = {**recipe.training.model_dump(), **variant.training, "seed": seed}
    options = {**recipe.options, **variant.options}
    return Recipe.model_validate({**recipe.model_dump(), "options": options, "training": training})


def report_variants(rows: pd.DataFrame, setting: Setting) -> tuple[pd.DataFrame, go.Figure]:
    """Show each variant's average on the setting's first test task, in the log, as a plot and in MLflow."""
    task = task_name(setting.test_tasks[0])
    averages = rows[(rows["task"] == task) & (rows["subset"] == AVERAGE)]
    if averages.empty:
        averages = rows[rows["task"] == task]
    table = averages[["variant", "method", "seed", "development", "value"]].rename(columns={"value": task})
    logger.info("Variants, in points of 100:\n%s", format_table(table))
    figure = plot_variants(averages, title=f"{task} of each variant")
    mlflow.log_table(table, "variants.json")
    mlflow.log_figure(figure, "variants.html")
    return rows, figure
