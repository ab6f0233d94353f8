"""Registry of modules found by file name: tasks, methods, poolings, kinds of training texts."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

from ease.errors import EaseError
from ease.io.suggestions import suggest


def module_names(folders: Iterable[str]) -> list[str]:
    """Return the names of the modules on a package's `__path__`, sorted, without `base` and subpackages."""
    modules = pkgutil.iter_modules(folders)
    return sorted(module.name for module in modules if module.name != "base" and not module.ispkg)


def named_module(package: str, name: str, names: list[str], what: str) -> ModuleType:
    """Import a module of a package that has modules of some names; `what` is their kind, for the message."""
    check_name(name, names, what)
    return import_module(f"{package}.{name}")


def check_name(name: str, names: list[str], what: str) -> None:
    """Check that a name exists."""
    if name not in names:
        raise EaseError(f"Unknown {what} {name!r}: {suggest(name, names)}")
