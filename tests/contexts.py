"""Load a project's Kedro configuration in this process without changing the state of the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
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
from mlflow.tracking import fluent
from omegaconf import OmegaConf

from ease.hooks.names import ConfigLoader, Names
from ease.settings import CONFIG_LOADER_ARGS
from tests.project import Project


def load_catalog(project: Project, env: str | None = None, **parameters: Any) -> CatalogProtocol[Any, Any]:
    """Return the catalog of an environment; `__` in the name of a parameter is replaced by a dot.

    Use one project for all contexts of a process, because MLflow caches the store of a relative tracking URI.
    """
    with given_context(project, env, **parameters) as context:
        return context.catalog


@cache
def loader_of(project: Project, env: str | None) -> ConfigLoader:
    """Return the loader of an environment's configuration, which reads each file once.

    Kedro's merge changes what was read, so each merge gets a copy.
    """
    loader = ConfigLoader(str(project.folder / "conf"), env=env, **CONFIG_LOADER_ARGS)
    read = cache(loader._read_raw_config)
    setattr(loader, "_read_raw_config", lambda kind: deepcopy(read(kind)))  # noqa: B010
    with undisturbed():
        bootstrap_project(project.folder)
    return loader


def load_parameters(project: Project, env: str) -> dict[str, Any]:
    """Return an environment's parameters as configured, before validation by Pydantic models."""
    loader = loader_of(project, env)
    loader.runtime_params = {}
    return loader["parameters"]


def checked_parameters(project: Project, env: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the validated parameters of an environment and of `--params`, after the checks of a run's names."""
    loader = loader_of(project, env)
    loader.runtime_params = given
    context = KedroContext(project.folder, loader, env, "ease", _NullPluginManager())
    with undisturbed():
        Names().after_context_created(context)
        return context.params


@contextmanager
def given_context(project: Project, env: str | None = None, **parameters: Any) -> Iterator[KedroContext]:
    """Open a Kedro context with runtime parameters; `__` in the name of a parameter is replaced by a dot."""
    with undisturbed():
        os.chdir(project.folder)
        if framework.PACKAGE_NAME is None:  # the pipelines, which take a second, are the same for all projects
            bootstrap_project(project.folder)
        given = nested(**parameters)
        with KedroSession.create(project_path=project.folder, env=env, runtime_params=given) as session:
            yield session.load_context()  # type: ignore[attr-defined]


def nested(**parameters: Any) -> Any:
    """Return runtime parameters as `--params` passes them; `__` in a name is replaced by a dot."""
    dotted = [f"{name.replace('__', '.')}={value}" for name, value in parameters.items()]
    return OmegaConf.to_container(OmegaConf.from_dotlist(dotted))


def give(context: KedroContext, **parameters: Any) -> None:
    """Replace the runtime parameters of an open context, which is faster than opening another one."""
    context.config_loader.runtime_params = nested(**parameters)
    context._validated_params_cache = None


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the process state that a Kedro session changes."""
    environment, search, folder, hook = dict(os.environ), sys.path[:], Path.cwd(), sys.excepthook
    store = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    experiment = fluent._active_experiment_id
    try:
        yield
    finally:
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
