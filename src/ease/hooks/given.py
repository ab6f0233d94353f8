"""Correct and check parameters given by `--params` that YAML or Kedro would misread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedro.config import AbstractConfigLoader

from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.nested import dotted
from ease.io.suggestions import suggest

SHARED = "_"
"""First character of values that other parameters refer to (`${_dueam_data.${_dueam}}`); no node reads them."""


def correct_given_parameters(loader: AbstractConfigLoader) -> None:
    """Read `--params acquire.wikipedia=sample:` as the text `sample:`, which YAML parses as a mapping.

    Call this before Kedro merges the given parameters with the configured ones.
    """
    given = loader.runtime_params or {}
    if None in dotted(given).values():
        restore_trailing_colons(given, configured_parameters(loader))


def configured_parameters(loader: AbstractConfigLoader) -> dict[str, Any]:
    """Return the parameters of the configuration files without those of the command line."""
    given, loader.runtime_params = loader.runtime_params, {}
    try:
        return dict(loader["parameters"])
    finally:
        loader.runtime_params = given


def restore_trailing_colons(given: dict[str, Any], configured: Mapping[str, Any]) -> None:
    """Replace, in place, each mapping `{text: null}` by `text:` if the configured parameter is not a mapping."""
    for name, value in given.items():
        if not isinstance(value, dict) or name not in configured:
            continue
        text = f"{next(iter(value))}:" if list(value.values()) == [None] else None
        if not isinstance(configured[name], Mapping):
            given[name] = text or value
        elif name == "encoder" and text == RANDOM:
            # `random` is also a field of the encoder: its architecture, which is never null and stays as configured.
            given[name] = {"name": RANDOM, "pooling": None}
        else:
            restore_trailing_colons(value, configured[name])


def check_shared_values(given: Mapping[str, Any], configured: Mapping[str, Any]) -> None:
    """Check the shared values among the given parameters.

    Raises:
        EaseError: If the configuration has no such shared value, or the value is not one of its choices.
    """
    known = sorted(name for name in configured if name.startswith(SHARED))
    for name in (name for name in given if name.startswith(SHARED)):
        if name not in known:
            raise EaseError(f"No parameter refers to `{name}`, given by --params: {suggest(name, known)}")
        # The choices of `_dueam` are the keys of `_dueam_data`; without such a table, any value is right.
        default = configured[name]
        tables = [value for key, value in configured.items() if key.startswith(f"{name}_")]
        found = (table for table in tables if isinstance(table, Mapping) and default in table)
        choices = list(map(str, next(found, ()))) if isinstance(default, str) else []
        if choices and given[name] not in choices:
            raise EaseError(f"`{name}` is {given[name]!r}: choose {' or '.join(choices)}.")
