"""Check a run before its first node: collect the faults that each pipeline's own checks find, and those of any run.

A pipeline offers its checks as `CHECKS` in the module `checks` beside its nodes: functions by the function of the node
that they check. A check raises EaseError with one sentence, or with one line for each fault.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from kedro.framework.project import pipelines
from kedro.io import AbstractVersionedDataset, CatalogProtocol
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.encoders.check import check_encoder_contents, check_encoder_files
from ease.errors import EaseError
from ease.evaluation.scoring import check_references
from ease.evaluation.sets import check_address, read_located
from ease.evaluation.tasks import TaskParameters
from ease.evaluation.tasks.base import error_prefix
from ease.io.files import check_free_space, check_writable
from ease.options import is_within
from ease.pipelines.setting import preparation_of
from ease.texts.pairs import PREPARATION

Catalog = CatalogProtocol[Any, Any]
Options = TypeVar("Options")


class PlannedRun:
    """The nodes that will run with their parameters, the checks left for last, and the messages of failed checks.

    Attributes:
        outputs: The datasets that the run makes.
        typed: Complete names of the parameters that `--params` gives.
        required_bytes: Free disk space that the run needs, to which checks add.
        faults: The messages.
    """

    def __init__(self, pipeline: Pipeline, catalog: Catalog, free_bytes: int, typed: Collection[str]) -> None:
        self.pipeline = pipeline
        self.catalog = catalog
        self.outputs = pipeline.all_outputs()
        self.typed = typed
        self.required_bytes = free_bytes
        self.faults: list[str] = []
        self._later_checks: list[Callable[[], object]] = []
        self._last_checks: list[Callable[[], object]] = []
        self._parameters: dict[str, Any] = {}

    def check(self, check: Callable[..., object], *arguments: Any, **options: Any) -> None:
        """Run a check, and keep its message if it fails, so that the next checks still run."""
        try:
            check(*arguments, **options)
        except EaseError as error:
            self.faults.extend(str(error).split("\n"))

    def check_later(self, check: Callable[..., object], *arguments: Any, **options: Any) -> None:
        """Run a check only if all faster ones pass: one that imports torch, which takes a second or two."""
        self._later_checks.append(partial(check, *arguments, **options))

    def check_last(self, check: Callable[..., object], *arguments: Any, **options: Any) -> None:
        """Run a check only if all others pass: one that loads an encoder, and imports transformers for it."""
        self._last_checks.append(partial(check, *arguments, **options))

    def check_encoder(self, name: str, *, transformer: bool = False) -> None:
        """Check an encoder's files; at last, its weights and its tokenizer."""
        self.check(check_encoder_files, name, transformer=transformer)
        self.check_last(check_encoder_contents, name)

    def refuse_idle(self, names: Iterable[str], reason: str) -> None:
        """Refuse parameters of `--params`, and those within them, that have no effect for a reason."""
        for name in names:
            idle = [typed for typed in sorted(self.typed) if is_within(typed, name)]
            self.faults.extend(f"`{typed}` has no effect, since {reason}: remove it." for typed in idle)

    def run_slow_checks(self) -> None:
        """Run the checks that were left for later, and then those for last, each if there is no fault yet."""
        for checks in (self._later_checks, self._last_checks):
            if self.faults:
                return
            for check in checks:
                self.check(check)

    def options(self, node: Node, kind: type[Options]) -> Options:
        """Return the parameter of a class that a node reads."""
        for name in node.inputs:
            if is_parameter(name) and isinstance(value := self._load(name), kind):
                return value
        raise LookupError(f"{node.name} reads no {kind.__name__}")

    def parameter(self, name: str) -> Any:
        """Return a parameter by its complete name."""
        return self._load(f"params:{name}")

    def _load(self, name: str) -> Any:
        # Once, since the catalog copies a parameter at each load.
        if name not in self._parameters:
            self._parameters[name] = self.catalog.load(name)
        return self._parameters[name]

    def has(self, dataset: str) -> bool:
        """Return whether a dataset exists or is made by this run."""
        return dataset in self.outputs or bool(self.catalog.exists(dataset))

    def maker(self, dataset: str) -> Node | None:
        """Return the node of this run that makes a dataset."""
        return next((node for node in self.pipeline.nodes if dataset in node.outputs), None)


Check = Callable[[Node, PlannedRun], object]


