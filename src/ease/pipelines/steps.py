"""The nodes that will run, with their parameters, for checks before the first node."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from kedro.io import CatalogProtocol
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from pydantic import ValidationError

from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import read_located, require_sets
from ease.io.validation import format_validation_error
from ease.pipelines.acquire_evaluation.checks import check_development_sets
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions
from ease.pipelines.recipe import Recipe

Catalog = CatalogProtocol[Any, Any]

AUDIT = "audit"
"""The task on a test set that is made from the setting's own dumps"""


class Step:
    """A node that will run: its parameters, and the names of its datasets, by the arguments of its function."""

    def __init__(self, node: Node, pipeline: Pipeline, catalog: Catalog) -> None:
        self.function, self.namespace, self._catalog = node.func, node.namespace or "", catalog
        self._made = pipeline.all_outputs()
        self.datasets = [name for name in (*node.inputs, *node.outputs) if not is_parameter(name)]
        arguments: Any = node._inputs  # Kedro has no public way to read the arguments' names
        if not isinstance(arguments, dict):
            arguments = dict(zip(inspect.signature(node.func).parameters, node.inputs, strict=False))
        self._given: dict[str, str] = arguments

    def __getitem__(self, argument: str) -> Any:
        """Return the value of a parameter, or the name of a dataset."""
        name = self._given[argument]
        return self._catalog.load(name) if is_parameter(name) else name

    def of(self, kind: type[Any]) -> dict[str, Any]:
        """Return the parameters of a class by their full names."""
        names = {name for name in self._given.values() if is_parameter(name)}
        values = {name.removeprefix("params:"): self._catalog.load(name) for name in sorted(names)}
        return {name: value for name, value in values.items() if isinstance(value, kind)}

    def one(self, kind: type[Any]) -> Any:
        """Return the parameter of a class; None if the node has none."""
        return next(iter(self.of(kind).values()), None)

    def has(self, argument: str) -> bool:
        """Return whether a dataset is an input that exists or is made by this run."""
        name = self._given.get(argument)
        return name is not None and (name in self._made or self._catalog.exists(name))

    def name_of(self, argument: str) -> str:
        """Return the name of a dataset or parameter in the catalog; empty if the node does not have it."""
        return self._given.get(argument, "")


class Run:
    """The steps of a run, and which of them locate evaluation sets."""

    def __init__(self, pipeline: Pipeline, catalog: Catalog) -> None:
        self.catalog, self.pipeline = catalog, pipeline
        self.steps = [Step(node, pipeline, catalog) for node in pipeline.nodes]
        locating = [step for step in self.steps if step.of(EvaluationSetOptions)]
        self._locating = {name: step for step in locating for name in step.datasets}
        self._audits = any(name.endswith(".audit_set") for name in pipeline.all_outputs())

    def locating(self, step: Step) -> EvaluationSetOptions | None:
        """Return the options of the node that locates a step's evaluation sets; None if an earlier run has."""
        found = self._locating.get(step.name_of("evaluation_data"))
        options: EvaluationSetOptions | None = None if found is None else found.one(EvaluationSetOptions)
        return options

    def located(self, step: Step) -> Any:
        """Return the sets of a step that an earlier run located; None if there are none."""
        name = step.name_of("evaluation_data")
        return read_located(self.catalog.load(name)) if self.catalog.exists(name) else None

    def check_development(self, step: Step, wanted: Sequence[str]) -> None:
        """Check the sets that choose checkpoints: their files if this run locates them, else the located ones."""
        faults = Faults()
        sets = self.locating(step)
        located = self.located(step) if sets is None else None
        for name in dict.fromkeys(map(task_name, wanted)):
            if name == AUDIT and self._audits:
                continue
            own = [reference for reference in wanted if task_name(reference) == name]
            if sets is not None:
                faults.add(check_development_sets, own, sets, step["tasks"])
            elif located is not None:
                faults.add(require_sets, own, located, step["tasks"])
        faults.report()


class Faults(list[str]):
    """Messages of failed checks."""

    def add(self, check: Callable[..., object], *arguments: Any, **options: Any) -> None:
        """Run a check, and keep its message if it fails."""
        try:
            check(*arguments, **options)
        except ValidationError as error:  # of a recipe that a sweep varies
            self.append(format_validation_error(error, Recipe))
        except EaseError as error:
            self.extend(str(error).split("\n"))

    def report(self) -> None:
        """Raise the messages, one per line, if there are any."""
        if self:
            raise EaseError("\n".join(self))
