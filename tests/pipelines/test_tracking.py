"""The values of a training run are logged to its MLflow run, also after interruptions and errors of the store."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from mlflow.utils.validation import _validate_metric_name, _validate_param_name

from ease.encoders.encoder import save_encoder
from ease.hooks.mlflow import _flat
from ease.pipelines.tracking import (
    HOST,
    PID,
    RunReport,
    TrackingOptions,
    close_killed_runs,
    headline,
    log_model,
    log_plot,
    log_table,
    log_text,
    process_tags,
    training_run,
)
from ease.reporting.plots import plot_curves
from tests.contexts import undisturbed
from tests.encoders.tiny import tiny_encoder
from tests.project import SAMPLE, make_project

HERE = platform.node()
HISTORY = [
    {"step": 2, "loss": 5.0, "learning_rate": 0.3},
    {"step": 2, "development": 40.0},
    {"step": 4, "loss": 4.0, "learning_rate": 0.2},
    {"step": 6, "loss": 3.0, "learning_rate": 0.1},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowClient]:
    with undisturbed():
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db")
        mlflow.set_experiment("test")
        yield MlflowClient()


def test_the_next_run_closes_those_whose_process_was_killed(client: MlflowClient) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    places = {"killed": (HERE, ended.pid), "of this process's number": (HERE, os.getpid())}
    places |= {"alive": (HERE, os.getppid()), "of another machine": ("elsewhere", ended.pid)}
    with mlflow.start_run(tags=process_tags()) as active:
        given = {"experiment_id": active.info.experiment_id}
        for name, (host, pid) in places.items():
            client.create_run(**given, run_name=name, tags={HOST: host, PID: str(pid)})
        close_killed_runs(active)
        status = {run.info.run_name: run.info.status for run in client.search_runs([active.info.experiment_id])}
    assert {name for name in places if status.pop(name) == "KILLED"} == {"killed", "of this process's number"}
    assert "KILLED" not in status.values()


def curve(client: MlflowClient, run_id: str, name: str) -> list[tuple[int, float]]:
    return sorted((point.step, point.value) for point in client.get_metric_history(run_id, name))


def test_a_run_has_the_values_of_earlier_sessions_each_once(client: MlflowClient) -> None:
    with mlflow.start_run(), training_run("resumed", {}) as run_id:
        report = RunReport(run_id)
        for line in HISTORY[2:]:
            report(int(line["step"]), {name: value for name, value in line.items() if name != "step"})
        report.complete(HISTORY)
    assert client.get_run(run_id).data.tags.items() >= process_tags().items()
    assert curve(client, run_id, "loss") == [(2, 5.0), (4, 4.0), (6, 3.0)]
    assert curve(client, run_id, "learning_rate") == [(2, 0.3), (4, 0.2), (6, 0.1)]
    assert curve(client, run_id, "development") == [(2, 40.0)]


def test_an_error_of_the_store_is_logged_and_its_values_follow_later(
    client: MlflowClient, caplog: pytest.LogCaptureFixture
) -> None:
    with mlflow.start_run(), training_run("disturbed", {}) as run_id:
        report = RunReport(run_id)
        client.delete_run(run_id)  # a deleted run takes no values
        report(2, {"loss": 5.0})
        report(4, {"loss": 4.0})
        (message,) = caplog.messages
        assert "MLflow did not store step 2" in message, "and each attempt may take as long as a lock"
        assert "\n" not in message
        client.restore_run(run_id)
        report.complete(HISTORY)
    assert curve(client, run_id, "loss") == [(2, 5.0), (4, 4.0), (6, 3.0)]


@pytest.mark.parametrize("name", ["de→en", "a@10", "50%", "a=b", "<x>", "#1", "x" * 200])
def test_names_that_users_choose_are_made_safe_for_mlflow(name: str) -> None:
    rows = [{"task": name, "subset": name, "value": 1.0, "main": True}]
    sets = {"sets": {name: {"file": "p.tsv"}}}
    for key in (*headline(rows), *_flat("evaluate", {name: sets}, {})):
        _validate_param_name(key)
        _validate_metric_name(key)


def test_a_plot_has_no_library_and_its_run_goes_on_where_artifacts_cannot_be_written(
    client: MlflowClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    figure = plot_curves(pd.DataFrame({"method": "ease", "step": [1, 2], "name": "loss", "value": [2.0, 1.0]}))
    save_encoder(tiny_encoder(["A sentence."]), tmp_path / "encoder")
    artifacts = tmp_path / "artifacts"
    mlflow.set_experiment(experiment_id=client.create_experiment("pictures", artifacts.as_uri()))
    with mlflow.start_run() as run:
        log_plot(figure, "curves")
    (file,) = (artifacts / run.info.run_id).rglob("curves.*")
    assert file.name == "curves.svg", "an image that MLflow's page shows"
    assert file.stat().st_size < 100_000
    # As on a full or read-only disk, no folder can be made here.
    shutil.rmtree(artifacts)
    artifacts.touch()
    with mlflow.start_run() as run:
        log_plot(figure, "curves")
        log_table(pd.DataFrame({"score": [1.0]}), "scores")
        log_text("text", "report/report.md")
        log_model(tmp_path / "encoder", "multilingual.ease", TrackingOptions())
    assert client.get_run(run.info.run_id).info.status == "FINISHED"
    names = ("curves.svg", "scores.json", "report/report.md", "the model multilingual.ease")
    assert [name for name in names if f"MLflow did not store {name} (" not in caplog.text] == []


@pytest.mark.slow
def test_nodes_that_run_at_once_log_a_common_parameter_once(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    threads = ("--runner=ThreadRunner", "--runner-params=max_workers=2")
    project.kedro("run", "--pipelines=acquire,acquire_evaluation", *threads, "--params", SAMPLE, start=False)
    store = MlflowClient(project.store)
    (run,) = store.search_runs([experiment.experiment_id for experiment in store.search_experiments()])
    assert run.info.status == "FINISHED"
    assert run.data.params["acquire.sample.territories"] == "60"
