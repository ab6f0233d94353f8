"""A moved or copied project finds its MLflow runs and artifacts in its current folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import mlflow
from mlflow.tracking import MlflowClient

from ease.hooks.mlflow import follow_project
from tests.contexts import undisturbed

ARTIFACTS = "data/08_reporting/mlflow_artifacts"


def log_run(project: Path, name: str) -> str:
    """Log a run with an artifact and a table into the project's store; returns its id."""
    mlflow.set_tracking_uri(f"sqlite:///{project}/data/08_reporting/mlflow.db")
    mlflow.set_experiment("ease")
    with mlflow.start_run(run_name=name) as run:
        mlflow.log_text(name, "name.txt")
    return str(run.info.run_id)


def artifact(project: Path, run: str) -> str:
    client = MlflowClient(f"sqlite:///{project}/data/08_reporting/mlflow.db")
    return Path(client.download_artifacts(run, "name.txt")).read_text(encoding="utf-8")


def test_runs_and_artifacts_follow_a_copied_project(tmp_path: Path) -> None:
    old, new, elsewhere = tmp_path / "an old place", tmp_path / "new", tmp_path / "shared disk"
    (old / "data" / "08_reporting").mkdir(parents=True)
    store = new / "data/08_reporting/mlflow.db"
    with undisturbed():
        client = MlflowClient(f"sqlite:///{old}/data/08_reporting/mlflow.db")
        client.create_experiment("ease", (old / ARTIFACTS).as_uri())
        client.create_experiment("outside", elsewhere.as_uri())
        first = log_run(old, "first")
        shutil.copytree(old, new)
        before = sorted(old.rglob("*"))
        follow_project(store, new, ARTIFACTS)
        mlflow.tracking.fluent._active_experiment_id = None
        second = log_run(new, "second")
        assert sorted(old.rglob("*")) == before
        shutil.rmtree(old)
        follow_project(store, new, ARTIFACTS)
        assert (artifact(new, first), artifact(new, second)) == ("first", "second")
        assert len(list((new / ARTIFACTS).rglob("name.txt"))) == 2
        outside = MlflowClient(f"sqlite:///{store}").get_experiment_by_name("outside")
        assert outside is not None
        assert outside.artifact_location == elsewhere.as_uri()
