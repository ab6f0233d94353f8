"""MLflow around a run: the store, the run that a `kedro run` opens, its parameters, scores and data."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Any

import mlflow
import pandas as pd
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro_mlflow.framework.hooks import MlflowHook
from mlflow.entities import Dataset, DatasetInput, InputTag, RunInfo
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE
from omegaconf import OmegaConf
from pydantic import BaseModel, RootModel

import ease
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT
from ease.evaluation.sets import read_located
from ease.hooks.runs import input_versions
from ease.io.files import hash_contents
from ease.io.locks import file_lock
from ease.names import safe_name
from ease.options import dotted
from ease.pipelines.setting import Setting
from ease.pipelines.tracking import (
    TRAINING_TAG,
    close_killed_runs,
    flatten_options,
    headline,
    log_parameters,
    log_values,
    process_tags,
)
from ease.reporting.markdown_tables import format_table

logger = logging.getLogger(__name__)

CODE = "code"  # the parameter that holds the version of the code
COMMAND = "kedro_command"  # the tag in which kedro-mlflow keeps the command of a run
FEW = 4  # languages, and parameters of the command, that a run's name lists
SHORT = 20  # characters of the longest value in a run's name
OF_METHOD = re.compile(r"[\w-]+\.[\w-]+")  # names of the trainings of a setting's methods
SWEEP = "_sweep"  # suffix of the tables that sweeps make
DIGEST_LENGTH = 36  # maximum length of a data set's digest in MLflow

KIND = ("mlflow.experimentKind", "custom_model_development")
"""The tag of an experiment by which MLflow's list of experiments opens it as model training."""
VIEW = "scores"
"""Key of a shared view of the experiment, which shows `COLUMNS` columns of scores."""
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
COLUMNS = 3

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
    """Protects the creation of the store, and updates the addresses in one that was created in another folder.

    Two runs that create MLflow's tables at the same time fail. MLflow stores absolute addresses, so a copied project
    would write into the folder of the original.
    """

    @hook_impl(wrapper=True)
    def after_context_created(self, context: KedroContext) -> Generator[None]:
        """Let kedro-mlflow create the store while no other run does, then update the store's addresses."""
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
        config = OmegaConf.create(context.config_loader["mlflow"])
        place = "tracking.experiment.create_experiment_kwargs.artifact_location"
        artifacts = str(OmegaConf.select(config, place))
        address = str(OmegaConf.select(config, "server.mlflow_tracking_uri"))
        project = Path(context.project_path)
        store = project / address.removeprefix(SQLITE)
        outside = "://" in artifacts or Path(artifacts).is_absolute()
        if address.startswith(SQLITE) and not outside and store.is_file():
            follow_project(store, project, artifacts)


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

    def _start(self, overrides: Mapping[str, Any]) -> None:
        self._logged: set[str] = set()
        self._overrides = overrides
        self._about = self._given = ""
        self._trains = False
        self._data: set[str] = set()
        self._scores: dict[str, dict[str, float]] = {}

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Name the run by its pipelines, a single setting and given parameters; close the runs of killed ones."""
        self._start(dotted(run_params.get("runtime_params") or {}))
        self._trains = any(TRAINING_TAG in node.tags for node in pipeline.nodes)
        run = mlflow.active_run()
        if run is not None:
            mlflow.set_tags(process_tags())
            mlflow.set_experiment_tag(*KIND)
            close_killed_runs(run)
        names = run_params.get("pipeline_names") or ["__default__"]
        if run is None or run.info.run_name != "+".join(names):
            return  # the configuration names it
        named = sorted(name for name in pipeline.inputs() if name.endswith(".setting"))
        settings = [Setting.model_validate(catalog.load(name)) for name in named]
        described = list[str]()
        if len(settings) == 1:
            languages, encoder = settings[0].languages, settings[0].encoder.name
            spoken = " ".join(languages) if len(languages) <= FEW else f"{len(languages)} languages"
            described = [f"{spoken}, {Path(encoder).name.rstrip(':')}"]
        # Kedro lists them in the order of a set, which is another one in each process.
        chosen = [*(name for name in pipelines if name in names), *(run_params.get("namespaces") or ())]
        chosen = ["train_multilingual" if name == "__default__" else name for name in chosen]
        overridden = name_overrides(self._overrides, settings[0].name if described else "")
        mlflow.set_tag(MLFLOW_RUN_NAME, ", ".join([" ".join(chosen), *described, *overridden]))
        tags = MlflowClient().get_run(run.info.run_id).data.tags
        command = tags.get(COMMAND, "").replace("pipeline=", "pipelines=")
        given = ",".join(f"{name}={value}" for name, value in self._overrides.items())
        self._about = f"`{command}`" + "".join(f", on {one}" for one in described)
        self._given = f"Parameters: `{given}`" if given else ""
        mlflow.set_tags({COMMAND: command, MLFLOW_RUN_NOTE: f"{self._about}\n\n{self._given}".strip()})

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
        """Log headline scores and data to the run, and its data and parameters to the nested run of each training."""
        parent = mlflow.active_run()
        if parent is None:
            return
        for name, rows in outputs.items():
            if name.endswith(".scores"):
                scores = _headlines(name.removesuffix(".scores"), rows)
            elif name.endswith(SWEEP):
                scores = variant_headlines(name.removesuffix(SWEEP), rows)
            else:
                continue
            self._scores |= {owner: own for owner, own in scores.items() if own}
            values = {f"{owner}/{key}": value for owner, own in scores.items() for key, value in own.items()}
            log_values(parent.info.run_id, [(0, values)])
        data = _data_inputs(node, catalog)
        new = [described for name, (_, described) in data.items() if name not in self._data]
        if new and (TRAINING_TAG in node.tags or not self._trains):
            MlflowClient().log_inputs(parent.info.run_id, new)
            self._data |= data.keys()
        if TRAINING_TAG in node.tags:
            self._log_trainings(parent.info, data)

    def _log_trainings(self, parent: RunInfo, data: Mapping[str, tuple[str, DatasetInput]]) -> None:
        """Log versions as parameters, which MLflow can compare, and digests as data sets, to each new nested run."""
        client, inside = MlflowClient(), f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent.run_id}'"
        for run in client.search_runs([parent.experiment_id], inside):
            if CODE not in run.data.params:
                client.log_param(run.info.run_id, CODE, ease.__version__)
                for name, (version, _) in data.items():
                    client.log_param(run.info.run_id, f"data.{name}", version)
                client.log_inputs(run.info.run_id, [described for _, described in data.values()])
                if OF_METHOD.fullmatch(name := run.info.run_name):
                    words = [name, *name_overrides(self._overrides, name)]
                    client.set_tag(run.info.run_id, MLFLOW_RUN_NAME, ", ".join(words))

    # Before the run is ended.
    @hook_impl(tryfirst=True)
    def after_pipeline_run(self) -> None:
        """Log the best encoder's scores under the names of a training's; describe the run, and show these scores."""
        run = mlflow.active_run()
        if run is None or not self._scores:
            return
        shown = list(next(iter(self._scores.values())))[:COLUMNS]
        best, values = max(self._scores.items(), key=lambda item: item[1].get(shown[0], float("-inf")))
        log_values(run.info.run_id, [(0, {name: values[name] for name in shown if name in values})])
        about = f"{self._about}\n\nBest: `{best}`, {values[shown[0]]:.1f} of `{shown[0]}`."
        next_step = "Next: tick trainings in the list, then **Compare**; `kedro run --pipelines=report`."
        rows = [{"encoder": owner, **own} for owner, own in self._scores.items()]
        table = format_table(pd.DataFrame(rows, columns=["encoder", *shown]))
        mlflow.set_tag(MLFLOW_RUN_NOTE, "\n\n".join([about, table, next_step, self._given]).strip())
        mlflow.set_experiment_tag(VIEW_TAG, json.dumps(view_of(shown)))


def name_overrides(given: Mapping[str, Any], owner: str) -> list[str]:
    """Return given parameters for the name of a run, or of one of its trainings: few, with short values, without paths.

    `owner` is the run's setting; or `SETTING.METHOD` of a training, with its own parameters, those of its setting, and
    general ones.
    """
    prefixes = (f"{owner}.", f"{owner.partition('.')[0]}.setting.")
    words = dict.fromkeys(
        f"{name.rpartition('.')[2]}={value}"
        for name, value in given.items()
        if "/" not in str(value)
        and not name.endswith((".languages", ".encoder", ".encoder.name"))  # described anyway
        and len(str(value)) <= SHORT
        and ("." not in owner or "." not in name or name.startswith(prefixes))
    )
    return list(words)[:FEW]


def view_of(scores: Sequence[str]) -> dict[str, Any]:
    """Return the state of MLflow's list of runs, as its shared views store it: wide names, then scores, then data."""
    shown = [*(f"metrics.`{name}`" for name in scores), "attributes.`Dataset`"]
    widths = {"attributes.`Run Name`": 400, **dict.fromkeys(shown, 180), shown[-1]: 240}
    return {"selectedColumns": shown, "columnOrder": list(widths), "columnWidths": widths}


