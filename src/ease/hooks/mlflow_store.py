"""MLflow's store: where runs are tracked, by `mlflow.yml`, and the experiment that they belong to."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

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

ARTIFACT_FOLDER = re.compile(r"[0-9a-f]{32}|m-[0-9a-f]{32}")
"""Names of the folders of runs and of logged models"""
DELETED = "plots and models of a run that was deleted in MLflow"
UNKNOWN = "MLflow's store has no such run; it may belong to another store (kept; --unfinished removes it)"

RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
"""MLflow's variable of how often a request to a server is repeated"""

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
    experiment: str = Field("ease", min_length=1, description="name of the experiment that runs belong to")
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


def read_project_store(project: Path, env: str | None = None) -> StoreOptions:
    """Return the options of a project's `mlflow.yml`, outside of a run."""
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(project)
    with KedroSession.create(project, env=env) as session:
        return read_store_options(session.load_context().config_loader)  # type: ignore[attr-defined]


def open_experiment(options: StoreOptions, project: Path) -> Experiment:
    """Connect MLflow to the store, and return the experiment of the project's runs; create what is missing.

    MLflow keeps the place of an experiment's artifacts as an absolute address that cannot be changed. In a project that
    was moved or copied, runs belong to an experiment of their own, because they would write into the former folder.

    Raises:
        EaseError: If the store cannot be opened or made.
    """
    import mlflow

    # If two runs created MLflow's tables at once, one would fail.
    with file_lock(project / "pyproject.toml"), _report_errors(options), _few_retries():
        client = _connect(options)
        location = _artifact_address(options, project)
        experiment = client.get_experiment_by_name(options.experiment)
        name = _experiment_name(client, options, project)
        if client.get_experiment_by_name(name) is None:
            client.create_experiment(name, location)
            if experiment is not None:
                logger.warning(
                    "The artifacts of MLflow's experiment %r are in %s: this project was moved or copied, or its "
                    "`artifact_location` has changed, and its new runs belong to the experiment %r",
                    experiment.name,
                    experiment.artifact_location,
                    name,
                )
        return mlflow.set_experiment(name)


def find_experiment(options: StoreOptions, project: Path) -> Experiment | None:
    """Return the experiment of the project's runs, or that of its runs before a move; None if there is neither."""
    with _report_errors(options), _few_retries():
        client = _connect(options)
        names = (_experiment_name(client, options, project), options.experiment)
        return next(filter(None, map(client.get_experiment_by_name, names)), None)


def find_gone_artifacts(options: StoreOptions, project: Path) -> dict[Path, str]:
    """Return the local folders of plots and models whose run the store has no more, with `DELETED` or `UNKNOWN`.

    Registered models are excluded. Of a server, and without a database, the runs are not known: nothing is returned.
    """
    address = _artifact_address(options, project)
    database = options.tracking_uri.partition("sqlite:///")[2]
    if address is None or not address.startswith("file:") or (database and not Path(database).is_file()):
        return {}
    place = Path(url2pathname(urlsplit(address).path))
    with _report_errors(options):
        run_stages, model_stages, sources = _read_stages(options)
    gone = {}
    for folder in sorted(chain(place.glob("*"), place.glob("models/*"))):
        if not ARTIFACT_FOLDER.fullmatch(folder.name) or any(folder.name in source for source in sources):
            continue
        stage = (model_stages | run_stages).get(folder.name)
        if stage is None:
            gone[folder] = UNKNOWN
        elif stage == "deleted":
            gone[folder] = DELETED
    return gone


