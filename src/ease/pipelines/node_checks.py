"""Nodes that will run with their parameters, and checks that several kinds of nodes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kedro.io import CatalogProtocol
from kedro.io.core import is_parameter
from kedro.pipeline.node import Node

from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import read_located, require_sets
from ease.pipelines.acquire.options import SAMPLE
from ease.pipelines.acquire_evaluation.checks import check_development_sets
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions
from ease.pipelines.recipe import Recipe
from ease.texts import source_options

Catalog = CatalogProtocol[Any, Any]
Check = Callable[[], object]
"""Raises an EaseError or a ValidationError if it finds a fault."""

T = TypeVar("T")


class Step(NamedTuple):
    """A node that will run, with its parameters by their names."""

    name: str
    parameters: Mapping[str, Any]
    evaluation_data: str | None
    """Name of the dataset of located evaluation sets that the node reads or makes"""
    inputs: tuple[str, ...] = ()
    """Names of the datasets that the node reads"""

    def get(self, kind: type[T]) -> T:
        """Return the parameter of a class of options."""
        return next(value for value in self.parameters.values() if isinstance(value, kind))

    def has(self, kind: type[object]) -> bool:
        """Return whether the node has a parameter of a class of options."""
        return any(isinstance(value, kind) for value in self.parameters.values())

    @property
    def tasks(self) -> Mapping[str, Mapping[str, Any]]:
        """Each evaluation task's options."""
        tasks: Mapping[str, Mapping[str, Any]] = self.parameters["tasks"]
        return tasks


def read_step(node: Node, catalog: Catalog) -> Step:
    """Return a node with its parameters."""
    given = {name: catalog.load(name) for name in node.inputs if is_parameter(name)}
    parameters = {name.removeprefix("params:"): value for name, value in given.items()}
    inputs = tuple(name for name in node.inputs if not is_parameter(name))
    data = (name for name in (*node.inputs, *node.outputs) if name.endswith("evaluation_data"))
    return Step(node.name.rpartition(".")[2], parameters, next(data, None), inputs)


def text_checks(recipe: Recipe) -> Iterator[Check]:
    """Yield a check of each file of a recipe's training texts."""
    for source in recipe.data or ():
        if not str(source.get("path", "")).startswith(SAMPLE):
            yield from (partial(_check_place, place, recipe) for place in source_options(source).required)


def _check_place(place: Path, recipe: Recipe) -> None:
    if not place.exists():
        raise EaseError(
            f"{place}, which `data` of the method {recipe.method!r} names, does not exist: put the texts there "
            "(docs/papers.md has the addresses of the papers' texts), or name other sources (docs/training_texts.md)."
        )


def development_checks(
    step: Step, wanted: Sequence[str], locating: Mapping[str | None, Step], catalog: Catalog
) -> Iterator[Check]:
    """Yield checks of the sets that choose checkpoints: their files if this run locates them, else the located ones."""
    data = step.evaluation_data
    for name in dict.fromkeys(map(task_name, wanted)):
        references = [reference for reference in wanted if task_name(reference) == name]
        if data in locating:
            sets = locating[data].get(EvaluationSetOptions)
            yield partial(check_development_sets, references, sets, step.tasks)
        elif data is not None and catalog.exists(data):
            yield partial(require_sets, references, read_located(catalog.load(data)), step.tasks)
