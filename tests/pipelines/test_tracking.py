"""The values of a training are logged to its MLflow run, also after interruptions and errors of the store."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator

import mlflow
import pytest
from mlflow.tracking import MlflowClient
from mlflow.utils.validation import _validate_metric_name, _validate_param_name

from ease.hooks.mlflow import _flat
from ease.pipelines.tracking import HOST, PID, RunReport, close_killed_runs, headline, process_tags, training_run
from tests.contexts import undisturbed

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
        assert "MLflow did not store step 2" in caplog.text
        client.restore_run(run_id)
        report.complete(HISTORY[:1])
    assert curve(client, run_id, "loss") == [(2, 5.0)]


@pytest.mark.parametrize("name", ["de→en", "a@10", "50%", "a=b", "<x>", "#1", "x" * 200])
def test_names_that_users_choose_are_made_safe_for_mlflow(name: str) -> None:
    rows = [{"task": name, "subset": name, "value": 1.0, "main": True}]
    sets = {"sets": {name: {"file": "p.tsv"}}}
    for key in (*headline(rows), *_flat("evaluate", {name: sets}, {})):
        _validate_param_name(key)
        _validate_metric_name(key)