def _flat(name: str, value: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter's fields by dotted names; a `RootModel`, such as the encoders' defaults, stays one value.

    Of the tasks' options, those are returned whose evaluation data the node reads.
    """
    if name == "tasks":
        located = [read_located(data) for input, data in inputs.items() if input.endswith("evaluation_data")]
        tasks = {task for found in located for task, data in found.items() if data.subsets}
        value = {task: options for task, options in value.items() if task in tasks}
    if isinstance(value, BaseModel) and not isinstance(value, RootModel):
        return flatten_options(value, name)
    return dotted(value, name) if isinstance(value, Mapping) else {name: value}


def _headlines(owner: str, rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the main scores, by `task/subset`, of each encoder: `multilingual.ease`, or `baselines.NAME`."""
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        method = row.get("method")
        by_owner.setdefault(f"{owner}.{safe_name(method)}" if method else owner, []).append(row)
    return {one: headline(own) for one, own in by_owner.items()}


def variant_headlines(sweep: str, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the main scores of each variant, averaged over its seeds, by `multilingual.grid.VARIANT`.

    The sweep's name begins with its setting; `rows` have the columns `variant` and `seed` beside a score's own.
    """
    values: dict[str, dict[str, list[float]]] = {}
    scored = rows[rows["value"].notna() & (rows["split"] != DEVELOPMENT)]
    for (variant, _), own in scored.groupby(["variant", "seed"], sort=False):
        for name, value in headline(own.to_dict("records")).items():
            own_values = values.setdefault(f"{sweep}.{safe_name(variant)}", {})
            own_values.setdefault(name, []).append(value)
    return {owner: {name: mean(seeds) for name, seeds in own.items()} for owner, own in values.items()}


def _data_inputs(node: Node, catalog: DataCatalog) -> dict[str, tuple[str, DatasetInput]]:
    """Return the version and MLflow's description of each data set that a training or evaluation read, by its name."""
    found = {}
    training = TRAINING_TAG in node.tags
    for name, version in input_versions(node, catalog).items():
        if version is not None and (training or name.endswith("evaluation_data")):
            dataset: Any = catalog.get(name)
            path = Path(dataset._get_versioned_path(version))
            digest = hash_contents(path)[:DIGEST_LENGTH] if path.exists() else version
            source, profile = json.dumps({"uri": str(path)}), json.dumps({"version": version})
            tags = [
                InputTag(MLFLOW_DATASET_CONTEXT, "training" if training else "evaluation"),
                InputTag("version", version),
            ]
            described = DatasetInput(Dataset(name, digest, "local", source, None, profile), tags)
            found[name] = version, described
    # MLflow's list of runs shows the first one.
    return dict(sorted(found.items(), key=lambda item: not item[0].endswith(("training_pairs", "texts"))))
