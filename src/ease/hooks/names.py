"""Names and parameters of a run: each misspelt one is refused in one line with the nearest name."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline
from kedro.pipeline.pipeline import OutputNotUniqueError

from ease.errors import EaseError
from ease.hooks.configuration import GLOBALS_FILE, Globals, check_globals, check_parameters
from ease.hooks.process import remember_environment
from ease.methods import method_names
from ease.names import REMOVED_NAMES, check_name, nearest, suggest
from ease.options import dotted, is_within
from ease.pipelines.parameters import parameter_names
from ease.pipelines.sweep.variants import SWEPT_SETTINGS, name_sweep
from ease.pipelines.teach.setting import complete_taught_setting

READ_FILES = ("parameters", "globals", "catalog", "credentials", "logging", "mlflow")
"""Beginnings of the names of an environment's files that Kedro or EASE reads"""

SHARED = "_"
"""Prefix of parameters that only other parameters refer to (`${_dueam_data.${_dueam}}`)"""


class Names:
    """Refuses names and parameters that do not exist."""

    # Before the plugins' hooks, which would report a wrong environment in their own words.
    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check the command line and the configuration files, whose paths are relative to the project."""
        # Paths in the configuration are relative to the project, and the command may run in a folder of it.
        os.chdir(context.project_path)
        loader: Any = context.config_loader
        source = Path(str(loader.conf_source))
        if context.env is not None and source.is_dir() and not (source / context.env).is_dir():
            check_name(context.env, [folder.name for folder in source.iterdir() if folder.is_dir()], "--env")
        remember_environment(context.env)
        _refuse_unread_files([source / (loader.base_env or ""), source / (loader.env or loader.default_run_env or "")])
        command_line = loader.runtime_params or {}
        if any(name.startswith(SHARED) for name in command_line):
            _check_shared_values(command_line, loader)
        check_globals(loader["globals"], source)
        parameters = loader["parameters"]
        sweeps = parameters.get("sweeps") or {}
        command = click.get_current_context(silent=True)
        if command is not None and command.info_name == "run":
            check_run_names(command.params, sweeps)
        complete_taught_setting(parameters)
        # An assigned value takes the place of the files: the catalog's parameters are these.
        loader["parameters"] = parameters
        refuse_unknown_parameters(command_line, "given by --params", sweeps)
        refuse_unknown_parameters(parameters, "in a configuration file", sweeps)
        check_parameters(parameters, command_line)
        if "sweep" in parameters:
            # Before the catalog asks for the name, where an error would be Kedro's.
            name_sweep(parameters)


def check_run_names(options: Mapping[str, Any], sweeps: Collection[str] = ()) -> None:
    """Refuse unknown names of pipelines, nodes, tags, namespaces and datasets in the options of `kedro run`."""
    names = [*_words(options.get("pipeline")), *_words(options.get("pipelines"))]
    # Each sweep was a pipeline of its own in earlier versions.
    for name in names:
        if name in sweeps and name not in pipelines:
            raise EaseError(f"{name!r} is a sweep: run `kedro run --pipelines=sweep --params sweep={name}`.")
    _check_names("--pipelines", names, pipelines)
    names = names or ["__default__"]
    run = _sum_of_pipelines(names)

    nodes = [node.name for node in run.nodes]
    tags = {tag for node in run.nodes for tag in node.tags}
    # `--namespaces=multilingual` selects all namespaces below it, so each beginning is a name.
    paths = [node.namespace.split(".") for node in run.nodes if node.namespace]
    namespaces = {".".join(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}
    datasets = list(run.datasets())
    # The names of click's parameters differ from the options only for `--nodes`.
    choices: dict[str, tuple[str, Collection[str]]] = {
        "--tags": ("tags", tags),
        "--namespaces": ("namespaces", namespaces),
        "--nodes": ("node_names", nodes),
        "--from-nodes": ("from_nodes", nodes),
        "--to-nodes": ("to_nodes", nodes),
        "--from-inputs": ("from_inputs", datasets),
        "--to-outputs": ("to_outputs", datasets),
        "--load-versions": ("load_versions", datasets),
    }
    for option, (parameter, candidates) in choices.items():
        _check_names(option, _words(options.get(parameter)), candidates, f" in {', '.join(names)}")


def _sum_of_pipelines(names: Sequence[str]) -> Pipeline:
    """Return the sum of pipelines; raises EaseError if their nodes contradict each other."""
    try:
        return sum((pipelines[name] for name in names), Pipeline([]))
    except (ValueError, OutputNotUniqueError) as error:
        commands = ", then ".join(f"`kedro run --pipelines={name}`" for name in names)
        raise EaseError(
            f"The pipelines {', '.join(names)} cannot run together, since they have nodes of one name with different "
            f"inputs: run {commands}."
        ) from error


def _words(value: Any) -> list[str]:
    """Return the names in an option's value: a string with commas, or a sequence of names."""
    names = value or ()
    if isinstance(value, str):
        names = value.split(",")
    stripped = (str(name).strip() for name in names)
    return [name for name in stripped if name]


def _check_names(option: str, names: Iterable[str], candidates: Collection[str], where: str = "") -> None:
    for name in names:
        if name not in candidates:
            raise EaseError(f"Unknown name {name!r} in {option}{where}: {suggest(name, candidates)}")


