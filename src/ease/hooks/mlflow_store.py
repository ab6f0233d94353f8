"""MLflow's store: where runs are tracked, by `mlflow.yml`, and the experiment that they belong to."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.config import AbstractConfigLoader
from pydantic import Field

from ease.errors import EaseError
from ease.io.locks import file_lock
from ease.options import StrictModel, dotted, validate

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

logger = logging.getLogger(__name__)

CONFIGURATION = "mlflow"
"""Kedro's key of the configuration files `mlflow*.yml`"""

SETTINGS_OF_KEDRO_MLFLOW = {
    "server.mlflow_tracking_uri": "tracking_uri",
    "tracking.experiment.name": "experiment",
    "tracking.experiment.create_experiment_kwargs.artifact_location": "artifact_location",
    "tracking.run.name": "run_name",
}
"""Names in `mlflow.yml` by those of the plugin Kedro-MLflow, which read the file in earlier versions"""


class StoreOptions(StrictModel):
    """Contents of `mlflow.yml`."""

    tracking_uri: str = Field(description="a database, such as sqlite:///FILE, or the address of an MLflow server")
    experiment: str = Field("ease", description="name of the experiment that runs belong to")
    artifact_location: str | None = Field(
        None, description="folder or address of plots and models; a server chooses its own place"
    )
    run_name: str | None = Field(None, description="name of every run; null: its pipelines, setting and parameters")


def read_store_options(loader: AbstractConfigLoader) -> StoreOptions:
    """Return the options of `mlflow.yml`; refuse those of Kedro-MLflow with their names here."""
    values: dict[str, Any] = loader[CONFIGURATION]
    for name in dotted(values):
        if name in SETTINGS_OF_KEDRO_MLFLOW:
            raise EaseError(f"mlflow.yml: `{name}` is now `{SETTINGS_OF_KEDRO_MLFLOW[name]}`: rename it.")
    return validate(StoreOptions, values, "mlflow.yml")


def open_experiment(options: StoreOptions, project: Path) -> Experiment:
    """Connect MLflow to the store, and return the experiment of the project's runs; create what is missing.

    MLflow keeps the place of an experiment's artifacts as an absolute address that cannot be changed. In a project that
    was moved or copied, runs belong to an experiment of their own, because they would write into the former folder.

    Raises:
        EaseError: If the store cannot be opened, or the data folder cannot be made.
    """
    import mlflow

    # Of two runs that create MLflow's tables at the same time, one would fail.
    with file_lock(project / "pyproject.toml"), _report_errors(options):
        client = _connect(options)
        location = _artifact_address(options, project)
        experiment = client.get_experiment_by_name(options.experiment)
        if experiment is None or location is None or experiment.artifact_location == location:
            name = options.experiment
        else:
            name = _name_after_move(options, project)
        if client.get_experiment_by_name(name) is None:
            client.create_experiment(name, location)
            if experiment is not None:
                logger.warning(
                    "The artifacts of MLflow's experiment %r are in %s: this project was moved or copied, and its new "
                    "runs belong to the experiment %r",
                    experiment.name,
                    experiment.artifact_location,
                    name,
                )
        return mlflow.set_experiment(name)


def find_experiment(options: StoreOptions, project: Path) -> Experiment | None:
    """Return the experiment of the project's runs, or that of its runs before a move; None if there is neither."""
    with _report_errors(options):
        client = _connect(options)
        names = (_name_after_move(options, project), options.experiment)
        return next(filter(None, map(client.get_experiment_by_name, names)), None)


def _connect(options: StoreOptions) -> MlflowClient:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import mlflow

    mlflow.set_tracking_uri(options.tracking_uri)
    return mlflow.MlflowClient()


@contextmanager
def _report_errors(options: StoreOptions) -> Iterator[None]:
    """Turn errors of the store into readable ones."""
    from mlflow import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        cause = str(error).splitlines()[0]
        raise EaseError(
            f"MLflow cannot open the store {options.tracking_uri}, which mlflow.yml names: {cause}. "
            "If the database is locked, end the program that uses it; if it is broken, restore or move the file: "
            "without a file, a run makes a new one."
        ) from error
    except MlflowException as error:
        raise EaseError(
            f"MLflow cannot open the experiment {options.experiment!r} of the store {options.tracking_uri}, which "
            f"mlflow.yml names: {str(error).splitlines()[0]} A database works as `tracking_uri`, such as "
            "sqlite:///data/08_reporting/mlflow.db."
        ) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise EaseError(
            f"The data folder cannot be made ({error.strerror}: {error.filename}): set `data` in "
            "conf/local/globals.yml to a folder that you may write to."
        ) from error


def _name_after_move(options: StoreOptions, project: Path) -> str:
    """Return the name of an experiment that belongs to this place of the project."""
    return f"{options.experiment} ({project.absolute()})"


def _artifact_address(options: StoreOptions, project: Path) -> str | None:
    """Return the address of artifacts; None lets MLflow's server choose it."""
    if options.artifact_location is None or options.tracking_uri.startswith(("http:", "https:")):
        return None
    if "://" in options.artifact_location:
        return options.artifact_location
    # MLflow would complete a relative path by the current folder.
    return (project.absolute() / options.artifact_location).as_uri()
