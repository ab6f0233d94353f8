"""Training methods, one per file; the file's name is the method's name.

Importing this package does not import torch, because Kedro imports it at every start.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ease.names import check_name, module_names, named_module
from ease.options import validate

if TYPE_CHECKING:
    from ease.methods.base import TrainingMethod

UNTRAINED = "untrained"
"""Name, in place of a method, of the encoder that methods start from"""


def method_names() -> list[str]:
    """Return the names of all methods, sorted."""
    return module_names(__path__)


def in_order(names: Iterable[str]) -> list[str]:
    """Sort names of methods as tables show them: the start, each method after the one that it extends, then others."""
    order = [UNTRAINED, "simcse", "ease", "ease_plus"]
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


@cache
def get_method(name: str) -> type[TrainingMethod[Any]]:
    """Return the class of a method."""
    module = named_module(__name__, name, method_names(), "training method")
    training_method: type[TrainingMethod[Any]] = import_module(f"{__name__}.base").TrainingMethod
    (found,) = (
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, training_method) and value.__module__ == module.__name__
    )
    if found.reads_entities != reads_entities(name):
        raise TypeError(f"{module.__name__}: write `reads_entities = True` as one line of the class.")
    return found


@cache
def reads_entities(name: str) -> bool:
    """Return a method's `reads_entities`, found in its source because importing the method would import torch."""
    check_name(name, method_names(), "training method")
    source = Path(__path__[0], f"{name}.py").read_text(encoding="utf-8")
    return re.search(r"^    reads_entities(: .+)? = True$", source, re.MULTILINE) is not None


def method_options(name: str, values: Mapping[str, Any]) -> BaseModel:
    """Parse a method's parameters into its `Options`."""
    return validate(get_method(name).Options, values, f"Parameters of method {name!r}")
