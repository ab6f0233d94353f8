"""Parameters one row a value, and the data versions of each training, in MLflow."""

from __future__ import annotations

from typing import Any

import mlflow
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline.node import Node
from mlflow.entities import Run
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from pydantic import BaseModel, RootModel

from ease.code_version import code_version
from ease.hooks.provenance import input_versions
from ease.pipelines.mlflow_runs import TRAINING_TAG, flatten_options

CODE = "code"
"""The parameter that holds the version of the code."""


class Tracking:
    """Adds to kedro-mlflow what it leaves out."""

    @hook_impl
    def before_node_run(self, inputs: dict[str, Any]) -> None:
        """Log each field of a parameter model by its own name: kedro-mlflow logs a model as one string.

        A mapping of names (`RootModel`), such as that of the published figures, stays that string.
        """
        if mlflow.active_run():
            for name, value in inputs.items():
                if isinstance(value, BaseModel) and not isinstance(value, RootModel):
                    mlflow.log_params(flatten_options(value, name.removeprefix("params:")))

    @hook_impl
    def after_node_run(self, node: Node, catalog: DataCatalog) -> None:
        """Log the versions of the data that a node's trainings were given into their own runs."""
        parent = mlflow.active_run()
        if TRAINING_TAG not in node.tags or parent is None:
            return
        given = input_versions(node, catalog).items()
        versions = {f"data.{name}": version for name, version in given if version is not None}
        for run in nested_runs(parent):
            if CODE not in run.data.params:
                for name, value in {CODE: code_version(), **versions}.items():
                    MlflowClient().log_param(run.info.run_id, name, value)


def nested_runs(parent: Run) -> list[Run]:
    """Return the runs that were opened inside a run."""
    inside = f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent.info.run_id}'"
    return list(MlflowClient().search_runs([parent.info.experiment_id], inside))
