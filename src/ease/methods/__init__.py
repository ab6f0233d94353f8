"""Training methods, one a file: found by their file names, not listed."""

from __future__ import annotations

import inspect
import pkgutil
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ValidationError

from ease.errors import EaseError
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
]


def method_names() -> list[str]:
    """Name every method, in alphabetical order: the files of this package."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def get_method(name: str) -> type[TrainingMethod]:
    """Find the method that a file of this package holds.

    Raises:
        EaseError: If there is none of that name, with the nearest ones.
    """
    names = method_names()
    if name not in names:
        near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise EaseError(f"Unknown training method {name!r}: {hint}There are {', '.join(names)}.")
    module = import_module(f"{__name__}.{name}")
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
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'options'}: {fault['msg']}" for fault in error.errors()
        )
        known = ", ".join(method.Options.model_fields)
        raise EaseError(f"Parameters of method {name!r}: {faults}. It takes {known}.") from error
