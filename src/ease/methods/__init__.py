"""Training methods, one a file: found by their file names, not listed.

Importing this package does not import torch: Kedro imports it at every start.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from ease.errors import EaseError
from ease.io.registry import check_name, format_validation_error, module_names, named_module

if TYPE_CHECKING:
    from ease.methods.base import SENTENCE, TOTAL, Derive, Entities, Inputs, Texts, TrainingMethod

__all__ = [
    "SENTENCE",
    "TOTAL",
    "Derive",
    "Entities",
    "Inputs",
    "Texts",
    "TrainingMethod",
    "get_method",
    "method_names",
    "method_options",
    "reads_entities",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what `base` defines when it is first used, and torch with it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.base"), name)


def method_names() -> list[str]:
    """Name every method, in alphabetical order: the files of this package."""
    return module_names(__path__)


def get_method(name: str) -> type[TrainingMethod]:
    """Find the method that a file of this package holds.

    Raises:
        EaseError: If there is none of that name, with the nearest ones.
    """
    module = named_module(__name__, name, method_names(), "training method")
    training_method: type[TrainingMethod] = import_module(f"{__name__}.base").TrainingMethod
    found = [
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, training_method) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise TypeError(f"{module.__name__} holds {len(found)} subclasses of TrainingMethod instead of one.")
    return found[0]


def reads_entities(name: str) -> bool:
    """Whether a method sets `reads_entities = True`, read from its source: importing it would import torch.

    Raises:
        EaseError: If there is no such method.
    """
    check_name(name, method_names(), "training method")
    spec = find_spec(f"{__name__}.{name}")
    assert spec is not None
    assert spec.origin is not None
    assignments = (
        node
        for node in ast.walk(ast.parse(Path(spec.origin).read_bytes()))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is True
    )
    return any(
        isinstance(target, ast.Name) and target.id == "reads_entities"
        for assignment in assignments
        for target in assignment.targets
    )


def method_options(name: str, values: dict[str, Any]) -> BaseModel:
    """Check a method's parameters.

    Raises:
        EaseError: Naming the method and every parameter that is wrong.
    """
    method = get_method(name)
    try:
        return method.Options.model_validate(values)
    except ValidationError as error:
        raise EaseError(
            f"Parameters of method {name!r}: {format_validation_error(error, method.Options)}."
        ) from error
