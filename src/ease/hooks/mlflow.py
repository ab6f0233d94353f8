"""The MLflow run of a `kedro run`: its name, parameters, data and scores."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from threading import Lock
from typing import TYPE_CHECKING, Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from pydantic import BaseModel, RootModel

import ease
from ease.evaluation.scoring import DEVELOPMENT, KEPT_STEP
from ease.evaluation.sets import read_located
from ease.hooks.mlflow_store import open_experiment, read_store_options
from ease.hooks.runs import input_versions
from ease.io.files import hash_contents
from ease.lazy import mlflow
from ease.names import safe_name
from ease.options import dotted
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.variants import SWEPT_SETTINGS
from ease.pipelines.tracking import (
    DIGEST_LENGTH,
    NOTE_TAG,
    TRAINING_TAG,
    close_killed_runs,
    flatten_options,
    headline,
    link_metrics,
    log_parameters,
    log_values,
    process_tags,
)
from ease.reporting.markdown_tables import format_table

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities import DatasetInput, RunInfo

logger = logging.getLogger(__name__)

_ONE_THREAD = Lock()

CODE = "code"
"""Parameter that holds the version of the code"""
COMMAND_TAG = "kedro_command"
NAME_TAG = "mlflow.runName"
PARENT_TAG = "mlflow.parentRunId"
DATA_CONTEXT_TAG = "mlflow.data.context"
"""MLflow's own tags: https://mlflow.org/docs/latest/ml/tracking/tracking-api/#system-tags"""

NAME_PARTS = 4
"""Languages, and parameters of the command line, that a run's name lists at most"""
NAME_VALUE_LENGTH = 20
"""Characters of the longest value in a run's name"""
METHOD_RUN = re.compile(r"[\w-]+\.[\w-]+")
"""Names of the nested runs of a setting's methods"""
TRAINED_ON = ("training_pairs", "texts")
"""Ends of the names of the data sets whose rows a training run reads"""
VARIANT_SCORES = "sweep.variant_scores"
"""The table that a sweep makes"""
SUMMARY_SCORES = 3
"""Scores in a run's description, and of its best encoder among the run's own metrics"""


@dataclass
class TrackedRun:
    """The run in progress, and what is logged of it."""

    run_id: str
    belongs_to_caller: bool
    """Whether the caller, such as a notebook, opened the run and ends it"""
    overrides: dict[str, Any]
    """Parameters of the command line by dotted names"""
    has_training: bool
    description: str = ""
    logged_parameters: set[str] = field(default_factory=set)
    logged_data: set[str] = field(default_factory=set)
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    """Headline scores of each encoder"""

    @property
    def parameters_note(self) -> str:
        """The parameters of the command line, for the description; empty if there are none."""
        if not self.overrides:
            return ""
        values = ",".join(f"{name}={value}" for name, value in self.overrides.items())
        return f"Parameters: `{values}`"


