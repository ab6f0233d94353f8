"""What happens around a run: checks, locks, provenance, results and missing scores."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import IO, Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import AbstractVersionedDataset, DataCatalog
from kedro.io.core import VersionNotFoundError, is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.runner import SequentialRunner
from pydantic import TypeAdapter

import ease
from ease.errors import EaseError
from ease.evaluation.sets import shortened
from ease.hooks.names import find_idle_parameters
from ease.io.atomic import write_text_atomically
from ease.io.files import make_or
from ease.io.locks import lock_data_for_run
from ease.io.versions import SIDECAR
from ease.options import dotted
from ease.pipelines.work import release_work
from ease.training.processes import TrainingInterrupted

logger = logging.getLogger(__name__)

EVALUATE_TAG = "evaluate"
"""Nodes with this tag return rows of scores; a row without a value names something that could not be scored."""

NEXT_STEPS = {
    "train": "`{demo}` searches with the models, `{mlflow}` compares the runs, "
    "`kedro run --pipelines=report` the scores with the papers'",
    "evaluate": "`kedro run --pipelines=report` compares the scores with the papers'",
    "sweep": "`{mlflow}` compares the training runs",
}
"""What follows a run, by a tag of its nodes; that of the first matching tag is shown."""

DEMO_SETTING = "multilingual"
"""The setting that the demo searches by default"""

VERSION_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d\.\d\d\.\d\d\.\d{3}Z")
"""Names of Kedro's versions"""

_JSON = TypeAdapter(Any)


def is_useful_hint(record: logging.LogRecord) -> bool:
    """Return whether Kedro's hint on how to resume may be logged: not if we give our own, nor to repeat the command."""
    stopped = isinstance(sys.exc_info()[1], TrainingInterrupted)
    return not stopped and "No nodes ran" not in record.getMessage()


class Guard:
    """Locks the data folder against `make prune`, and refuses a run that would fail late before it starts."""

    _lock: IO[bytes] | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember the parameters, the data folder and the required disk space."""
        self._globals = context.config_loader["globals"]
        self._parameters = context.config_loader["parameters"]

    # Before MLflow opens a run.
    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Lock the data folder until the process ends, and check what the nodes of the run need; name all faults."""
        # Imported late: most commands run nothing.
        from ease.pipelines.checks import find_faults
        from ease.pipelines.train.checks import lock_trainings

        logging.getLogger(SequentialRunner.__module__).addFilter(is_useful_hint)
        # Folders of an interrupted run of this process, such as a notebook's.
        release_work()
        data = str(self._globals["data"])
        # A remote folder has no lock.
        if "://" not in data and self._lock is None:
            self._lock = lock_data_for_run(Path(data))
        free_bytes = round(self._globals["free_disk_gb"] * 1e9)
        runtime_parameters = run_params["runtime_params"] or {}
        faults = find_idle_versions(run_params.get("load_versions") or {}, pipeline)
        faults += _refuse_idle_parameters(runtime_parameters, pipeline, self._parameters)
        if run_params.get("only_missing_outputs"):
            # The runner skips the other nodes, after this hook; what they would need may be missing.
            unfinished = [node for node in pipeline.nodes if not all(map(catalog.exists, node.outputs))]
            pipeline = Pipeline(unfinished)
            skipped = find_idle_parameters(runtime_parameters, pipeline, self._parameters)
            if skipped:
                logger.warning("Parameters of nodes whose outputs exist have no effect: %s.", shortened(skipped))
        faults += find_newer_versions(pipeline, catalog)
        faults += find_faults(pipeline, catalog, Path(data), free_bytes, dotted(runtime_parameters))
        if len(faults) > 1:
            lines = "".join(f"\n- {fault}" for fault in faults)
            raise EaseError(f"{len(faults)} faults, found before anything was run:{lines}")
        if faults:
            raise EaseError(faults[0])
        lock_trainings(pipeline, catalog)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Release the work folders of a complete run."""
        release_work(succeeded=True)

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Release the work folders of a failed run."""
        release_work()


