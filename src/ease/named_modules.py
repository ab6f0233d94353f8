"""Modules that are found by the names of their files: evaluation tasks, training methods, kinds of training texts."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

from pydantic import ValidationError

from ease.errors import EaseError


def module_names(folders: Iterable[str]) -> list[str]:
    """Name the modules of a package, sorted: all but `base` and those whose names begin with an underscore.

    Args:
        folders: The package's `__path__`.
    """
    names = (module.name for module in pkgutil.iter_modules(folders))
    return sorted(name for name in names if name != "base" and not name.startswith("_"))


def named_module(package: str, name: str, names: list[str], what: str) -> ModuleType:
    """Import a module of a package.

    Args:
        package: Its full name.
        name: Of the module.
        names: Those that there are.
        what: The module is, for the message.

    Raises:
        EaseError: If there is none of that name, with the nearest ones and all that there are.
    """
    check_name(name, names, what)
    return import_module(f"{package}.{name}")


def check_name(name: str, names: list[str], what: str) -> None:
    """Refuse a name that is not among those of a package's modules.

    Raises:
        EaseError: With the nearest ones and all that there are.
    """
    if name not in names:
        near = get_close_matches(name.lower(), names, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise EaseError(f"Unknown {what} {name!r}: {hint}Choose from {', '.join(names)}.")


def told_faults(error: ValidationError) -> str:
    """Tell every parameter that is wrong, in one line."""
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'options'}: {fault['msg']}" for fault in error.errors()
    )
