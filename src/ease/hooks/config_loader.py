"""Resolve each kind of configuration once per run; name the file that cannot be read."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader
from omegaconf import DictConfig, OmegaConf
from yaml import YAMLError

from ease.errors import EaseError
from ease.pipelines.engine import check_engine
from ease.pipelines.teach.options import complete_taught_setting

LANGUAGES = ("language", "languages", "companions", "pivot", "groups", "subsets")
"""Names of parameters that are language codes."""


def with_norwegian(values: Any, name: str = "") -> Any:
    """Return parameters with the code `no`, which YAML reads as false, where they name languages."""
    if isinstance(values, dict):
        return {key: with_norwegian(value, str(key)) for key, value in values.items()}
    if isinstance(values, list):
        return [with_norwegian(value, name) for value in values]
    return "no" if values is False and name in LANGUAGES else values


def fault_in(file: Path) -> str | None:
    """Return the fault of a configuration file, with its line if it has one; None for a readable file."""
    try:
        values = OmegaConf.load(file)
    except UnicodeDecodeError:
        return f"{file} is not in UTF-8: save it in this encoding."
    except YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), str(getattr(error, "problem", error))
        if "cannot start any token" in problem:
            problem += " (indent with spaces, not with tabs)"
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return f"{file}{place}: {problem}."
    if not isinstance(values, DictConfig):
        return f"{file} is a list: write names with their values (`name: value`)."
    return None


class ConfigLoader(OmegaConfigLoader):
    """Caches the resolved configuration, which Kedro's loader would read again for each request (half a second)."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._resolved: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        super().__init__(*arguments, **options)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Return a copy of a kind of configuration, read anew if the runtime parameters have changed since.

        Raises:
            EaseError: With the file that is no YAML, or has no names with values.
        """
        given = self.runtime_params or {}
        if key in self:  # set explicitly
            return super().__getitem__(key)
        if key not in self._resolved or self._resolved[key][0] != given:
            # Of this loader: OmegaConf's resolvers are global.
            OmegaConf.register_new_resolver("engine", self._engine, replace=True)
            try:
                resolved = super().__getitem__(key)
            except (YAMLError, UnicodeDecodeError, AttributeError) as error:
                if fault := self._first_fault():
                    raise EaseError(fault) from error
                raise
            if key == "parameters":
                resolved = with_norwegian(resolved)
                complete_taught_setting(resolved)
            self._resolved[key] = deepcopy(given), resolved
        return deepcopy(self._resolved[key][1])

    def _engine(self) -> str:
        """Return the engine of the parameters, by which the catalog chooses the connection of its tables."""
        return check_engine(self["parameters"].get("engine"))

    def _first_fault(self) -> str | None:
        """Return the fault of the first broken file in the environments of the run."""
        folders = [Path(self.conf_source, env) for env in (self.base_env, self.env or self.default_run_env)]
        files = [
            file
            for folder in folders
            for kind in ("yml", "yaml", "json")
            for file in folder.rglob(f"*.{kind}")
        ]
        return next(filter(None, map(fault_in, sorted(files))), None)

    def _merge_configs(
        self, config: dict[str, Any], env_config: dict[str, Any], key: str, env_path: str
    ) -> Any:
        """Merge an environment's values; without any, OmegaConf would convert the complete configuration twice.

        Kedro has no public method between reading and merging; the conversions take 0.4 s of each start.
        """
        return super()._merge_configs(config, env_config, key, env_path) if env_config else config
