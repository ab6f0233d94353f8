"""Training methods, one a file: found by their file names, not listed."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel, ValidationError

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Derive, Entities, Inputs, Texts, TrainingMethod
from ease.named_modules import module_names, named_module, told_faults

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
]


def method_names() -> list[str]:
    """Name every method, in alphabetical order: the files of this package."""
    return module_names(__path__)


def get_method(name: str) -> type[TrainingMethod]:
    """Find the method that a file of this package holds.

    Raises:
        EaseError: If there is none of that name, with the nearest ones.
    """
    module = named_module(__name__, name, method_names(), "training method")
    found = [
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, TrainingMethod) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise TypeError(f"{module.__name__} holds {len(found)} subclasses of TrainingMethod instead of one.")
    return found[0]


def method_options(name: str, values: dict[str, Any]) -> BaseModel:
    """Check a method's parameters.

    Raises:
        EaseError: Naming the method and every parameter that is wrong.
    """
    method = get_method(name)
    try:
        return method.Options.model_validate(values)
    except ValidationError as error:
        known = ", ".join(method.Options.model_fields)
        raise EaseError(f"Parameters of method {name!r}: {told_faults(error)}. It takes {known}.") from error