class Tracking:
    """Opens the MLflow run of a `kedro run`, logs its inputs and results, and ends it."""

    _run: TrackedRun

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read where runs are tracked; the store is opened by a run."""
        self._store = read_store_options(context.config_loader)
        self._project = Path(context.project_path)

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Open the run, name and describe it; close the runs of processes that were killed."""
        overrides = dotted(run_params.get("runtime_params") or {})
        has_training = any(TRAINING_TAG in node.tags for node in pipeline.nodes)
        run = mlflow.active_run()
        belongs_to_caller = run is not None
        if run is None:
            experiment = open_experiment(self._store, self._project)
            run = mlflow.start_run(experiment_id=experiment.experiment_id)
        self._run = TrackedRun(run.info.run_id, belongs_to_caller, overrides, has_training)
        mlflow.set_tags(process_tags())
        close_killed_runs(run)

        setting = _single_setting(pipeline, catalog)
        command = kedro_command(run_params)
        self._run.description = f"`{command}`"
        if setting is not None:
            self._run.description += f", on {_describe_setting(setting)}"
        note = f"{self._run.description}\n\n{self._run.parameters_note}".strip()
        mlflow.set_tags({COMMAND_TAG: command, NOTE_TAG: note})
        if not belongs_to_caller:
            mlflow.set_tag(NAME_TAG, self._store.run_name or name_run(run_params, setting, overrides))

    @hook_impl
    def before_node_run(self, inputs: dict[str, Any]) -> None:
        """Log each parameter once, by its dotted name; skip tasks without evaluation data."""
        if mlflow.active_run() is None:
            # Active runs belong to a thread, and `ThreadRunner` runs nodes in threads of its own.
            mlflow.start_run(run_id=self._run.run_id)
        values: dict[str, Any] = {}
        for name, value in inputs.items():
            if is_parameter(name):
                values |= _flat(name.removeprefix("params:"), value, inputs)
        # MLflow's store refuses a parameter that two threads of `ThreadRunner` log at once.
        with _ONE_THREAD:
            # Most parameters are read by several nodes.
            unlogged = {name: value for name, value in values.items() if name not in self._run.logged_parameters}
            log_parameters(unlogged)
            self._run.logged_parameters |= unlogged.keys()

    @hook_impl
    def after_node_run(self, node: Node, catalog: DataCatalog, outputs: dict[str, Any]) -> None:
        """Log headline scores and data to the run, and its data and parameters to the nested training runs."""
        parent = mlflow.active_run().info
        for name, rows in outputs.items():
            if name.endswith(".scores"):
                scores = _headlines(name.removesuffix(".scores"), rows)
            elif name == VARIANT_SCORES:
                scores = variant_headlines(rows)
            else:
                continue
            self._run.scores |= {encoder: values for encoder, values in scores.items() if values}
            metrics = {f"{encoder}/{key}": value for encoder, values in scores.items() for key, value in values.items()}
            log_values(parent.run_id, [(0, metrics)])

        is_training = TRAINING_TAG in node.tags
        data = _data_inputs(node, catalog)
        # Evaluation sets do not describe a run that also trains.
        if is_training or not self._run.has_training:
            unlogged = [entry for name, (_, entry) in data.items() if name not in self._run.logged_data]
            if unlogged:
                mlflow.MlflowClient().log_inputs(parent.run_id, unlogged)
            self._run.logged_data |= data.keys()
        if is_training:
            self._describe_trainings(parent, data)

    def _describe_trainings(self, parent: RunInfo, data: Mapping[str, tuple[str, DatasetInput]]) -> None:
        """Log versions as parameters, which MLflow can compare, and digests as data sets, to each new nested run."""
        from ease.methods.base import TOTAL  # slow to import

        client = mlflow.MlflowClient()
        trained_on = [entry.dataset for name, (_, entry) in data.items() if name.endswith(TRAINED_ON)]
        for run in client.search_runs([parent.experiment_id], f"tags.`{PARENT_TAG}` = '{parent.run_id}'"):
            if CODE in run.data.params:
                # Described after an earlier node.
                continue
            run_id = run.info.run_id
            name = run.info.run_name
            client.log_param(run_id, CODE, ease.__version__)
            for dataset, (version, _) in data.items():
                client.log_param(run_id, f"data.{dataset}", version)
            client.log_inputs(run_id, [entry for _, entry in data.values()])
            if KEPT_STEP in run.data.tags:
                for source in trained_on:
                    link_metrics(run_id, {TOTAL: (source.name, source.digest)})
            if METHOD_RUN.fullmatch(name):
                client.set_tag(run_id, NAME_TAG, ", ".join([name, *name_overrides(self._run.overrides, name)]))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Describe the run by its scores, and end it."""
        if self._run.scores:
            self._summarize_scores()
        if not self._run.belongs_to_caller:
            mlflow.end_run()

    def _summarize_scores(self) -> None:
        """Log the best encoder's scores under the names that nested runs use, and describe the run by all encoders'."""
        scores = self._run.scores
        names = list(next(iter(scores.values())))[:SUMMARY_SCORES]
        best = max(scores, key=lambda encoder: scores[encoder].get(names[0], float("-inf")))
        values = {name: scores[best][name] for name in names if name in scores[best]}
        log_values(self._run.run_id, [(0, values)])

        import pandas as pd

        rows = [{"encoder": encoder, **values} for encoder, values in scores.items()]
        table = format_table(pd.DataFrame(rows, columns=["encoder", *names]))
        summary = f"{self._run.description}\n\nBest: `{best}`, {scores[best][names[0]]:.1f} of `{names[0]}`."
        next_step = "Next: tick training runs in the list, then **Compare**; `kedro run --pipelines=report`."
        note = "\n\n".join([summary, table, next_step, self._run.parameters_note]).strip()
        mlflow.set_tag(NOTE_TAG, note)

    @hook_impl
    def on_pipeline_error(self) -> None:
        """End the run, and a nested training run that failed."""
        while mlflow.active_run() is not None:
            if self._run.belongs_to_caller and mlflow.active_run().info.run_id == self._run.run_id:
                return
            mlflow.end_run("FAILED")


def kedro_command(run_params: Mapping[str, Any]) -> str:
    """Return the command of a run without its parameters, such as `kedro run --pipelines=train --tags=ingest`."""
    environment = run_params.get("env")
    versions = run_params.get("load_versions") or {}
    options = {
        "env": list(filter(None, [environment])),
        "pipelines": _in_registry_order(run_params.get("pipeline_names") or ()),
        "namespaces": run_params.get("namespaces"),
        "tags": run_params.get("tags"),
        "nodes": run_params.get("node_names"),
        "from-nodes": run_params.get("from_nodes"),
        "to-nodes": run_params.get("to_nodes"),
        "from-inputs": run_params.get("from_inputs"),
        "to-outputs": run_params.get("to_outputs"),
        "load-versions": [f"{name}:{version}" for name, version in versions.items()],
    }
    return " ".join(["kedro run", *(f"--{option}={','.join(names)}" for option, names in options.items() if names)])


def _in_registry_order(names: Iterable[str]) -> list[str]:
    """Sort names of pipelines: Kedro passes them in the order of a set, which differs from process to process."""
    return [name for name in pipelines if name in set(names)]


def _single_setting(pipeline: Pipeline, catalog: DataCatalog) -> Setting | None:
    """Return the setting of a run; None if it has several, or none."""
    names = [name for name in pipeline.inputs() if name.endswith(".setting")]
    if not names and "params:sweep" in pipeline.inputs():
        # The pipeline of sweeps reads all settings at once, of which the chosen sweep varies one.
        sweep = catalog.load("params:sweeps").choose(catalog.load("params:sweep"))
        names = [f"params:{sweep.setting_name}.setting"]
    if len(names) != 1:
        return None
    return Setting.model_validate(catalog.load(names[0]))


def _describe_setting(setting: Setting) -> str:
    languages = " ".join(setting.languages)
    if len(setting.languages) > NAME_PARTS:
        languages = f"{len(setting.languages)} languages"
    return f"{languages}, {Path(setting.encoder.name).name.rstrip(':')}"


def name_run(run_params: Mapping[str, Any], setting: Setting | None, overrides: Mapping[str, Any]) -> str:
    """Return the name of a run: its pipelines and namespaces, its setting, and short parameters of the command line."""
    stages = _in_registry_order(run_params.get("pipeline_names") or ["__default__"])
    # Users know the default pipeline by its other name.
    stages = ["train_multilingual" if name == "__default__" else name for name in stages]
    sweep = overrides.get("sweep", overrides.get("sweep.name"))
    if sweep is not None:
        stages = [f"sweep {sweep}" if name == "sweep" else name for name in stages]
        overrides = {name: value for name, value in overrides.items() if name not in ("sweep", "sweep.name")}
    words = [" ".join([*stages, *(run_params.get("namespaces") or ())])]
    if setting is None:
        return ", ".join([*words, *name_overrides(overrides, "")])
    return ", ".join([*words, _describe_setting(setting), *name_overrides(overrides, setting.name)])


def name_overrides(overrides: Mapping[str, Any], owner: str) -> list[str]:
    """Return parameters of the command line for the name of a run or of a nested one: few, short, and without paths.

    Args:
        overrides: All parameters by dotted names.
        owner: The run's setting; or `SETTING.METHOD` of a training run, which selects its parameters, those of
            its setting, and general ones.
    """
    prefixes = (f"{owner}.", f"{owner.partition('.')[0]}.setting.")
    words = dict.fromkeys(
        f"{name.rpartition('.')[2]}={value}"
        for name, value in overrides.items()
        if "/" not in str(value)
        and not name.endswith((".languages", ".encoder", ".encoder.name"))  # part of the setting's description
        and len(str(value)) <= NAME_VALUE_LENGTH
        and ("." not in owner or "." not in name or name.startswith(prefixes))
    )
    return list(words)[:NAME_PARTS]


def _flat(name: str, value: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter's fields by dotted names; a `RootModel`, such as the encoders' defaults, stays one value.

    Of the tasks' options, those are returned whose evaluation data the node reads; of the sweeps and the settings that
    they vary, the chosen ones.
    """
    if "params:sweep" in inputs:
        sweep = inputs["params:sweeps"].choose(inputs["params:sweep"])
        if name == "sweeps":
            return flatten_options(sweep, f"sweeps.{sweep.name}")
        if name in SWEPT_SETTINGS and name != sweep.setting_name:
            return {}
    if name == "tasks":
        tasks = _tasks_with_data(inputs)
        value = {task: options for task, options in value.items() if task in tasks}
    if isinstance(value, BaseModel) and not isinstance(value, RootModel):
        return flatten_options(value, name)
    if not isinstance(value, Mapping):
        return {name: value}
    fields: dict[str, Any] = {}
    for key, part in value.items():
        # Users choose some names, such as those of their own evaluation sets.
        fields |= _flat(f"{name}.{safe_name(str(key))}", part, inputs)
    return fields


