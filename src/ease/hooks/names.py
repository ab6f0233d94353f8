"""Check the names that a `kedro run` command gives before the run begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline
from kedro.pipeline.pipeline import OutputNotUniqueError

from ease.errors import EaseError
from ease.io.suggestions import suggest
from ease.pipelines.stages import spellings


def check_environment(context: KedroContext) -> None:
    """Refuse an environment that has no folder in the configuration.

    Raises:
        EaseError: With the nearest ones and all that there are.
    """
    source = Path(str(context.config_loader.conf_source))
    if context.env is None or (source / context.env).is_dir() or not source.is_dir():
        return
    known = sorted(folder.name for folder in source.iterdir() if folder.is_dir())
    raise EaseError(f"Unknown --env {context.env!r} in {source.name}/: {suggest(context.env, known)}")


def check_run_names() -> None:
    """Refuse names of pipelines, nodes, tags and namespaces that the current `kedro run` command misspells.

    Raises:
        EaseError: With the nearest ones and all that there are, or for pipelines that cannot run together.
    """
    command = click.get_current_context(silent=True)
    if command is None or command.info_name != "run":
        return
    given = command.params
    chosen = [name for name in (given.get("pipeline"), *_words(given.get("pipelines"))) if name]
    _check("--pipelines", chosen, pipelines)
    run = _summed(chosen or ["__default__"])
    where = f" in {', '.join(chosen) or '__default__'}"
    for option, names, known in _options(given, run):
        _check(option, names, known, where)


def _summed(names: list[str]) -> Pipeline:
    """Return the nodes of several pipelines.

    Raises:
        EaseError: If two of the pipelines have a node of one name that reads or makes different datasets.
    """
    try:
        return sum((pipelines[name] for name in names), Pipeline([]))
    except (ValueError, OutputNotUniqueError) as error:
        commands = ", then ".join(f"`kedro run --pipelines={name}`" for name in names)
        raise EaseError(
            f"The pipelines {', '.join(names)} cannot run together, since nodes of one name differ in what they read: "
            f"run {commands}."
        ) from error


def _options(given: Mapping[str, Any], run: Pipeline) -> list[tuple[str, list[str], set[str]]]:
    """The options of `kedro run` that choose nodes, the names given to each, and those that the pipeline knows."""
    nodes = {node.name for spelled in spellings(run) for node in spelled.nodes}
    tags = {tag for node in run.nodes for tag in node.tags}
    return [
        ("--tags", _words(given.get("tags")), tags),
        ("--namespaces", _words(given.get("namespaces")), _namespaces(run)),
        ("--nodes", _words(given.get("node_names")), nodes),
        ("--from-nodes", _words(given.get("from_nodes")), nodes),
        ("--to-nodes", _words(given.get("to_nodes")), nodes),
        ("--from-inputs", _words(given.get("from_inputs")), run.datasets()),
        ("--to-outputs", _words(given.get("to_outputs")), run.datasets()),
    ]


def _namespaces(run: Pipeline) -> set[str]:
    """All namespaces of a pipeline's nodes, with those that contain them."""
    nodes = [node for spelled in spellings(run) for node in spelled.nodes]
    parts = [node.namespace.split(".") for node in nodes if node.namespace]
    return {".".join(part[:depth]) for part in parts for depth in range(1, len(part) + 1)}


def _words(value: Any) -> list[str]:
    """The names in an option's value: a string with commas, or a sequence of names."""
    names = value.split(",") if isinstance(value, str) else value or ()
    return [str(name).strip() for name in names if str(name).strip()]


def _check(option: str, names: Iterable[str], known: Iterable[str], where: str = "") -> None:
    known = list(known)
    for name in names:
        if name not in known:
            raise EaseError(f"Unknown name {name!r} in {option}{where}: {suggest(name, known)}")
