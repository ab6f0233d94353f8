"""Parameters one row a value, and the data versions of each training, in MLflow."""

from __future__ import annotations

from typing import Any

import mlflow
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline.node import Node
from mlflow.tracking import MlflowClient
from pydantic import BaseModel

from ease.hooks.provenance import code_version, input_versions
from ease.pipelines.mlflow_runs import TRAINING_TAG, flatten_options, run_of


class Tracking:
    """Adds to kedro-mlflow what it leaves out."""

    @hook_impl
    def before_node_run(self, inputs: dict[str, Any]) -> None:
        """Log each field of a parameter model by its own name: kedro-mlflow logs a model as one string."""
        if mlflow.active_run():
            for name, value in inputs.items():
                if isinstance(value, BaseModel):
                    mlflow.log_params(flatten_options(value, name.removeprefix("params:")))

    @hook_impl
    def after_node_run(self, node: Node, catalog: DataCatalog, outputs: dict[str, Any]) -> None:
        """Log the versions of the data that a training was given into that training's own run."""
        if TRAINING_TAG not in node.tags:
            return
        encoder = next(value for name, value in outputs.items() if name.endswith(".encoder"))
        run_id = run_of(encoder)
        if run_id is None:
            raise RuntimeError(f"{encoder} does not name the MLflow run that trained it.")
        versions = {f"data.{name}": version for name, version in input_versions(node, catalog).items()}
        for name, value in {"code": code_version(), **versions}.items():
            MlflowClient().log_param(run_id, name, value)
