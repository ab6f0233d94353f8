"""A run opens the store of `mlflow.yml`; a moved or copied project has an experiment of its own."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import mlflow
import pytest
from kedro.config import OmegaConfigLoader
from mlflow.tracking import MlflowClient

from ease.errors import EaseError
from ease.hooks.mlflow_store import (
    DELETED,
    UNKNOWN,
    StoreOptions,
    find_experiment,
    find_gone_artifacts,
    open_experiment,
    read_store_options,
)
from tests.contexts import undisturbed


def make_folder(folder: Path) -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    return folder


def store_of(project: Path, **options: Any) -> StoreOptions:
    uri = f"sqlite:///{project}/data/mlflow.db"
    return StoreOptions(**{"tracking_uri": uri, "artifact_location": "data/artifacts", **options})


def shown_experiment(project: Path) -> str | None:
    """Return the name of the experiment that the list of runs shows."""
    experiment = find_experiment(store_of(project), project)
    return None if experiment is None else experiment.name


def log_run(project: Path, **options: Any) -> tuple[str, Path]:
    """Log a run with an artifact by a project's options; return the experiment's name and the artifact's file."""
    experiment = open_experiment(store_of(project, **options), project)
    with mlflow.start_run(experiment_id=experiment.experiment_id) as run:
        mlflow.log_text("content", "name.txt")
    file = Path(url2pathname(urlparse(run.info.artifact_uri).path), "name.txt")
    assert file.read_text() == "content"
    return experiment.name, file


def test_a_copied_project_writes_into_its_own_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old, new = make_folder(tmp_path / "an old place"), tmp_path / "new"
    with undisturbed():
        assert shown_experiment(old) is None
        assert log_run(old)[0] == log_run(old)[0] == "ease"
        shutil.copytree(old, new)
        before = sorted(old.rglob("*"))
        assert shown_experiment(new) == "ease"
        assert caplog.messages == []
        for _ in range(2):
            name, artifact = log_run(new)
            assert name == shown_experiment(new) == "ease (new)"
            assert artifact.is_relative_to(new / "data" / "artifacts")
        assert len(caplog.messages) == 1
        assert f"in {(old / 'data/artifacts').as_uri()}: this project was moved or copied" in caplog.messages[0]
        assert sorted(old.rglob("*")) == before
        former = MlflowClient().get_experiment_by_name("ease")
        assert former is not None
        assert len(MlflowClient().search_runs([former.experiment_id])) == 2


def test_projects_in_folders_of_one_name_have_experiments_of_their_own(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    projects = [make_folder(tmp_path / place / "mine") for place in ("one", "two", "three")]
    with undisturbed():
        for _ in range(2):
            names = [log_run(project, tracking_uri=uri)[0] for project in projects]
            assert names == ["ease", "ease (mine)", "ease (mine in three)"]


def test_a_place_outside_the_project_is_shared(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    with undisturbed():
        for name in ("one", "two"):
            project = make_folder(tmp_path / name)
            uri = f"sqlite:///{tmp_path}/mlflow.db"
            used, artifact = log_run(project, tracking_uri=uri, artifact_location=shared.as_uri(), experiment="both")
            assert used == "both"
            assert artifact.is_relative_to(shared)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("server: {mlflow_tracking_uri: x}", "`server.mlflow_tracking_uri` is now `tracking_uri`: rename it"),
        (
            "tracking: {experiment: {create_experiment_kwargs: {artifact_location: x}}}",
            "`tracking.experiment.create_experiment_kwargs.artifact_location` is now `artifact_location`",
        ),
        ("experimint: x", "there is no field `experimint`: did you mean experiment?"),
    ],
)
def test_former_and_unknown_names_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "mlflow.yml").write_text(f"tracking_uri: sqlite:///x\n{content}\n")
    loader = OmegaConfigLoader(str(tmp_path), config_patterns={"mlflow": ["mlflow*"]})
    with pytest.raises(EaseError, match=message):
        read_store_options(loader)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("sqlite:///{}/data", "unable to open database file"),
        ("sqlite:////proc/no/mlflow.db", "set `tracking_uri` in conf/local/mlflow.yml"),
        ("postgresql+pg8000://localhost:1/name", "without the package pg8000"),
        ("http://127.0.0.1:1", "Start the server"),
        (
            "postgresql+pg8000://me:secret@localhost:1/name",
            r"the store postgresql\+pg8000://me:\*\*\*@localhost:1/name",
        ),
        ("elsewhere://x", "unsupported URI"),
    ],
)
def test_a_store_that_does_not_open_is_named_within_seconds(tmp_path: Path, uri: str, message: str) -> None:
    project = make_folder(tmp_path / "project")
    options = store_of(project, tracking_uri=uri.format(project))
    since = time.monotonic()
    with undisturbed(), pytest.raises(EaseError, match=message) as raised:
        open_experiment(options, project)
    assert options.tracking_uri.replace(":secret@", ":***@") in str(raised.value)
    # MLflow alone needs two minutes for a folder, and four for a server.
    assert time.monotonic() - since < 20


def test_artifacts_of_deleted_runs_are_listed_and_those_of_registered_models_are_not(tmp_path: Path) -> None:
    project = make_folder(tmp_path / "project")
    options = store_of(project)
    artifacts = project / "data" / "artifacts"
    with undisturbed():
        experiment = open_experiment(options, project)
        client = MlflowClient()

        def log_model() -> tuple[Path, Path]:
            """Log a run with a model, as mlflow.sentence_transformers does; return the folders of both."""
            with mlflow.start_run(experiment_id=experiment.experiment_id) as run:
                mlflow.log_text("content", "name.txt")
            model = client.create_logged_model(experiment.experiment_id, "model", run.info.run_id)
            folder = artifacts / "models" / model.model_id
            (folder / "artifacts").mkdir(parents=True)
            return artifacts / run.info.run_id, folder

        log_model()
        deleted, registered, rerun = (log_model() for _ in range(3))
        for run, _ in (deleted, registered):
            client.delete_run(run.name)
        client.delete_logged_model(rerun[1].name)
        client.create_registered_model("name")
        client.create_model_version("name", f"models:/{registered[1].name}", registered[0].name)
        another, own = artifacts / ("0" * 32), artifacts / "own"
        for folder in (another, own):
            folder.mkdir()
        expected = {**dict.fromkeys((*deleted, registered[0], rerun[1]), DELETED), another: UNKNOWN}
        assert find_gone_artifacts(options, project) == expected
        elsewhere = store_of(project, artifact_location="s3://bucket/artifacts")
        for unknown in (store_of(project, tracking_uri="http://127.0.0.1:1"), elsewhere):
            assert find_gone_artifacts(unknown, project) == {}
        (project / "data" / "mlflow.db").unlink()
        assert find_gone_artifacts(options, project) == {}, "a missing store says nothing about runs"
        assert not (project / "data" / "mlflow.db").exists()
