"""Checks of names with hints for misspelt ones, names that files and MLflow accept, and names of modules."""

from __future__ import annotations

import hashlib
import pkgutil
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from ease.errors import EaseError

_SAFE = re.compile(r"[\w-]([\w .-]*[\w-])?")
_LONGEST = 100
"""Bytes. MLflow accepts 250 characters for a complete dotted name, file systems 255 bytes for a file name."""

LISTED = 40
"""Names that a message lists at most."""

FORMER_NAMES = {
    # Fields of a training run, and of a method
    "block_rows": "mini_batch_size",
    "checkpoint_every": "checkpoint_seconds",
    "hard_negative_bonus": "hard_negative_weight",
    "max_gradient_norm": "max_grad_norm",
    "steps": "max_steps",
    # Fields of a sweep
    "languages": "setting.languages",
    "pooling": "setting.encoder.pooling",
    "start": "setting.start",
    "tasks": "setting.test_tasks",
}
"""Current names by those of earlier versions, from the same place; they apply where the current name exists"""

COMMON_NAMES = {"bs": "batch_size", "lr": "learning_rate", "output_dir": "folder"}
"""Names of this package by those of other libraries, which resemble others more"""

_SMALL_ENCODERS = "small encoders are made by other libraries, as docs/small_models.md shows."
REMOVED_NAMES = dict.fromkeys(
    ("distill", "distill_monolingual", "static_student", "shallow_student", "student"), _SMALL_ENCODERS
)
"""What to do instead, by names of earlier versions: pipelines, parameters, methods, or parts of a dataset's name"""


def safe_name(name: str) -> str:
    """Return a name of letters, digits, inner spaces and `_ . -` only, of at most 100 bytes.

    A safe name is unchanged. A changed one ends with six digits of the original's hash, which keeps distinct names
    distinct.
    """
    if _SAFE.fullmatch(name) and len(name.encode()) <= _LONGEST:
        return name
    digits = hashlib.sha256(name.encode()).hexdigest()[:6]
    replaced = re.sub(r"\s*[^\w .-]+\s*", "_", name).strip("_. ")
    # The cut may fall into a character of several bytes, which is dropped.
    shortened = replaced.encode()[: _LONGEST - len(digits) - 1].decode(errors="ignore")
    return f"{shortened}-{digits}"


def nearest(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Return the candidates that resemble a name, the most similar first."""
    spelt = {candidate.lower(): candidate for candidate in sorted(candidates)}
    return [spelt[match] for match in get_close_matches(name.lower(), sorted(spelt), n=count, cutoff=0.6)]


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return the end of a message about an unknown name.

    It has the current name of a former one; else the nearest names, and all names if they are few.
    """
    names = sorted(candidates)
    successor = _successor(name, names)
    if successor:
        return successor
    similar_names = nearest(name, names)
    if COMMON_NAMES.get(name) in names:
        similar_names = [COMMON_NAMES[name]]
    parts = []
    if similar_names:
        parts.append(f"did you mean {' or '.join(similar_names)}?")
    if names and (len(names) <= LISTED or not similar_names):
        parts.append(f"Choose from {', '.join(names)}.")
    return " ".join(parts) or "There is none."


def _successor(name: str, names: Collection[str]) -> str:
    """Return the end of a message about a name of earlier versions; empty for any other name."""
    for part in name.split("."):
        if part in REMOVED_NAMES:
            return REMOVED_NAMES[part]
    current = FORMER_NAMES.get(name)
    if current is not None and current.partition(".")[0] in names:
        return f"it is now `{current}`."
    return ""


def check_name(name: str, names: Collection[str], what: str) -> None:
    """Raise EaseError if a name does not exist; `what` is the kind of the names."""
    if not isinstance(name, str):
        # Of YAML or JSON, where a name may be null or a number.
        raise EaseError(f"Unknown {what} {name!r}: give a text, one of {', '.join(sorted(names))}.")
    if name not in names:
        raise EaseError(f"Unknown {what} {name!r}: {suggest(name, names)}")


def module_names(folders: Iterable[str]) -> list[str]:
    """Return the names of the modules on a package's `__path__`, sorted, without `base` and subpackages."""
    modules = pkgutil.iter_modules(folders)
    return sorted(module.name for module in modules if module.name != "base" and not module.ispkg)
