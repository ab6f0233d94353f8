"""Configuration of a run: how Kedro reads it, and the types of its globals and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader
from kedro.framework.project import pipelines
from kedro.validation.type_extractor import TypeExtractor
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from yaml import YAMLError

from ease.errors import EaseError
from ease.evaluation.tasks import TaskParameters
from ease.io.files import explain_yaml_error
from ease.names import check_name, suggest
from ease.options import MemorySize, dotted, format_validation_error, is_within, overlaid, validate, value_at
from ease.pipelines.sweep.variants import name_sweep
from ease.pipelines.teach.setting import TEACH_FIELDS

ENGINES = ("duckdb", "spark")

SINGLE: dict[str, Any] = {"tasks": TaskParameters, "work": str}
"""Types of parameters that belong to no options class; Kedro checks classes alone"""

MISSING = object()
"""Value of a parameter that is not configured"""

GLOBALS_FILE = "conf/local/globals.yml"
"""Where the globals of a project are changed"""


class Globals(BaseModel, extra="allow"):
    """Contents of `globals.yml`, beside globals of the project's own."""

    data: str
    tables: str | None = None
    seed: int
    memory_limit: MemorySize
    free_disk_gb: float = Field(ge=0)


class ConfigLoader(OmegaConfigLoader):
    """Resolves each kind of configuration once; Kedro's loader does so at each request."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._resolved: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        super().__init__(*arguments, **options)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Return a copy of a kind of configuration, read anew if the runtime parameters have changed since."""
        runtime_parameters = self.runtime_params or {}
        # A caller has assigned a value, which takes the place of the files.
        if key in self:
            return super().__getitem__(key)
        if key not in self._resolved or self._resolved[key][0] != runtime_parameters:
            # `${engine:}` in the catalog chooses the tables' connection. Resolvers are global: each loader replaces it.
            OmegaConf.register_new_resolver("engine", lambda: self["parameters"]["engine"], replace=True)
            # `${sweep:setting}` completes the paths of the chosen sweep's tables, `${sweep:name}` those of its results.
            names = cache(lambda: name_sweep(self["parameters"]))
            OmegaConf.register_new_resolver("sweep", lambda part: names()[part], replace=True)
            try:
                resolved = super().__getitem__(key)
            # A list in place of a mapping raises the last two, of Kedro's code and of OmegaConf.
            except (YAMLError, UnicodeError, AttributeError, OmegaConfBaseException):
                self._refuse_broken_file()
                raise
            if key == "parameters":
                # Null means the default, as in all parameters that have one.
                resolved["engine"] = resolved.get("engine") or ENGINES[0]
                check_name(str(resolved["engine"]), list(ENGINES), "`engine`")
            self._resolved[key] = deepcopy(runtime_parameters), resolved
        # A copy, since readers change what they get.
        return deepcopy(self._resolved[key][1])

    @staticmethod
    def _soft_merge(config: dict[str, Any], env_config: dict[str, Any], env_path: str | None = None) -> dict[str, Any]:
        """Return what Kedro's loader returns, without OmegaConf.

        OmegaConf's merge takes 0.2 s more at each start, and 0.8 s with `--env=paper`. Kedro documents no other merge
        that keeps the keys that an environment does not mention.
        """
        return overlaid(config, env_config)

    def _refuse_broken_file(self) -> None:
        """Raise EaseError with the name of the first file that is no mapping in YAML; the reader's error lacks it."""
        for file in sorted(Path(self.conf_source).rglob("*.yml")):
            try:
                content = OmegaConf.load(file)
            except (YAMLError, UnicodeError) as error:
                raise EaseError(explain_yaml_error(file, error)) from None
            if not OmegaConf.is_dict(content):
                raise EaseError(f"{file} has a list where names with values are needed: write lines of `name: value`.")


def check_globals(values: Mapping[str, Any], configuration: Path) -> None:
    """Refuse wrong globals, and those of the project's own that no file of the configuration refers to."""
    validate(Globals, values, "globals.yml")
    for name in values:
        if name not in Globals.model_fields and not _is_referred_to(name, configuration):
            raise EaseError(
                f"No file of {configuration} refers to the global `{name}`: {suggest(name, Globals.model_fields)}"
            )


def _is_referred_to(name: str, configuration: Path) -> bool:
    return any(f"globals:{name}" in file.read_text(encoding="utf-8") for file in configuration.rglob("*.yml"))


def check_parameters(values: Mapping[str, Any], command_line: Mapping[str, Any]) -> None:
    """Refuse wrong values and unknown fields; Kedro would report them twice, in many lines and without suggestions.

    Parameters of the command line are checked first. The methods' own options are checked by a run that trains.
    """
    types: dict[str, Any] = TypeExtractor(dict(pipelines)).extract_types_from_pipelines()
    # Kedro's types are classes alone.
    types |= SINGLE | {name: field.rebuild_annotation() for name, field in TEACH_FIELDS.items()}
    fields = dotted(command_line)
    overridden = [name for name in types if any(is_within(field, name) for field in fields)]
    for name in dict.fromkeys([*overridden, *types]):
        value = value_at(values, name, default=MISSING)
        if value is MISSING:
            # A sweep or a project may do without the group; Kedro names what a run lacks.
            continue
        try:
            TypeAdapter(types[name]).validate_python(value)
        except ValidationError as error:
            raise EaseError(f"Parameter `{name}`: {format_validation_error(error, types[name])}") from error
        except EaseError as error:
            raise EaseError(f"Parameter `{name}`: {error}") from error