def find_faults(
    pipeline: Pipeline, catalog: Catalog, data: Path, free_bytes: int, typed: Collection[str] = ()
) -> list[str]:
    """Return one sentence for each fault that would stop the run.

    Args:
        pipeline: The nodes that will run.
        data: The project's folder of data.
        free_bytes: Space on its disk without which no run starts.
        typed: Complete names of the parameters that `--params` gives.
    """
    run = PlannedRun(pipeline, catalog, free_bytes, typed)
    for node in pipeline.nodes:
        _check_task_names(node, run)
        for check in checks_of(node):
            run.check(check, node, run)
    for name in sorted(run.outputs):
        dataset = catalog.get(name)
        # Remote folders have a prefix, such as `s3://`.
        if isinstance(dataset, AbstractVersionedDataset) and not getattr(dataset, "_fs_prefix", ""):
            place = Path(dataset._filepath)
            # The path of a dataset without versions is its file; with versions, the folder of the versions.
            if dataset._version is None:
                place = place.parent
            run.check(check_writable, place)
    run.check(check_free_space, data, run.required_bytes)
    run.check(_check_inputs, run)
    _check_located_sets(run)
    run.check(_check_engine, run)
    run.run_slow_checks()
    # Nodes that share a parameter find the same fault.
    return list(dict.fromkeys(run.faults))


def checks_of(node: Node) -> Sequence[Check]:
    """Return the checks that a node's pipeline offers for it."""
    package, _, _ = getattr(node.func, "__module__", "").rpartition(".")
    if not package or find_spec(f"{package}.checks") is None:
        return ()
    checks: dict[Callable[..., Any], list[Check]] = import_module(f"{package}.checks").CHECKS
    return checks.get(node.func, ())


def _check_task_names(node: Node, run: PlannedRun) -> None:
    """Refuse unknown tasks in any parameter that a node reads, whether the node scores tasks or not."""
    parameters = [name.removeprefix("params:") for name in node.inputs if name.startswith("params:")]
    for parameter in parameters:
        options = run.parameter(parameter)
        if hasattr(options, "task_references"):
            for field, names in options.task_references().items():
                for name in names:
                    run.check(_check_task_name, f"{parameter}.{field}", name, run.parameter("tasks"))


def _check_task_name(parameter: str, name: str, tasks: TaskParameters) -> None:
    with error_prefix(f"Parameter `{parameter}`"):
        check_references([name], tasks)


def _check_inputs(run: PlannedRun) -> None:
    """Refuse missing versions, and datasets that no run has made."""
    for name in sorted(run.pipeline.datasets()):
        dataset: Any = run.catalog.get(name)
        version = getattr(dataset, "chosen_version", None)
        if version and not dataset.exists():
            raise EaseError(f"`{name}` has no version {version}: see {dataset.folder_of(version).parent}.")
    inputs = sorted(run.pipeline.inputs())
    required = [name for name in inputs if not getattr(run.catalog.get(name), "may_be_missing", True)]
    missing = [name for name in required if not run.catalog.exists(name)]
    if missing:
        commands = dict.fromkeys(_command_to_make(name) for name in missing)
        names = ", ".join(f"`{name}`" for name in missing)
        raise EaseError(f"No run has made {names} yet: first run {' and '.join(commands)}.")


def _check_located_sets(run: PlannedRun) -> None:
    """Refuse tasks whose parameters name other files than an earlier run has located."""
    for dataset in sorted(name for name in run.pipeline.inputs() if name.endswith("evaluation_data")):
        if run.catalog.exists(dataset):
            tasks = run.parameter("tasks")
            for name, located in read_located(run.catalog.load(dataset)).items():
                if name in tasks:
                    run.check(check_address, name, tasks[name], located)


def _command_to_make(dataset: str) -> str:
    """Return the command that makes a dataset: the preparation of its setting, else the smallest pipeline."""
    setting = dataset.partition(".")[0]
    job = pipelines.get(f"train_{setting}")
    if job and dataset in job.only_nodes_with_tags(*PREPARATION.split(",")).all_outputs():
        return preparation_of(setting)
    # Sums of pipelines also make a dataset, among much else.
    sizes = {name: len(pipelines[name].nodes) for name in pipelines if dataset in pipelines[name].all_outputs()}
    return f"`kedro run --pipelines={min(sizes, key=sizes.__getitem__)}`"


def _check_engine(run: PlannedRun) -> None:
    if run.parameter("engine") != "spark":
        return
    if find_spec("pyspark") is None:
        raise EaseError("`engine=spark` needs PySpark: install the extra `spark` (docs/cluster.md).")
    home = os.environ.get("JAVA_HOME")
    # Spark's scripts look in PATH only without JAVA_HOME.
    folder = None
    if home:
        folder = f"{home}/bin"
    if shutil.which("java", path=folder) is None:
        raise EaseError(
            f"`engine=spark` needs a Java runtime, 17 or later, and there is none in {home or 'PATH'}: install one "
            "(`scripts/system_packages.sh java`), or leave `engine` at duckdb."
        )
