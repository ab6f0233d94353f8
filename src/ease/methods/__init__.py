"""Training methods: a record of each (`records.py`), and its class in a module of its own.

Importing this package does not import torch, because Kedro imports it at every start.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ease.errors import EaseError
from ease.lazy import import_or_advise
from ease.methods.records import MethodRecord, method_names, method_record, register
from ease.options import validate, without_nulls

if TYPE_CHECKING:
    from ease.methods.base import TrainingMethod

__all__ = [
    "UNTRAINED",
    "MethodRecord",
    "get_method",
    "in_order",
    "method_names",
    "method_options",
    "method_record",
    "register",
]


UNTRAINED = "untrained"
"""Name, in place of a method, of the encoder that methods start from"""


def in_order(names: Iterable[str]) -> list[str]:
    """Sort methods as tables show them: the starting encoder, each method after the one that it extends, others."""
    places = {UNTRAINED: 0, "simcse": 1, "ease": 2, "ease_plus": 3}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def get_method(name: str) -> type[TrainingMethod[Any]]:
    """Import the class of a method.

    Raises:
        EaseError: If there is no such method, or its record's `implementation` is not a subclass of `TrainingMethod`.
    """
    implementation = method_record(name).implementation
    # Imported here, since the base class imports torch.
    base = import_module("ease.methods.base").TrainingMethod
    try:
        if implementation.startswith("ease."):
            # A method of another package does not come with an extra of this one.
            import_or_advise(implementation.partition(":")[0])
        method: type[TrainingMethod[Any]] = pkgutil.resolve_name(implementation)
    except (ModuleNotFoundError, AttributeError) as error:
        raise EaseError(f"Training method {name!r}: {implementation} cannot be imported ({error}).") from error
    if not (isinstance(method, type) and issubclass(method, base)):
        raise EaseError(f"Training method {name!r}: {implementation} is not a subclass of `TrainingMethod`.")
    return method


def method_options(name: str, values: Mapping[str, Any]) -> BaseModel:
    """Parse a method's parameters into its `Options`; null means the default if the parameter has no null."""
    model = get_method(name).Options
    return validate(model, without_nulls(model, values), f"Parameters of method {name!r}")