def _read_stages(options: StoreOptions) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return the stages `active` or `deleted` of runs and of logged models, and the sources of registered models.

    MLflow's own interface also reads all parameters and scores of each run, which takes long.
    """
    from sqlalchemy import create_engine, text

    with create_engine(options.tracking_uri).connect() as connection:
        runs = connection.execute(text("SELECT run_uuid, lifecycle_stage FROM runs"))
        run_stages = {run: stage for run, stage in runs}
        models = connection.execute(text("SELECT model_id, lifecycle_stage, source_run_id FROM logged_models"))
        # MLflow does not delete a run's models with the run.
        model_stages = {
            model: "deleted" if "deleted" in (stage, run_stages.get(run)) else stage for model, stage, run in models
        }
        sources = connection.execute(text("SELECT source FROM model_versions WHERE source IS NOT NULL")).scalars().all()
    return run_stages, model_stages, list(sources)


def _connect(options: StoreOptions) -> MlflowClient:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    import mlflow

    # It prints the traceback of each error, which is reported in one line.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    if _is_database(options):
        _open_database(options.tracking_uri)
    mlflow.set_tracking_uri(options.tracking_uri)
    return mlflow.MlflowClient()


def _open_database(uri: str) -> None:
    """Raise the error of a database that cannot be opened, for which MLflow would try ten times in two minutes."""
    from sqlalchemy import create_engine, inspect, make_url

    place = make_url(uri)
    if place.get_backend_name() == "sqlite" and place.database:
        Path(place.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(place)
    inspect(engine).get_table_names()
    engine.dispose()


@contextmanager
def _few_retries() -> Iterator[None]:
    """Give an unreachable server up in seconds; MLflow's retries of four minutes are for the middle of a run."""
    chosen_by_user = RETRIES in os.environ
    os.environ.setdefault(RETRIES, "1")
    try:
        yield
    finally:
        if not chosen_by_user:
            del os.environ[RETRIES]


@contextmanager
def _report_errors(options: StoreOptions) -> Iterator[None]:
    """Turn errors of the store into readable ones."""
    from mlflow import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    store = re.sub(r"://([^:/@]*):[^@/]*@", r"://\1:***@", options.tracking_uri)
    try:
        yield
    except SQLAlchemyError as error:
        cause = str(error).splitlines()[0]
        raise EaseError(
            f"MLflow cannot open the store {store}, which mlflow.yml names: {cause}. If the database is locked, end "
            "the program that uses it; if it is broken, restore or move it: without one, a run makes a new one."
        ) from error
    except ImportError as error:
        raise EaseError(
            f"MLflow cannot open the store {store}, which mlflow.yml names, without the package {error.name}: install "
            "it."
        ) from error
    except MlflowException as error:
        remedy = " A database works as `tracking_uri`, such as sqlite:///data/08_reporting/mlflow.db."
        if _is_server(options):
            remedy = " Start the server, or name a database as `tracking_uri`."
        elif _is_database(options):
            remedy = ""
        raise EaseError(
            f"MLflow cannot open the experiment {options.experiment!r} of the store {store}, which mlflow.yml names: "
            f"{str(error).splitlines()[0]}{remedy}"
        ) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise EaseError(
            f"The folder of MLflow's store {store} cannot be made ({error.strerror}: {error.filename}): set "
            "`tracking_uri` in conf/local/mlflow.yml to a file in a folder that you may write to."
        ) from error


def _is_server(options: StoreOptions) -> bool:
    return options.tracking_uri.startswith(("http:", "https:"))


def _is_database(options: StoreOptions) -> bool:
    from mlflow.store.db.db_types import DATABASE_ENGINES

    return urlsplit(options.tracking_uri).scheme.partition("+")[0] in DATABASE_ENGINES


def _experiment_name(client: MlflowClient, options: StoreOptions, project: Path) -> str:
    """Return the first name that no experiment of another place has: `ease`, `ease (FOLDER)`, `ease (FOLDER in …)`."""
    location = _artifact_address(options, project)
    name = options.experiment
    folders: list[str] = []
    # Without slashes, after which MLflow's pages cut the name.
    for folder in reversed(project.absolute().parts[1:]):
        experiment = client.get_experiment_by_name(name)
        if experiment is None or location is None or experiment.artifact_location == location:
            return name
        folders.append(folder)
        name = f"{options.experiment} ({' in '.join(folders)})"
    return name


def _artifact_address(options: StoreOptions, project: Path) -> str | None:
    """Return the address of artifacts; None lets MLflow's server choose it."""
    if options.artifact_location is None or _is_server(options):
        return None
    if "://" in options.artifact_location:
        return options.artifact_location
    # MLflow would complete a relative path by the current folder.
    return (project.absolute() / options.artifact_location).as_uri()
