"""MLflow around a run: the store, the run that a `kedro run` opens, its parameters, scores and data."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import mlflow
from kedro.config import MissingConfigException
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro_mlflow.framework.hooks import MlflowHook
from mlflow.entities import Dataset, DatasetInput, InputTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME
from omegaconf import OmegaConf
from pydantic import BaseModel, RootModel

from ease.errors import EaseError
from ease.evaluation.sets import read_located
from ease.hooks.runs import input_versions
from ease.io.files import hash_contents
from ease.io.locks import file_lock
from ease.io.names import DEVELOPMENT, safe_name
from ease.io.nested import dotted
from ease.io.result_versions import code_version
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

logger = logging.getLogger(__name__)

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

SQLITE = "sqlite:///"
LOCATIONS = {
    "experiments": ("artifact_location",),
    "runs": ("artifact_uri",),
    "logged_models": ("artifact_location",),
    "model_versions": ("source", "storage_location"),
    "trace_tags": ("value",),
}
"""Columns of MLflow's tables that hold addresses of artifacts."""


class MlflowRun(MlflowHook):
    """Opens the MLflow run of a `kedro run` and ends it; `Tracking` logs the parameters."""

    def _log_param(self, name: str, value: Any) -> None:
        """Log nothing: kedro-mlflow would log a group of options as one text."""

    @hook_impl
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Any, catalog: Any) -> None:
        """End the run as often as it was opened; the next run of this process would otherwise log into it."""
        super().after_pipeline_run(run_params, pipeline, catalog)
        while not self._already_active_mlflow and mlflow.active_run():
            mlflow.end_run()


class MlflowStore:
    """Protects the creation of the store, and updates the addresses in one that was created in another folder."""

    @hook_impl(wrapper=True)
    def after_context_created(self, context: KedroContext) -> Generator[None]:
        """Let kedro-mlflow create the store while no other run does, then update the store's addresses.

        Two runs that create MLflow's tables at the same time fail. MLflow stores absolute addresses, so a copied
        project would write into the folder of the original.
        """
        with file_lock(Path(context.project_path) / "pyproject.toml"):
            try:
                yield
            except MlflowException as error:
                raise EaseError(
                    "MLflow cannot open the store that `server.mlflow_tracking_uri` in mlflow.yml names: "
                    f"{str(error).splitlines()[0]} A database works, such as sqlite:///data/08_reporting/mlflow.db."
                ) from error
            except OSError as error:
                if error.filename is None:
                    raise
                raise EaseError(
                    f"The data folder cannot be made ({error.strerror}: {error.filename}): set `data` in "
                    "conf/local/globals.yml to a folder that you may write to."
                ) from error
            self._follow(context)

    def _follow(self, context: KedroContext) -> None:
        try:
            config = OmegaConf.create(context.config_loader["mlflow"])
        except (KeyError, MissingConfigException):
            return
        address = str(OmegaConf.select(config, "server.mlflow_tracking_uri"))
        artifacts = str(
            OmegaConf.select(config, "tracking.experiment.create_experiment_kwargs.artifact_location")
        )
        store = Path(context.project_path) / address.removeprefix(SQLITE)
        outside = "://" in artifacts or Path(artifacts).is_absolute()
        if address.startswith(SQLITE) and not outside and store.is_file():
            follow_project(store, Path(context.project_path), artifacts)


def follow_project(store: Path, project: Path, artifacts: str) -> None:
    """Replace the project's former folder in a store's addresses by the current one."""
    here, ending = (project.absolute() / artifacts).as_uri(), Path("/", artifacts).as_uri()[len("file://") :]
    with closing(sqlite3.connect(store, timeout=60)) as database, database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")} & LOCATIONS.keys()
        places = database.execute("SELECT artifact_location FROM experiments").fetchall() if tables else []
        for (place,) in places:
            uri = place if not place or "://" in place else Path(place).as_uri()
            if not place or uri == here or not place.endswith(ending):
                continue
            for table, column in ((name, column) for name in tables for column in LOCATIONS[name]):
                database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (place, here))
            logger.warning("The project was moved: MLflow's artifacts of %s are now found in %s", place, here)


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
        names = run_params.get("pipeline_names") or ["__default__"]
        # Kedro lists them in the order of a set, which is another one in each process.
        chosen = [*(name for name in pipelines if name in names), *(run_params.get("namespaces") or ())]
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
    scored = rows[rows["value"].notna() & (rows["split"] != DEVELOPMENT)]
    for (variant, _), own in scored.groupby(["variant", "seed"], sort=False):
        for name, value in headline(own.to_dict("records")).items():
            values.setdefault(f"{sweep}.{safe_name(variant)}/{name}", []).append(value)
    return {name: mean(own) for name, own in values.items()}


def _data_inputs(node: Node, catalog: DataCatalog) -> dict[str, tuple[str, DatasetInput]]:
    """Return the version and MLflow's description of each data set that a node read, by its name."""
    found = {}
    for name, version in input_versions(node, catalog).items():
        if version is not None:
            dataset: Any = catalog.get(name)
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
