"""Nodes of `sweep`."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import ibis
import mlflow
import pandas as pd
import plotly.graph_objects as go
from pydantic import BaseModel, ConfigDict, Field

from ease.entities.permutation import permute_entities
from ease.pipelines.mlflow_runs import add_scores
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import Setting
from ease.pipelines.train.nodes import build_encoder
from ease.pipelines.training_jobs import TrainingData, train_tracked
from ease.plots import plot_variants
from ease.scoring import at_paths, encode_with, score_tasks
from ease.tables import format_table

logger = logging.getLogger(__name__)


class Variant(BaseModel):
    """One way to train, repeated from several seeds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str = Field(description="whose recipe is varied")
    seeds: tuple[int, ...] = Field(min_length=1, description="of the encoder's weights and of the training")
    options: dict[str, Any] = Field({}, description="method parameters that differ from the recipe's")
    training: dict[str, Any] = Field({}, description="parameters of the loop that differ from the recipe's")
    permute_entities: bool = Field(False, description="give each language its own permutation of the entities")

    @property
    def label(self) -> str:
        """Name the variant by what differs from the recipe."""
        differing = [f"{name}={value}" for name, value in {**self.options, **self.training}.items()]
        return " ".join([self.method, *differing, *(["permuted"] if self.permute_entities else [])])


class Sweep(BaseModel):
    """Variants to train and score on the setting's test tasks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    variants: tuple[Variant, ...] = Field(min_length=1)