def _tasks_with_data(inputs: Mapping[str, Any]) -> set[str]:
    """Return the tasks whose evaluation data a node reads."""
    tasks: set[str] = set()
    for name, data in inputs.items():
        if name.endswith("evaluation_data"):
            tasks |= {task for task, located in read_located(data).items() if located.subsets}
    return tasks


def _headlines(owner: str, rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the main scores, by `task/subset`, of each encoder: `multilingual.ease`, or `baselines.NAME`."""
    by_encoder: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        encoder = owner
        # Only baselines are several encoders in one table.
        if method := row.get("method"):
            encoder = f"{owner}.{safe_name(method)}"
        by_encoder.setdefault(encoder, []).append(row)
    return {encoder: headline(encoder_rows) for encoder, encoder_rows in by_encoder.items()}


def variant_headlines(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the main scores of each variant, averaged over its seeds, by `multilingual.grid.VARIANT`.

    `rows` have the columns `setting`, `sweep`, `variant` and `seed` beside a score's own.
    """
    values_of_seeds: dict[str, dict[str, list[float]]] = {}
    # Rows without a value could not be scored; development scores have chosen the checkpoints.
    scored = rows[rows["value"].notna() & (rows["split"] != DEVELOPMENT)]
    for (setting, sweep, variant, _), seed_rows in scored.groupby(["setting", "sweep", "variant", "seed"], sort=False):
        scores = values_of_seeds.setdefault(f"{setting}.{sweep}.{safe_name(variant)}", {})
        for name, value in headline(seed_rows.to_dict("records")).items():
            scores.setdefault(name, []).append(value)
    return {
        encoder: {name: mean(values) for name, values in scores.items()} for encoder, scores in values_of_seeds.items()
    }


def _data_inputs(node: Node, catalog: DataCatalog) -> dict[str, tuple[str, DatasetInput]]:
    """Return the version and MLflow's description of each data set that a training or evaluation node read, by name."""
    is_training = TRAINING_TAG in node.tags
    context = "evaluation"
    if is_training:
        context = "training"
    entities: Any = mlflow.entities
    data = {}
    for name, version in input_versions(node, catalog).items():
        if version is None or not (is_training or name.endswith("evaluation_data")):
            continue
        dataset: Any = catalog.get(name)
        path = Path(dataset._get_versioned_path(version))
        # What lies at a remote store has no local path, so nothing to hash.
        digest = version
        if path.exists():
            digest = hash_contents(path)[:DIGEST_LENGTH]
        source = json.dumps({"uri": str(path)})
        profile = json.dumps({"version": version})
        tags = [entities.InputTag(DATA_CONTEXT_TAG, context), entities.InputTag("version", version)]
        description = entities.DatasetInput(entities.Dataset(name, digest, "local", source, None, profile), tags)
        data[name] = (version, description)
    # MLflow's list of runs shows the first one.
    return dict(sorted(data.items(), key=lambda item: not item[0].endswith(TRAINED_ON)))
