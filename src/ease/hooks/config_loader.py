"""Resolve each kind of configuration once per run."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kedro.config import OmegaConfigLoader

from ease.pipelines.teach.options import complete_taught_setting

LANGUAGES = ("language", "languages", "companions")
"""Names of parameters that are language codes."""


def with_norwegian(values: Any, name: str = "") -> Any:
    """Return parameters with the code `no`, which YAML reads as false, where they name languages."""
    if isinstance(values, dict):
        return {key: with_norwegian(value, str(key)) for key, value in values.items()}
    if isinstance(values, list):
        return [with_norwegian(value, name) for value in values]
    return "no" if values is False and name in LANGUAGES else values


class ConfigLoader(OmegaConfigLoader):
    """Caches the resolved configuration, which Kedro's loader would read again for each request (half a second)."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._resolved: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        super().__init__(*arguments, **options)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Return a copy of a kind of configuration, read anew if the runtime parameters have changed since."""
        given = self.runtime_params or {}
        if key in self:  # set explicitly
            return super().__getitem__(key)
        if key not in self._resolved or self._resolved[key][0] != given:
            resolved = super().__getitem__(key)
            if key == "parameters":
                resolved = with_norwegian(resolved)
                complete_taught_setting(resolved)
            self._resolved[key] = deepcopy(given), resolved
        return deepcopy(self._resolved[key][1])

    def _merge_configs(
        self, config: dict[str, Any], env_config: dict[str, Any], key: str, env_path: str
    ) -> Any:
        """Merge an environment's values; without any, OmegaConf would convert the complete configuration twice.

        Kedro has no public method between reading and merging; the conversions take 0.4 s of each start.
        """
        return super()._merge_configs(config, env_config, key, env_path) if env_config else config
