"""MLflow's local store: created by one run at a time, with the artifact addresses of the current project folder."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from kedro.config import MissingConfigException
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from mlflow.exceptions import MlflowException

from ease.errors import EaseError
from ease.io.locks import file_lock

logger = logging.getLogger(__name__)

SQLITE = "sqlite:///"
LOCATIONS = {
    "experiments": ("artifact_location",),
    "runs": ("artifact_uri",),
    "logged_models": ("artifact_location",),
    "model_versions": ("source", "storage_location"),
    "trace_tags": ("value",),
}
"""Columns of MLflow's tables that hold addresses of artifacts."""


class MlflowStore:
    """Protects the creation of the store, and updates the addresses in one that was created in another folder."""

    @hook_impl(wrapper=True)
    def after_context_created(self, context: KedroContext) -> Generator[None]:
        """Let kedro-mlflow create the store while no other run does, then update the store's addresses.

        Two runs that create MLflow's tables at the same time fail. MLflow stores absolute addresses, so a copied
        project would write into the folder of the original.
        """
        with file_lock(Path(context.project_path) / "pyproject.toml"):
            try:
                yield
            except MlflowException as error:
                raise EaseError(
                    "MLflow cannot open the store that `server.mlflow_tracking_uri` in mlflow.yml names: "
                    f"{str(error).splitlines()[0]} A database works, such as sqlite:///data/08_reporting/mlflow.db."
                ) from error
            self._follow(context)

    def _follow(self, context: KedroContext) -> None:
        try:
            config = context.config_loader["mlflow"]
        except (KeyError, MissingConfigException):
            return
        address = str(config.get("server", {}).get("mlflow_tracking_uri"))
        options = config.get("tracking", {}).get("experiment", {}).get("create_experiment_kwargs", {})
        artifacts = str(options.get("artifact_location"))
        store = Path(context.project_path) / address.removeprefix(SQLITE)
        if not address.startswith(SQLITE) or "://" in artifacts or Path(artifacts).is_absolute():
            return
        if store.is_file():
            follow_project(store, Path(context.project_path), artifacts)


def follow_project(store: Path, project: Path, artifacts: str) -> None:
    """Replace the project's former folder in a store's addresses by the current one.

    Args:
        store: MLflow's SQLite file.
        project: The project's current folder.
        artifacts: The folder of artifacts, relative to the project.
    """
    here = (project.absolute() / artifacts).as_uri()
    with closing(sqlite3.connect(store, timeout=60)) as database, database:
        present = database.execute(
            "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns"
        ).fetchall()
        columns = [
            (table, name) for table, names in LOCATIONS.items() for name in names if (table, name) in present
        ]
        if ("experiments", "artifact_location") not in columns:
            return
        found = database.execute("SELECT artifact_location FROM experiments").fetchall()
        ending = Path("/", artifacts).as_uri().removeprefix("file://")
        places = {place: place if "://" in place else Path(place).as_uri() for (place,) in found if place}
        former = [place for place, uri in places.items() if place.endswith(ending) and uri != here]
        for place in former:
            for table, column in columns:
                database.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                    f"WHERE {column} = ? OR substr({column}, 1, ?) = ?",
                    (here, len(place) + 1, place, len(place) + 1, f"{place}/"),
                )
            logger.warning("The project was moved: MLflow's artifacts of %s are now found in %s", place, here)
