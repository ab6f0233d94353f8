"""Checks of names with hints for misspelt ones, names that files and MLflow accept, and names of modules."""

from __future__ import annotations

import hashlib
import pkgutil
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

from ease.errors import EaseError

_SAFE = re.compile(r"[\w-]([\w .-]*[\w-])?")
_LONGEST = 100
"""Bytes. MLflow accepts 250 characters for a complete dotted name, file systems 255 bytes for a file name."""

LISTED = 40
"""Names that a message lists at most."""


def safe_name(name: str) -> str:
    """Return a name of letters, digits, inner spaces and `_ . -` only, of at most 100 bytes.

    A safe name is unchanged. A changed one ends with six digits of the original's hash, which keeps distinct names
    distinct.
    """
    if _SAFE.fullmatch(name) and len(name.encode()) <= _LONGEST:
        return name
    digits = hashlib.sha256(name.encode()).hexdigest()[:6]
    replaced = re.sub(r"\s*[^\w .-]+\s*", "_", name).strip("_. ")
    kept = replaced.encode()[: _LONGEST - len(digits) - 1].decode(errors="ignore")
    return f"{kept}-{digits}"


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names that resemble a name, the most similar first."""
    spelt = {candidate.lower(): candidate for candidate in sorted(known)}
    return [spelt[match] for match in get_close_matches(name.lower(), sorted(spelt), n=count, cutoff=0.6)]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest names, and all names if they are few."""
    names = sorted(known)
    near = nearest(name, names)
    question = f"did you mean {' or '.join(near)}? " if near else ""
    choices = f"Choose from {', '.join(names)}." if names and (len(names) <= LISTED or not near) else ""
    return (question + choices).strip() or "There is none."


def check_name(name: str, names: Collection[str], what: str) -> None:
    """Raise EaseError if a name does not exist; `what` is the kind of the names."""
    if name not in names:
        raise EaseError(f"Unknown {what} {name!r}: {suggest(name, names)}")


def module_names(folders: Iterable[str]) -> list[str]:
    """Return the names of the modules on a package's `__path__`, sorted, without `base` and subpackages."""
    modules = pkgutil.iter_modules(folders)
    return sorted(module.name for module in modules if module.name != "base" and not module.ispkg)


def named_module(package: str, name: str, names: list[str], what: str) -> ModuleType:
    """Import a module of a package that has modules of some names; `what` is their kind, for the message."""
    check_name(name, names, what)
    return import_module(f"{package}.{name}")