def find_idle_versions(load_versions: dict[str, str], pipeline: Pipeline) -> list[str]:
    """Return a fault for each version in `--load-versions` that no node of a run reads."""
    names = {name for node in pipeline.nodes for name in node.inputs}
    return [
        f"`--load-versions={name}:{version}` has no effect, since this run does not read `{name}`: remove it."
        for name, version in load_versions.items()
        if name not in names
    ]


def _refuse_idle_parameters(command_line: dict[str, Any], pipeline: Pipeline, parameters: dict[str, Any]) -> list[str]:
    """Return a fault if the nodes of a run read none of the parameters from `--params`; warn if they read only some.

    Commands for several runs may have the same parameters, of which each run reads some.
    """
    idle = find_idle_parameters(command_line, pipeline, parameters)
    if not idle:
        return []
    message = f"Parameters without effect, since this run does not read them: {shortened(idle)}."
    if len(idle) == len(dotted(command_line)):
        return [message]
    logger.warning("%s", message)
    return []


def find_newer_versions(pipeline: Pipeline, catalog: DataCatalog) -> list[str]:
    """Return faults of versions that hide the run's own, or others: those with a later time, and other folders.

    The last name counts as the newest version, so later runs would ignore this run's output.
    """
    newer = []
    misnamed = []
    outputs = pipeline.all_outputs()
    for name in sorted(pipeline.datasets()):
        dataset: Any = catalog.get(name)
        # Listing the versions of a remote store takes too long.
        if not isinstance(dataset, AbstractVersionedDataset) or getattr(dataset, "_protocol", "file") != "file":
            continue
        newest = max(dataset.list_versions(full_path=False), default="")
        run_version = dataset.resolve_save_version()
        if newest and not VERSION_NAME.fullmatch(newest):
            folder = Path(dataset._filepath) / newest
            misnamed.append(f"{folder} is no version, but would be read as the newest: move it to another folder.")
        elif name in outputs and run_version and newest > run_version:
            newer.append((newest, name, run_version))
    if not newer:
        return misnamed
    newest, name, run_version = max(newer)
    return [
        *misnamed,
        f"{len(newer)} outputs of this run have versions that are newer than its time, {run_version}, such as {newest} "
        f"of {name}: later runs would ignore this run's. Set the clock, start the run again, or remove the versions.",
    ]


class Provenance:
    """Writes a sidecar into every version's folder."""

    def __init__(self) -> None:
        self._made_from: dict[str, dict[str, Any]] = {}

    @hook_impl
    def before_node_run(self, node: Node, catalog: DataCatalog, inputs: dict[str, Any]) -> None:
        """Remember the catalog, the node's parameters and the versions of its inputs."""
        self._catalog = catalog
        parameters = {
            name: _JSON.dump_python(value, mode="json") for name, value in inputs.items() if is_parameter(name)
        }
        self._made_from[node.name] = {
            "code": ease.__version__,
            "parameters": parameters,
            "inputs": input_versions(node, catalog),
        }

    @hook_impl
    def before_dataset_saved(self, dataset_name: str, data: Any, node: Node) -> None:
        """Write the sidecar first, so that every version has one."""
        # The empty path is the output of a node that had nothing to make: it is not saved.
        if isinstance(data, Path) and data == Path():
            return
        dataset: Any = self._catalog.get(dataset_name)
        if not isinstance(dataset, AbstractVersionedDataset):
            return
        version = dataset.resolve_save_version()
        if not version:
            return
        # Tables may be at a store that Kedro's own paths do not reach.
        if hasattr(dataset, "folder_of"):
            folder = dataset.folder_of(version)
        else:
            folder = Path(dataset._get_versioned_path(version)).parent
        made_from = {"dataset": dataset_name, **self._made_from[node.name]}
        write_text_atomically(folder / SIDECAR, json.dumps(made_from, indent=2))


def input_versions(node: Node, catalog: DataCatalog) -> dict[str, str | None]:
    """Return the version of each versioned input of a node; None if no version exists."""
    versions: dict[str, str | None] = {}
    for name in node.inputs:
        if is_parameter(name):
            continue
        dataset = catalog.get(name)
        if isinstance(dataset, AbstractVersionedDataset):
            try:
                versions[name] = dataset.resolve_load_version()
            except VersionNotFoundError:
                versions[name] = None
    return versions


