"""Log parameters, headline scores and the data of each training to MLflow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlflow
from kedro.framework.hooks import hook_impl
from kedro.io import AbstractVersionedDataset, DataCatalog
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from mlflow.entities import Dataset, DatasetInput, InputTag
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME
from pydantic import BaseModel, RootModel

from ease.evaluation.sets import read_located
from ease.hooks.names import pipelines_of_run
from ease.hooks.provenance import input_versions
from ease.io.result_versions import code_version
from ease.io.files import hash_contents
from ease.io.names import DEVELOPMENT, safe_name
from ease.io.nested import dotted
from ease.pipelines.mlflow_runs import (
    TRAINING_TAG,
    close_killed_runs,
    flatten_options,
    headline,
    log_parameters,
    log_values,
    process_tags,
)
from ease.pipelines.setting import Setting

if TYPE_CHECKING:
    import pandas as pd

CODE = "code"
"""The parameter that holds the version of the code."""

COMMAND = "kedro_command"
"""The tag in which kedro-mlflow keeps the command of a run."""

FEW = 4
"""Languages that a run's name lists; more are counted."""

SWEEP = "_sweep"
"""Suffix of the tables that sweeps make."""

DIGEST_LENGTH = 36
"""Maximum length of a data set's digest in MLflow."""


class Tracking:
    """Logs the inputs and the results of a run."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Name the run by its pipelines and a single setting's languages and encoder; close the runs of killed ones."""
        self._logged = set()
        run = mlflow.active_run()
        if run is not None:
            mlflow.set_tags(process_tags())
            close_killed_runs(run)
        named_by_kedro = "+".join(run_params.get("pipeline_names") or ["__default__"])
        if run is None or run.info.run_name != named_by_kedro:
            return  # the configuration names it
        settings = [catalog.load(name) for name in sorted(pipeline.inputs()) if name.endswith(".setting")]
        chosen = [*pipelines_of_run(run_params), *(run_params.get("namespaces") or ())]
        described = [describe_setting(Setting.model_validate(settings[0]))] if len(settings) == 1 else []
        mlflow.set_tag(MLFLOW_RUN_NAME, ", ".join([" ".join(chosen), *described]))
        tags = MlflowClient().get_run(run.info.run_id).data.tags
        mlflow.set_tag(COMMAND, tags.get(COMMAND, "").replace("pipeline=", "pipelines="))

    @hook_impl
    def before_node_run(self, inputs: dict[str, Any]) -> None:
        """Log each parameter once, by its dotted name; skip tasks without evaluation data."""
        if not mlflow.active_run():
            return
        values: dict[str, Any] = {}
        for name, value in inputs.items():
            if is_parameter(name):
                values |= _flat(name.removeprefix("params:"), value, inputs)
        new = {name: value for name, value in values.items() if name not in self._logged}
        log_parameters(new)
        self._logged |= new.keys()

    @hook_impl
    def after_node_run(self, node: Node, catalog: DataCatalog, outputs: dict[str, Any]) -> None:
        """Log headline scores to the run, and the versions of the data to the nested run of each training."""
        parent = mlflow.active_run()
        if parent is None:
            return
        for name, rows in outputs.items():
            if name.endswith(".scores"):
                log_values(parent.info.run_id, [(0, _headlines(name.removesuffix(".scores"), rows))])
            if name.endswith(SWEEP):
                log_values(parent.info.run_id, [(0, variant_headlines(name.removesuffix(SWEEP), rows))])
        if TRAINING_TAG in node.tags:
            data = _data_inputs(node, catalog)
            inside = f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent.info.run_id}'"
            for run in MlflowClient().search_runs([parent.info.experiment_id], inside):
                if CODE not in run.data.params:
                    _log_data(run.info.run_id, data)


def describe_setting(setting: Setting) -> str:
    """Return a setting's languages and encoder in a few words."""
    languages = setting.languages
    spoken = " ".join(languages) if len(languages) <= FEW else f"{len(languages)} languages"
    return f"{spoken}, {Path(setting.encoder.name).name.rstrip(':')}"


def _flat(name: str, value: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter's fields by dotted names; a `RootModel`, such as the published figures, stays one value.

    Of the tasks' options, those are returned whose evaluation data the node reads.
    """
    if name == "tasks":
        located = [read_located(data) for input, data in inputs.items() if input.endswith("evaluation_data")]
        tasks = {task for found in located for task, data in found.items() if data.subsets}
        value = {task: options for task, options in value.items() if task in tasks}
    if isinstance(value, BaseModel) and not isinstance(value, RootModel):
        return flatten_options(value, name)
    return dotted(value, name) if isinstance(value, Mapping) else {name: value}


def _headlines(owner: str, rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return each encoder's main scores: `multilingual.ease/task/subset`, or `baselines.NAME/task/subset`."""
    methods = dict.fromkeys(row.get("method") for row in rows)
    return {
        f"{owner}.{safe_name(method)}/{name}" if method else f"{owner}/{name}": value
        for method in methods
        for name, value in headline([row for row in rows if row.get("method") == method]).items()
    }


def variant_headlines(sweep: str, rows: pd.DataFrame) -> dict[str, float]:
    """Return the main scores of each variant, averaged over its seeds: `multilingual.grid.VARIANT/task/subset`.

    The sweep's name begins with its setting; `rows` have the columns `variant` and `seed` beside a score's own.
    """
    values: dict[str, list[float]] = {}
    scored = rows.dropna(subset=["value"])
    scored = scored[scored["split"] != DEVELOPMENT]
    for (variant, _), own in scored.groupby(["variant", "seed"], sort=False):
        for name, value in headline(own.to_dict("records")).items():
            values.setdefault(f"{sweep}.{safe_name(variant)}/{name}", []).append(value)
    return {name: sum(own) / len(own) for name, own in values.items()}


def _data_inputs(node: Node, catalog: DataCatalog) -> dict[str, tuple[str, DatasetInput]]:
    """Return the version and MLflow's description of each data set that a node read, by its name."""
    found = {}
    for name, version in input_versions(node, catalog).items():
        if version is not None:
            dataset = catalog.get(name)
            assert isinstance(dataset, AbstractVersionedDataset)
            path = Path(dataset._get_versioned_path(version))
            digest = hash_contents(path)[:DIGEST_LENGTH] if path.exists() else version
            source, profile = json.dumps({"uri": str(path)}), json.dumps({"version": version})
            tags = [InputTag(MLFLOW_DATASET_CONTEXT, "training"), InputTag("version", version)]
            described = DatasetInput(Dataset(name, digest, "local", source, None, profile), tags)
            found[name] = version, described
    return found


def _log_data(run_id: str, data: Mapping[str, tuple[str, DatasetInput]]) -> None:
    """Log versions as parameters, which MLflow can compare, and digests as data sets."""
    client = MlflowClient()
    client.log_param(run_id, CODE, code_version())
    for name, (version, _) in data.items():
        client.log_param(run_id, f"data.{name}", version)
    client.log_inputs(run_id, [described for _, described in data.values()])
