"""The values of a training are logged to its MLflow run, also after interruptions and errors of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from mlflow.tracking import MlflowClient

from ease.pipelines.mlflow_runs import RunReport, training_run
from tests.contexts import undisturbed

HISTORY = [
    {"step": 2, "loss": 5.0, "learning_rate": 0.3},
    {"step": 2, "development": 40.0},
    {"step": 4, "loss": 4.0, "learning_rate": 0.2},
    {"step": 6, "loss": 3.0, "learning_rate": 0.1},
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MlflowClient]:
    with undisturbed():
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
        mlflow.set_experiment("test")
        yield MlflowClient()


def curve(client: MlflowClient, run_id: str, name: str) -> list[tuple[int, float]]:
    return sorted((point.step, point.value) for point in client.get_metric_history(run_id, name))


def test_a_run_has_the_values_of_earlier_sessions_each_once(client: MlflowClient) -> None:
    with mlflow.start_run(), training_run("resumed", {}) as run_id:
        report = RunReport(run_id)
        for line in HISTORY[2:]:
            report(int(line["step"]), {name: value for name, value in line.items() if name != "step"})
        report.complete(HISTORY)
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