def _next_steps(pipeline: Pipeline) -> str:
    """Return a line with the commands that follow a run; empty if none does."""
    tag = next((tag for tag in NEXT_STEPS if pipeline.only_nodes_with_tags(tag).nodes), None)
    if tag is None:
        return ""
    # By what is made: the namespaces of sweeps and of `stages` do not name the setting.
    settings = {name.partition(".")[0] for name in pipeline.only_nodes_with_tags(tag).all_outputs()}
    if DEMO_SETTING in settings:
        demo = make_or("demo", "python -m ease.search serve")
    else:
        option = f"--setting={min(settings)}"
        demo = make_or(f"demo ARGS={option}", f"python -m ease.search serve {option}")
    mlflow = make_or("mlflow", "python -m ease.servers mlflow")
    return f"\nNext: {NEXT_STEPS[tag].format(demo=demo, mlflow=mlflow)}."


class Results:
    """Logs the paths of a run's results and the next commands; fails a run at its end if scores are missing."""

    def __init__(self) -> None:
        self._unscored: dict[str, list[str]] = defaultdict(list)
        self._load_versions: set[str] = set()
        self._linked: dict[str, str] = {}
        self._ran: set[str] = set()

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Remember what the links lead to, and forget an earlier run of this process, such as a notebook's."""
        self._unscored.clear()
        self._ran.clear()
        self._load_versions = set(run_params.get("load_versions") or {})
        self._linked = {}
        for name in sorted(pipeline.all_outputs()):
            dataset: Any = catalog.get(name)
            if name.endswith(".encoder") and (version := dataset.linked_version()):
                self._linked[name] = version

    @hook_impl
    def after_node_run(self, node: Node, catalog: DataCatalog, outputs: dict[str, Any]) -> None:
        """Collect the missing scores of a node by reason; promote an encoder whose version was named and is scored.

        The report shows the newest scores, so that `latest` is the encoder in the report.
        """
        self._ran.add(node.name)
        if EVALUATE_TAG not in node.tags:
            return
        for name in self._load_versions.intersection(node.inputs):
            encoder: Any = catalog.get(name)
            if name.endswith(".encoder") and encoder.link:
                encoder.promote()
                logger.info("%s links to %s, which is scored", encoder.link, encoder.linked_version())
        for name, rows in outputs.items():
            for row in rows:
                if row["value"] is None:
                    parts = (name.removesuffix(".scores"), row.get("method"), row["task"], row["subset"])
                    self._unscored[row["note"]].append(" ".join(filter(None, parts)))

    @hook_impl
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log what was made."""
        if run_params.get("only_missing_outputs"):
            pipeline = Pipeline([node for node in pipeline.nodes if node.name in self._ran])
            if not pipeline.nodes:
                logger.info("Nothing was missing, so nothing was run.")
                return
        results: list[str] = []
        for name in sorted(pipeline.all_outputs()):
            # By attribute: importing the classes of datasets with a link would slow down every command.
            link = getattr(catalog.get(name), "link", None)
            if link is None or not link.exists():
                continue
            # For a folder of web pages, list the pages.
            paths = sorted(link.glob("*.html")) or [link]
            results.extend(f"\n  {name}: {path}" for path in paths)
        for name, version in self._linked.items():
            encoder: Any = catalog.get(name)
            if encoder.linked_version() != version:
                namespace = name.removesuffix(".encoder")
                results.append(
                    f"\n  {encoder.link} was {version} until now; to take it back: `kedro run --pipelines=evaluate "
                    f"--namespaces={namespace} --load-versions={name}:{version}`"
                )
        logger.info("Done: %d nodes.%s%s", len(pipeline.nodes), "".join(results), _next_steps(pipeline))
        if self._unscored:
            lines = "\n".join(f"{', '.join(parts)}: {reason}" for reason, parts in self._unscored.items())
            raise EaseError(f"Not all could be scored; all other scores are kept. Not scored:\n{lines}")
