"""One nested MLflow run a training: opened here, reported to while it trains, reopened to add scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
from mlflow.utils.time import get_current_time_millis
from pydantic import BaseModel

from ease.tasks import Score

TRAINING_TAG = "training"
"""Nodes with this tag open a nested run and return the encoder that it trained."""

RUN_FILE = "training/mlflow_run.json"
"""Where a trained encoder's folder names the run that trained it."""

Report = Callable[[int, dict[str, float]], None]


@contextmanager
def training_run(name: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Open a nested run for one training and log its parameters; yields the run's id."""
    with mlflow.start_run(run_name=name, nested=True) as run:
        mlflow.log_params(dict(parameters))
        yield run.info.run_id


def reporter(run_id: str) -> Report:
    """Return a function that logs values at a step to the run; it may be sent to another process."""
    return partial(log_values, mlflow.get_tracking_uri(), run_id)


def log_values(tracking_uri: str, run_id: str, step: int, values: dict[str, float]) -> None:
    """Log several values at one step in one request."""
    now = get_current_time_millis()
    metrics = [Metric(name, value, now, step) for name, value in values.items()]
    MlflowClient(tracking_uri).log_batch(run_id, metrics=metrics)


def remember_run(encoder: Path, run_id: str) -> None:
    """Write the run's id beside the model."""
    file = encoder / RUN_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"run_id": run_id}), encoding="utf-8")


def run_of(encoder: Path) -> str | None:
    """Return the id of the run that trained this encoder, or None for one that no run trained."""
    file = encoder / RUN_FILE
    return json.loads(file.read_text(encoding="utf-8"))["run_id"] if file.is_file() else None


def add_scores(encoder: Path, scores: Sequence[Score]) -> None:
    """Add scores to the run that trained the encoder, if one did and the tracking store still has it."""
    run_id = run_of(encoder)
    client = MlflowClient()
    if run_id and client.search_runs(_experiments(client), f"attributes.run_id = '{run_id}'", max_results=1):
        log_values(mlflow.get_tracking_uri(), run_id, 0, {score_name(score): score.value for score in scores})


def score_name(score: Score) -> str:
    """Name a score as MLflow shows it."""
    return f"scores/{score.task}/{score.subset}"


def _experiments(client: MlflowClient) -> list[str]:
    return [experiment.experiment_id for experiment in client.search_experiments()]


def flatten_options(options: BaseModel, prefix: str = "") -> dict[str, Any]:
    """Return the fields of an options model, nested ones too, by dotted names."""
    return dict(_flatten(options.model_dump(mode="json"), prefix))


def _flatten(value: Any, prefix: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(prefix, value)]
    return [pair for key, inner in value.items() for pair in _flatten(inner, f"{prefix}.{key}".lstrip("."))]
