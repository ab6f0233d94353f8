"""Check the environment, pipelines, nodes, tags and namespaces that a `kedro run` command names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.project import pipelines
from kedro.pipeline import Pipeline
from kedro.pipeline.pipeline import OutputNotUniqueError

from ease.errors import EaseError
from ease.io.suggestions import suggest


def check_environment(context: KedroContext) -> None:
    """Refuse an environment that has no folder in the configuration.

    Raises:
        EaseError: With the nearest and all known ones.
    """
    source = Path(str(context.config_loader.conf_source))
    if context.env is None or (source / context.env).is_dir() or not source.is_dir():
        return
    known = sorted(folder.name for folder in source.iterdir() if folder.is_dir())
    raise EaseError(f"Unknown --env {context.env!r} in {source.name}/: {suggest(context.env, known)}")


def check_run_names() -> None:
    """Refuse unknown names of pipelines, nodes, tags, namespaces and datasets in the current `kedro run` command.

    Raises:
        EaseError: With the nearest and all known names, or for pipelines that cannot run together.
    """
    command = click.get_current_context(silent=True)
    if command is None or command.info_name != "run":
        return
    given = command.params
    chosen = [*_words(given.get("pipeline")), *_words(given.get("pipelines"))]
    _check("--pipelines", chosen, pipelines)
    run = _summed(chosen or ["__default__"])
    nodes = run.nodes
    names, tags = {node.name for node in nodes}, {tag for node in nodes for tag in node.tags}
    parts = [node.namespace.split(".") for node in nodes if node.namespace]
    namespaces = {".".join(part[:depth]) for part in parts for depth in range(1, len(part) + 1)}
    known = {
        **{"tags": tags, "namespaces": namespaces},
        **dict.fromkeys(("nodes", "from-nodes", "to-nodes"), names),
        **dict.fromkeys(("from-inputs", "to-outputs"), run.datasets()),
    }
    for option, choices in known.items():
        value = given.get("node_names" if option == "nodes" else option.replace("-", "_"))
        _check(f"--{option}", _words(value), choices, f" in {', '.join(chosen) or '__default__'}")


def pipelines_of_run(run_params: dict[str, Any]) -> list[str]:
    """Return the names of a run's pipelines in the registry's order.

    Kedro lists them in the order of a set, which is another one in each process.
    """
    given = run_params.get("pipeline_names") or ["__default__"]
    return [name for name in pipelines if name in given]


def _summed(names: list[str]) -> Pipeline:
    """Return the nodes of several pipelines; refuse nodes of one name that read or make different datasets."""
    try:
        return sum((pipelines[name] for name in names), Pipeline([]))
    except (ValueError, OutputNotUniqueError) as error:
        commands = ", then ".join(f"`kedro run --pipelines={name}`" for name in names)
        raise EaseError(
            f"The pipelines {', '.join(names)} cannot run together, since nodes of one name differ in what they read: "
            f"run {commands}."
        ) from error


def _words(value: Any) -> list[str]:
    """Return the names in an option's value: a string with commas, or a sequence of names."""
    names = value.split(",") if isinstance(value, str) else value or ()
    return [str(name).strip() for name in names if str(name).strip()]


def _check(option: str, names: Iterable[str], known: Iterable[str], where: str = "") -> None:
    known = list(known)
    for name in names:
        if name not in known:
            raise EaseError(f"Unknown name {name!r} in {option}{where}: {suggest(name, known)}")