def _refuse_unread_files(environments: Iterable[Path]) -> None:
    """Refuse files with nearly the name of one that is read, such as `params.yml`, which Kedro would ignore."""
    for file in (file for folder in environments for file in folder.glob("*.y*ml")):
        for name in nearest(file.stem, ("parameters", "globals")):
            if not file.stem.startswith(READ_FILES):
                raise EaseError(f"{file} is not read: rename it to {name}.yml, or {name}_NAME.yml.")


def _check_shared_values(command_line: Mapping[str, Any], loader: Any) -> None:
    """Refuse an unknown shared value, and one that is no key of its table: `_dueam` chooses in `_dueam_data`."""
    # With a wrong value, the references to its table could not be resolved: read the files alone.
    loader.runtime_params = {}
    configured = loader["parameters"]
    loader.runtime_params = command_line
    shared = [name for name in configured if name.startswith(SHARED)]
    for name in command_line:
        if not name.startswith(SHARED):
            continue
        if name not in shared:
            raise EaseError(f"No parameter refers to `{name}`, given by --params: {suggest(name, shared)}")
        for table_name in shared:
            table = configured[table_name]
            if not table_name.startswith(f"{name}_") or not isinstance(table, Mapping):
                continue
            # A table that lacks the configured value belongs to another parameter with a similar name.
            if configured[name] in table:
                check_name(str(command_line[name]), list(table), f"value of `{name}`")


def refuse_unknown_parameters(values: Mapping[str, Any], place: str, sweeps: Collection[str] = ()) -> None:
    """Refuse a name that no pipeline reads, which Kedro would ignore; options classes check their own fields."""
    groups = parameter_names(name for pipeline in pipelines.values() for name in pipeline.inputs())
    # The pipeline of sweeps loads all parameters of the settings, and uses the setting itself and the recipes.
    recipes = {f"{setting}.{method}" for setting in SWEPT_SETTINGS for method in method_names()}
    groups = (groups | recipes).difference(SWEPT_SETTINGS)
    for name in values:
        # A dotted key in a file is one key to YAML, which no reader looks up.
        if "." in name:
            nested = ": {".join(name.split(".")) + ": …" + "}" * name.count(".")
            raise EaseError(f"The parameter `{name}` {place} has no effect: write `{nested}`.")
    for name in dotted(values):
        if name.partition(".")[0] in sweeps:
            raise EaseError(f"The parameter `{name}` {place} has no effect: write `sweeps.{name}`.")
        if name.removeprefix("globals.") in Globals.model_fields:
            raise EaseError(f"`{name}` {place} is a global, not a parameter: set it in {GLOBALS_FILE}.")
        if not name.startswith(SHARED) and not any(is_within(name, group) for group in groups):
            raise EaseError(f"No pipeline reads the parameter `{name}` {place}: {_hint(name, groups)}")


def find_idle_parameters(
    command_line: Mapping[str, Any], pipeline: Pipeline, parameters: Mapping[str, Any]
) -> list[str]:
    """Return the parameters from `--params` that no node of a run reads, each with a pipeline that reads it.

    Args:
        command_line: The parameters from `--params`.
        pipeline: The nodes of the run.
        parameters: All parameters.
    """
    groups = _groups_read(pipeline)
    # Groups that take effect without being a node's input: the engine completes the catalog, `teach` its setting.
    groups.add("engine")
    if any(name.partition(".")[0] == "teach" for name in groups):
        groups.add("teach")
    if any("sweep" in node.tags for node in pipeline.nodes):
        # Its nodes read all sweeps and settings, to find the chosen one.
        names = name_sweep(parameters)
        groups |= {"sweep", f"sweeps.{names['name']}", names["setting"]}
    idle = []
    for name in dotted(command_line):
        # A node reads the parameter's group, or a field of a parameter that is a mapping in the command line.
        is_read = any(is_within(name, group) or is_within(group, name) for group in groups)
        # Names with `_` complete other parameters.
        if not is_read and not name.startswith(SHARED):
            idle.append(f"`{name}`{_reader_of(name)}")
    return idle


def _groups_read(pipeline: Pipeline) -> set[str]:
    """Return the parameters that the nodes read, without the sweeps and settings among which a sweep's nodes choose."""
    groups: set[str] = set()
    for node in pipeline.nodes:
        names = parameter_names(node.inputs)
        if "sweep" in node.tags:
            names = names.difference({"sweeps", *SWEPT_SETTINGS})
        groups |= names
    return groups


def _reader_of(name: str) -> str:
    """Return the smallest pipeline that reads a parameter, in words; empty if there is none."""
    readers = [
        pipeline_name
        for pipeline_name, pipeline in pipelines.items()
        if pipeline_name != "__default__" and any(is_within(name, group) for group in _groups_read(pipeline))
    ]
    if not readers:
        return ""
    return f" ({min(readers, key=lambda reader: len(pipelines[reader].nodes))} reads it)"


def _hint(name: str, parameters: Collection[str]) -> str:
    """Replace the first part of a dotted name that does not exist by the nearest existing ones."""
    parts = name.split(".")
    # What has been removed has no nearest name.
    if not REMOVED_NAMES.keys().isdisjoint(parts):
        return suggest(name, parameters)
    for depth in range(1, len(parts) + 1):
        group = ".".join(parts[:depth])
        if any(parameter.startswith(f"{group}.") for parameter in parameters):
            # The group exists: one of its fields is misspelt.
            continue
        candidates = nearest(group, (parameter for parameter in parameters if parameter.count(".") == depth - 1))
        if candidates:
            corrected = [".".join([candidate, *parts[depth:]]) for candidate in candidates]
            return f"did you mean {' or '.join(corrected)}?"
    return suggest(name, parameters)
