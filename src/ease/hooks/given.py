"""Parameters of the command line that YAML reads as something other than what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedro.config import AbstractConfigLoader
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from ease.nested import dotted


class TrailingColons:
    """Makes `--params acquire.wikipedia=sample:` mean the text `sample:`, which YAML reads as a mapping."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Correct the parameters given before Kedro merges them with the configured ones."""
        given = context.config_loader.runtime_params or {}
        if None in dotted(given).values():
            restore_trailing_colons(given, _configured(context.config_loader))


def _configured(loader: AbstractConfigLoader) -> dict[str, Any]:
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
        if isinstance(configured[name], Mapping):
            restore_trailing_colons(value, configured[name])
        elif list(value.values()) == [None]:
            given[name] = f"{next(iter(value))}:"
