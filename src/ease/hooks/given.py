"""Parameters of the command line beside the configured ones: values that YAML misreads, and shared values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedro.config import AbstractConfigLoader

from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.nested import dotted
from ease.io.suggestions import suggest


def correct_given_parameters(loader: AbstractConfigLoader) -> None:
    """Make `--params acquire.wikipedia=sample:` mean the text `sample:`, which YAML reads as a mapping.

    To be called before Kedro merges the given parameters with the configured ones.
    """
    given = loader.runtime_params or {}
    if None in dotted(given).values():
        restore_trailing_colons(given, configured_parameters(loader))


def configured_parameters(loader: AbstractConfigLoader) -> dict[str, Any]:
    """Return the parameters of the configuration files alone."""
    given, loader.runtime_params = loader.runtime_params, {}
    try:
        return dict(loader["parameters"])
    finally:
        loader.runtime_params = given


def restore_trailing_colons(given: dict[str, Any], configured: Mapping[str, Any]) -> None:
    """Replace each mapping `{text: null}` by `text:` where the configuration has a single value, in place."""
    for name, value in given.items():
        if not isinstance(value, dict) or name not in configured:
            continue
        text = f"{next(iter(value))}:" if list(value.values()) == [None] else None
        if not isinstance(configured[name], Mapping):
            given[name] = text or value
        elif name == "encoder" and text == RANDOM:
            # `random` also names the group with its architecture, which is never null and stays as configured.
            given[name] = {"name": RANDOM, "pooling": None}
        else:
            restore_trailing_colons(value, configured[name])


SHARED = "_"
"""Begins the names of values that other parameters refer to, such as `${_dueam_data.${_dueam}}`; no node reads them."""


def check_shared_values(given: Mapping[str, Any], configured: Mapping[str, Any]) -> None:
    """Check the shared values among the parameters given.

    Raises:
        EaseError: If the configuration has no such shared value, or the value is not among its choices.
    """
    known = sorted(name for name in configured if name.startswith(SHARED))
    for name, value in given.items():
        if not name.startswith(SHARED):
            continue
        if name not in known:
            raise EaseError(f"No parameter refers to `{name}`, given by --params: {suggest(name, known)}")
        choices = _choices(name, configured)
        if choices and value not in choices:
            raise EaseError(f"`{name}` is {value!r}: choose {' or '.join(choices)}.")


def _choices(name: str, configured: Mapping[str, Any]) -> list[str]:
    """Return the values that a shared value chooses from: the keys of `_dueam_data` for `_dueam`; none for a path."""
    default = configured[name]
    tables = (value for key, value in configured.items() if key.startswith(f"{name}_"))
    found = (table for table in tables if isinstance(table, Mapping) and default in table)
    return [str(choice) for choice in next(found, ())] if isinstance(default, str) else []
