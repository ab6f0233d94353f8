"""One nested MLflow run a training: opened here, reported to while it trains, reopened to add scores."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from mlflow.utils.time import get_current_time_millis
from pydantic import BaseModel

from ease.encoder_options import EncoderOptions
from ease.names import safe_name
from ease.nested import dotted
from ease.tasks import Score, get_task
from ease.training.options import TrainingResult

logger = logging.getLogger(__name__)

TRAINING_TAG = "training"
"""Nodes with this tag open a nested run for each training."""

BELOW_START = "below_start"
"""Tags the run of a training that made its encoder worse."""

RUN_FILE = "training/mlflow_run.json"
"""Where a trained encoder's folder names the run that trained it."""

METRICS_A_REQUEST = 1000
"""MLflow's own limit."""


@contextmanager
def training_run(name: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Open a nested run for one training, with its parameters and the machine's load; yields the run's id."""
    with mlflow.start_run(run_name=name, nested=True, log_system_metrics=True) as run:
        mlflow.log_params(dict(parameters))
        yield run.info.run_id


class RunReport:
    """Logs the values that a training reports to its run; a fault of the tracking store does not stop the training."""

    def __init__(self, run_id: str) -> None:
        """Report to a run."""
        self._run_id = run_id
        self._logged: set[tuple[int, frozenset[str]]] = set()

    def __call__(self, step: int, values: dict[str, float]) -> None:
        """Log several values at one step in one request."""
        try:
            log_values(self._run_id, [(step, values)])
            self._logged.add((step, frozenset(values)))
        except MlflowException as error:
            logger.warning("MLflow took no values of step %d (%s): they follow at the end", step, error)

    def complete(self, history: Sequence[Mapping[str, float]]) -> None:
        """Log what a history has beyond the values reported here: those of earlier sittings, and of faults."""
        lines = [
            (int(line["step"]), {name: value for name, value in line.items() if name != "step"})
            for line in history
        ]
        log_values(
            self._run_id, [line for line in lines if (line[0], frozenset(line[1])) not in self._logged]
        )


def log_values(run_id: str, lines: Sequence[tuple[int, Mapping[str, float]]]) -> None:
    """Log values by name at their steps, in as few requests as the tracking store takes."""
    now = get_current_time_millis()
    metrics = [Metric(name, value, now, step) for step, values in lines for name, value in values.items()]
    for start in range(0, len(metrics), METRICS_A_REQUEST):
        MlflowClient().log_batch(run_id, metrics=metrics[start : start + METRICS_A_REQUEST])


def note_gain(run_id: str, result: TrainingResult) -> None:
    """Log how far the kept model is above its start on the development tasks; one below it is tagged so."""
    if result.best_score is None or result.start_score is None:
        return
    log_values(run_id, [(result.best_step, {"development_gain": result.best_score - result.start_score})])
    if result.below_start:
        MlflowClient().set_tag(run_id, BELOW_START, "true")
        MlflowClient().set_tag(
            run_id,
            MLFLOW_RUN_NOTE,
            f"The kept model scores {result.best_score:.2f} on the development tasks, below its start's "
            f"{result.start_score:.2f}.",
        )


def remember_run(encoder: Path, run_id: str | None, start: EncoderOptions) -> None:
    """Write beside the model the id of its run, if one trained it, and what it started from."""
    file = encoder / RUN_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    about = {"base": start.name, "pooling": start.pooling, "seed": start.seed}
    file.write_text(json.dumps({"run_id": run_id, **about}), encoding="utf-8")


def run_of(encoder: Path) -> str | None:
    """Return the id of the run that trained this encoder, or None for one that no run trained."""
    run_id: str | None = _remembered(encoder).get("run_id")
    return run_id


def start_of(encoder: Path) -> dict[str, Any]:
    """Return `base`, `pooling` and `seed` of the encoder that this one started from, as far as they are known."""
    return {name: value for name, value in _remembered(encoder).items() if name != "run_id"}


def _remembered(encoder: Path) -> dict[str, Any]:
    file = encoder / RUN_FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def add_scores(encoder: Path, scores: Sequence[Score]) -> None:
    """Add scores to the run that trained the encoder, if one did and the tracking store still has it."""
    run_id = run_of(encoder)
    client = MlflowClient()
    if run_id and client.search_runs(_experiments(client), f"attributes.run_id = '{run_id}'", max_results=1):
        log_scores(run_id, scores)


def log_scores(run_id: str, scores: Sequence[Score]) -> None:
    """Log scores to a run."""
    log_values(run_id, [(0, {score_name(score): score.value for score in scores})])


def score_name(score: Score) -> str:
    """Name a score as MLflow shows it: `task/subset`, and for a task's second figures `task/subset/metric`."""
    name = f"{score.task}/{safe_name(score.subset)}"
    return name if score.metric == get_task(score.task).METRIC else f"{name}/{score.metric}"


def _experiments(client: MlflowClient) -> list[str]:
    return [experiment.experiment_id for experiment in client.search_experiments()]


def flatten_options(options: BaseModel, prefix: str = "") -> dict[str, Any]:
    """Return the fields of an options model, nested ones too, by dotted names that MLflow accepts."""
    return dotted(_with_safe_keys(options.model_dump(mode="json")), prefix)


def _with_safe_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Users choose some keys, such as the names of baselines."""
    return {
        safe_name(name): _with_safe_keys(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }
