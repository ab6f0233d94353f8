"""Load a project's Kedro configuration in this process without changing the state of the process."""

from __future__ import annotations

import os
import pickle  # noqa: TID251
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import mlflow
from kedro.framework import project as framework
from kedro.framework.context import KedroContext
from kedro.framework.hooks.manager import _NullPluginManager
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from mlflow.tracking import fluent
from omegaconf import OmegaConf

from ease.hooks.configuration import ConfigLoader
from ease.hooks.names import Names
from ease.pipeline_registry import register_pipelines
from ease.settings import CONFIG_LOADER_ARGS
from tests.project import Project


def load_catalog(project: Project, env: str | None = None, **parameters: Any) -> CatalogProtocol[Any, Any]:
    """Return the catalog of an environment; `__` in the name of a parameter is replaced by a dot.

    Use one project for all contexts of a process, because MLflow caches the store of a relative tracking URI.
    """
    with given_context(project, env, **parameters) as context:
        return context.catalog


@cache
def all_pipelines() -> dict[str, Pipeline]:
    """Return all pipelines, created once in each process."""
    if framework.PACKAGE_NAME is None:
        framework.configure_project("ease")
    return register_pipelines()


READ = ConfigLoader._read_raw_config
MERGED: dict[Any, bytes] = {}
"""What files were merged to, pickled, by their kind, sizes and times"""


def read_once(loader: ConfigLoader, kind: str) -> Any:
    """Return a copy of what Kedro reads, which its resolution changes; unchanged files are read and merged once."""
    folders = [Path(loader.conf_source, name) for name in (loader.base_env, loader.env or loader.default_run_env)]
    states = [(file, file.stat()) for folder in folders for file in sorted(folder.rglob("*.yml"))]
    key = (kind, *folders, *((file, state.st_size, state.st_mtime_ns) for file, state in states))
    if key not in MERGED:
        *both, base, env, files = READ(loader, kind)
        merged = ({Path(): OmegaConf.unsafe_merge(*configs.values())} if configs else {} for configs in both)
        MERGED[key] = pickle.dumps((*merged, base, env, files))
    return pickle.loads(MERGED[key])  # noqa: S301


def register(project: Project) -> None:
    """Tell Kedro of the pipelines, once: they take a second, and are the same for all projects."""
    if framework.PACKAGE_NAME is None:
        bootstrap_project(project.folder)


def load_parameters(project: Project, env: str) -> dict[str, Any]:
    """Return an environment's parameters as configured, before validation by Pydantic models."""
    with undisturbed():
        register(project)
        return ConfigLoader(str(project.folder / "conf"), env=env, **CONFIG_LOADER_ARGS)["parameters"]


def checked_parameters(project: Project, env: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the validated parameters of an environment and of `--params`, after the checks of a run's names."""
    loader = ConfigLoader(str(project.folder / "conf"), env=env, runtime_params=given, **CONFIG_LOADER_ARGS)
    context = KedroContext(project.folder, loader, env, "ease", _NullPluginManager())
    with undisturbed():
        register(project)
        Names().after_context_created(context)
        return context.params


@contextmanager
def given_context(project: Project, env: str | None = None, **parameters: Any) -> Iterator[KedroContext]:
    """Open a Kedro context with runtime parameters; `__` in the name of a parameter is replaced by a dot."""
    with undisturbed():
        os.chdir(project.folder)
        register(project)
        given = nested(**parameters)
        with KedroSession.create(project_path=project.folder, env=env, runtime_params=given) as session:
            yield session.load_context()  # type: ignore[attr-defined]


def nested(**parameters: Any) -> Any:
    """Return runtime parameters as `--params` passes them; `__` in a name is replaced by a dot."""
    dotted = [f"{name.replace('__', '.')}={value}" for name, value in parameters.items()]
    return OmegaConf.to_container(OmegaConf.from_dotlist(dotted))


def give(context: KedroContext, **parameters: Any) -> None:
    """Replace the runtime parameters of an open context, to which `Names.after_context_created` is then applied."""
    loader: Any = context.config_loader
    loader.runtime_params = nested(**parameters)
    loader.data.pop("parameters", None)  # `Names.after_context_created` has completed them
    context._validated_params_cache = None


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the process state that a Kedro session changes; within, configuration files are read once."""
    environment, search, folder, hook = dict(os.environ), sys.path[:], Path.cwd(), sys.excepthook
    store = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    experiment = fluent._active_experiment_id
    setattr(ConfigLoader, "_read_raw_config", read_once)  # noqa: B010
    try:
        yield
    finally:
        setattr(ConfigLoader, "_read_raw_config", READ)  # noqa: B010
        # A run that a failed command left open would be ended when Python exits, in another store than its own.
        while mlflow.active_run():
            mlflow.end_run()
        # MLflow has no public way to reset the experiment, whose ID is only valid in one store.
        fluent._active_experiment_id = experiment
        mlflow.set_tracking_uri(store)  # type: ignore[arg-type]
        os.chdir(folder)
        sys.excepthook, sys.path[:] = hook, search
        os.environ.clear()
        os.environ.update(environment)
