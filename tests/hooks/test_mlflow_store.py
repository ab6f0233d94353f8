"""A moved or copied project finds its MLflow runs and artifacts in its current folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import mlflow
import pytest
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


@pytest.mark.parametrize("moved", [True, False], ids=["moved", "copied"])
def test_runs_and_artifacts_follow_the_project(tmp_path: Path, moved: bool) -> None:
    old, new = tmp_path / "an old place", tmp_path / "new"
    (old / "data" / "08_reporting").mkdir(parents=True)
    with undisturbed():
        client = MlflowClient(f"sqlite:///{old}/data/08_reporting/mlflow.db")
        client.create_experiment("ease", (old / ARTIFACTS).as_uri())
        first = log_run(old, "first")
        shutil.copytree(old, new)
        if moved:
            shutil.rmtree(old)
        before = sorted(old.rglob("*"))
        follow_project(new / "data/08_reporting/mlflow.db", new, ARTIFACTS)
        mlflow.tracking.fluent._active_experiment_id = None
        second = log_run(new, "second")
        assert (artifact(new, first), artifact(new, second)) == ("first", "second")
        assert len(list((new / ARTIFACTS).rglob("name.txt"))) == 2
        assert sorted(old.rglob("*")) == before
        follow_project(new / "data/08_reporting/mlflow.db", new, ARTIFACTS)
        assert artifact(new, second) == "second"


def test_artifacts_outside_the_project_keep_their_address(tmp_path: Path) -> None:
    elsewhere = tmp_path / "shared disk"
    (tmp_path / "project" / "data" / "08_reporting").mkdir(parents=True)
    with undisturbed():
        store = tmp_path / "project" / "data/08_reporting/mlflow.db"
        client = MlflowClient(f"sqlite:///{store}")
        client.create_experiment("ease", elsewhere.as_uri())
        follow_project(store, tmp_path / "project", ARTIFACTS)
        experiment = MlflowClient(f"sqlite:///{store}").get_experiment_by_name("ease")
        assert experiment is not None
        assert experiment.artifact_location == elsewhere.as_uri()
