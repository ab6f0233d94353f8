"""MLflow from nodes: one nested run for each training run with its metrics and model, and the file that names it."""

from __future__ import annotations

import json
import logging
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from ease.encoders.model_card import ModelCardData, with_test_scores
from ease.encoders.options import EncoderOptions
from ease.encoders.saved import RUN_FILE
from ease.evaluation.scores import AVERAGE, Score
from ease.evaluation.scoring import KEPT_STEP, has_only_languages
from ease.evaluation.sets import LocatedSets
from ease.io.atomic import write_text_atomically
from ease.io.files import read_json
from ease.io.locks import writing
from ease.lazy import DataFrame, Figure, mlflow
from ease.names import safe_name
from ease.options import StrictModel, dotted
from ease.training.options import TrainingResult
from ease.training.processes import step_and_values

if TYPE_CHECKING:
    from mlflow.entities import Run

logger = logging.getLogger(__name__)

NOTE_TAG = "mlflow.note.content"
"""MLflow's tag of a run's description"""

TRAINING_TAG = "training"
"""Nodes with this tag open a nested run for each training run."""

HOST = "ease.host"
PID = "ease.pid"
"""MLflow tags of the process that writes a run."""

PAUSE = 300
"""Seconds without values for MLflow after its store has failed"""

DIGEST_LENGTH = 36
"""Maximum length of a data set's digest in MLflow"""

COMPARE = "Next: tick another training run in the list, then **Compare**."
"""End of a training run's description."""
SCORED = "\n\nTest scores: "

WITHOUT_METRICS = -1
"""Step of logged models: MLflow adds all metrics of this step to the model, without their data sets"""

BELOW_START = "below_start"
"""MLflow tag of a training run that made its encoder worse."""


@contextmanager
def nested_run(
    name: str, parameters: Mapping[str, Any] | None = None, *, log_system_metrics: bool = False
) -> Iterator[str]:
    """Open a nested run with its parameters; yield the run's id."""
    # By the tags, a later run closes this one if its process was killed.
    with mlflow.start_run(
        run_name=name, nested=True, log_system_metrics=log_system_metrics, tags=process_tags()
    ) as run:
        mlflow.log_params(dict(parameters or {}))
        yield run.info.run_id


training_run = partial(nested_run, log_system_metrics=True)


def process_tags() -> dict[str, str]:
    """Return the tags by which `close_killed_runs` finds the process of a run."""
    return {HOST: platform.node(), PID: str(os.getpid())}


def close_killed_runs(active: Run) -> None:
    """Give the status KILLED to runs of the experiment that are open and whose process on this machine has ended."""
    import psutil  # slow to import

    client = mlflow.MlflowClient()
    open_here = f"attributes.status = 'RUNNING' and tags.`{HOST}` = '{platform.node()}'"
    for run in client.search_runs([active.info.experiment_id], open_here):
        pid = int(run.data.tags[PID])
        # This process has just opened its first run: another run with its id is of an earlier process.
        ended = pid == os.getpid() or not psutil.pid_exists(pid)
        if run.info.run_id != active.info.run_id and ended:
            client.set_terminated(run.info.run_id, "KILLED")
            logger.info("MLflow's run %s was killed: it is closed", run.info.run_name)


class TrackingOptions(StrictModel):
    """What MLflow stores of a trained model."""

    log_model: bool = Field(True, description="log a copy of each trained model with its card")
    register_model: bool = Field(
        False, description="register the model as the newest version of SETTING.METHOD; needs `log_model`"
    )


def log_model(folder: Path, name: str, options: TrackingOptions) -> None:
    """Log a saved encoder and its card to the active run, and register it by a name, as the options say."""
    card = folder / "README.md"
    if card.is_file():
        log_text(card.read_text(encoding="utf-8"), "model_card.md")
    if not options.log_model:
        return
    import mlflow.sentence_transformers as flavour

    from ease.encoders.check import no_progress_bars
    from ease.encoders.encoder import load_encoder

    libraries = ("sentence-transformers", "torch")
    registered_name = None
    if options.register_model:
        registered_name = name
    encoder = load_encoder(str(folder))
    with no_progress_bars(), optional_artifact(f"the model {name}"):
        flavour.log_model(
            encoder,
            # MLflow refuses dots here.
            name=name.replace(".", "-"),
            registered_model_name=registered_name,
            step=WITHOUT_METRICS,
            pip_requirements=[f"{library}=={metadata.version(library)}" for library in libraries],
        )


def set_alias(encoder: Path, name: str, alias: str) -> str | None:
    """Give an encoder's version of the registered model `name` an alias; register the version if need be.

    Returns:
        The address of the version; None, with a warning, if the store has no logged model of the encoder.
    """
    client = mlflow.MlflowClient()
    run_id = _run_of(encoder)
    model_id = None
    if run_id is not None:
        model_id = _logged_model_of(run_id)
    if model_id is None:
        logger.warning("MLflow has no logged model of %s, so it gets no alias: train with `log_model`", encoder)
        return None
    versions = client.search_model_versions(f"name = '{name}' and run_id = '{run_id}'")
    if not versions:
        # `mlflow.register_model` would print three lines, one of them a warning of what MLflow 3 always does.
        if not client.search_registered_models(f"name = '{name}'"):
            client.create_registered_model(name)
        versions = [client.create_model_version(name, f"models:/{model_id}", run_id, model_id=model_id)]
    logger.info(
        "MLflow's registry has %s as version %s of %s, with the alias %s", encoder, versions[0].version, name, alias
    )
    client.set_registered_model_alias(name, alias, versions[0].version)
    return f"models:/{name}@{alias}"


class RunReport:
    """Logs the values that a training run reports to its run; an error of the tracking store does not stop training.

    After an error, which a locked database gives after 20 seconds, the store is left alone for a while.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._logged: set[tuple[int, frozenset[str]]] = set()
        self._next_attempt = 0.0

    def __call__(self, step: int, values: dict[str, float]) -> None:
        """Log several values at one step in one request."""
        if time.monotonic() < self._next_attempt:
            return
        try:
            log_values(self._run_id, [(step, values)])
            self._logged.add((step, frozenset(values)))
        except mlflow.MlflowException as error:
            self._next_attempt = time.monotonic() + PAUSE
            reason = str(error).splitlines()[0]
            logger.warning("MLflow did not store step %d (%s): it is logged again at the end", step, reason)

    def complete(self, history: Sequence[Mapping[str, float]]) -> None:
        """Log the values of a history that this run has not logged yet: of earlier sessions, and after errors."""
        lines = map(step_and_values, history)
        missing = [line for line in lines if (line[0], frozenset(line[1])) not in self._logged]
        log_values(self._run_id, missing)


def log_values(run_id: str, lines: Sequence[tuple[int, Mapping[str, float]]]) -> None:
    """Log values by name at their steps, in as few requests as MLflow allows."""
    milliseconds = round(1000 * time.time())
    metrics = [
        mlflow.entities.Metric(name, value, milliseconds, step)
        for step, values in lines
        for name, value in values.items()
    ]
    mlflow.MlflowClient().log_batch(run_id, metrics)


def link_metrics(run_id: str, data: Mapping[str, tuple[str, str]]) -> None:
    """Add metrics of a training run to the model that it has logged, with the data sets that they were computed on.

    Args:
        run_id: A run that `note_result` has described.
        data: Name and digest of the data set of each metric. The model gets the metric's last value up to its own step.
    """
    model_id = _logged_model_of(run_id)
    if model_id is None:
        return
    client = mlflow.MlflowClient()
    kept_step = int(client.get_run(run_id).data.tags[KEPT_STEP])
    metrics = []
    for name, (dataset, digest) in data.items():
        points = [point for point in client.get_metric_history(run_id, name) if point.step <= kept_step]
        if not points:
            continue
        last = max(points, key=lambda point: point.step)
        links = {"model_id": model_id, "dataset_name": dataset, "dataset_digest": digest[:DIGEST_LENGTH]}
        # At the same time, it is no second point of the run's curve.
        metrics.append(mlflow.entities.Metric(name, last.value, last.timestamp, last.step, **links))
    client.log_batch(run_id, metrics)


def note_result(run_id: str, data: ModelCardData, method: str, result: TrainingResult) -> None:
    """Log the kept model's gain over its starting encoder, with a tag if negative; describe the run and its result."""
    sources = ", ".join(source.name for source in data.sources)
    paragraphs = [f"`{method}`, {result.steps} steps, from {data.start or 'an encoder'}, on {sources}."]
    if result.best_score is not None and result.start_score is not None:
        gain = result.best_score - result.start_score
        log_values(run_id, [(result.best_step, {"development_gain": gain})])
        paragraphs.append(
            f"The kept model, of step {result.best_step}, scores {result.best_score:.2f} on the development tasks, "
            f"compared with {result.start_score:.2f} for the starting encoder."
        )
    client = mlflow.MlflowClient()
    client.set_tag(run_id, KEPT_STEP, result.best_step)
    if result.below_start:
        client.set_tag(run_id, BELOW_START, "true")
    client.set_tag(run_id, NOTE_TAG, "\n\n".join([*paragraphs, COMPARE]))


def add_scores(
    encoder: Path, scores: Sequence[Score], dimension: int | None = None, located: LocatedSets | None = None
) -> None:
    """Add scores to the run that trained an encoder and to its logged model, if the tracking store still has them."""
    if run_id := _run_of(encoder):
        log_scores(run_id, scores, dimension, located, _logged_model_of(run_id))


def add_to_card(
    encoder: Path, rows: Sequence[Mapping[str, Any]], languages: Sequence[str] = (), dev_tasks: Sequence[str] = ()
) -> None:
    """Add the headline of test scores to a kept encoder's card, and to the copy in the run that trained the encoder.

    An encoder without one of our cards, such as the starting encoder of all methods, gets none.
    """
    file = encoder / "README.md"
    scores = headline(rows, languages)
    if not scores or not file.is_file() or not (encoder / RUN_FILE).is_file():
        return
    # Another run may score the same encoder.
    with writing(encoder):
        card = with_test_scores(file.read_text(encoding="utf-8"), scores, dev_tasks)
        write_text_atomically(file, card)
    if run_id := _run_of(encoder):
        client = mlflow.MlflowClient()
        run = client.get_run(run_id)
        # The artifacts of a run from before the project was moved are in the project's former folder.
        if run.info.experiment_id == mlflow.active_run().info.experiment_id:
            with optional_artifact("model_card.md"):
                client.log_text(run_id, card, "model_card.md")
        # The encoder may have been scored before.
        note = run.data.tags.get(NOTE_TAG, "").partition(SCORED)[0].removesuffix(COMPARE)
        score_list = ", ".join(f"`{name}` {value:.1f}" for name, value in scores.items())
        load = f'`SentenceTransformer("{encoder}")` loads the model.'
        client.set_tag(run_id, NOTE_TAG, f"{note.strip()}{SCORED}{score_list}.\n\n{COMPARE} {load}")


def log_scores(
    run_id: str,
    scores: Sequence[Score],
    dimension: int | None = None,
    located: LocatedSets | None = None,
    model_id: str | None = None,
) -> None:
    """Log scores and their intervals: as `task/subset`, `task/subset/metric`, or `task/subset/16_dimensions`.

    MLflow's page of models compares the metrics of a logged model (`model_id`) by the data sets that they were computed
    on: the tasks, with the digests of their data, of which `located` has the versions.
    """
    milliseconds = round(1000 * time.time())
    metrics = []
    for score in scores:
        links = {"model_id": model_id}
        if located is not None:
            digest = located[score.task].version(score.subset)[:DIGEST_LENGTH]
            links |= {"dataset_name": score.task, "dataset_digest": digest}
        parts = [safe_name(score.task), safe_name(score.subset)]
        if not score.main:
            parts.append(score.metric)
        if dimension is not None:
            parts.append(f"{dimension}_dimensions")
        name = "/".join(parts)
        values = {name: score.value}
        if score.low is not None and score.high is not None:
            values |= {f"{name}/low": score.low, f"{name}/high": score.high}
        metrics += [mlflow.entities.Metric(key, value, milliseconds, 0, **links) for key, value in values.items()]
    mlflow.MlflowClient().log_batch(run_id, metrics)


@contextmanager
def optional_artifact(name: str) -> Iterator[None]:
    """Turn an error of the block into a warning: a full or read-only disk of artifacts fails no finished step."""
    try:
        yield
    # The libraries of artifact stores raise many types.
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        logger.warning("MLflow did not store %s (%s): the run continues without it", name, reason)


def log_plot(figure: Figure, name: str) -> None:
    """Log a plot to the active run as the picture `name`.svg, which MLflow shows (about 50 kB)."""
    from ease.reporting.plots import picture_svg

    with optional_artifact(f"{name}.svg"):
        mlflow.log_text(picture_svg(figure), f"{name}.svg")


def log_text(text: str, name: str) -> None:
    """Log a text to the active run as the file `name`."""
    with optional_artifact(name):
        mlflow.log_text(text, name)


def log_table(table: DataFrame, name: str) -> None:
    """Log a table to the active run as `name`.json, which MLflow shows as a table."""
    with optional_artifact(f"{name}.json"):
        mlflow.log_table(table, f"{name}.json")


def _run_of(encoder: Path) -> str | None:
    """Return the id of the run that trained an encoder; None if the tracking store has no such run."""
    run_id: str | None = (read_json(encoder / RUN_FILE) or {}).get("run_id")
    if run_id is None:
        return None
    client = mlflow.MlflowClient()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    # `get_run` would raise an error for a run of another store.
    if not client.search_runs(experiments, f"attributes.run_id = '{run_id}'", max_results=1):
        return None
    return run_id


def _logged_model_of(run_id: str) -> str | None:
    """Return the id of the model that a run has logged; None if it has logged none."""
    outputs = mlflow.MlflowClient().get_run(run_id).outputs
    if outputs is None or not outputs.model_outputs:
        return None
    model_id: str = outputs.model_outputs[0].model_id
    return model_id


def log_parameters(values: Mapping[str, Any]) -> None:
    """Log parameters to the active run; cut long values at MLflow's limit."""
    longest: int = mlflow.utils.validation.MAX_PARAM_VAL_LENGTH
    mlflow.log_params({name: str(values[name])[:longest] for name in sorted(values)})


def headline(rows: Sequence[Mapping[str, Any]], languages: Sequence[str] = ()) -> dict[str, float]:
    """Return each task's averages, or those of its subsets if it has none, by `task/subset`.

    Subsets of `languages` alone are also shown. Rows without a value and those of truncated embeddings are skipped.
    """
    with_value = [row for row in rows if row["value"] is not None and row.get("dimension") is None]
    main = [row for row in with_value if row["main"]]
    averaged_tasks = {row["task"] for row in main if row["subset"].startswith(AVERAGE)}
    headlines = [row for row in main if row["subset"].startswith(AVERAGE) or row["task"] not in averaged_tasks]
    if languages:
        headlines += [row for row in main if row not in headlines and has_only_languages(row["subset"], languages)]
    return {f"{safe_name(row['task'])}/{safe_name(row['subset'])}": row["value"] for row in headlines}


def flatten_options(options: BaseModel, prefix: str = "") -> dict[str, Any]:
    """Return the fields of an options model, nested ones too, by dotted names that MLflow accepts."""
    return dotted(_with_safe_keys(options.model_dump(mode="json")), prefix)


def _with_safe_keys(value: Any) -> Any:
    """Return a value whose mappings have names that MLflow accepts; users choose some, such as those of baselines."""
    if not isinstance(value, Mapping):
        return value
    return {safe_name(name): _with_safe_keys(inner) for name, inner in value.items()}


def write_origin(
    encoder: Path,
    run_id: str | None,
    start: EncoderOptions,
    dimensions: Sequence[int] = (),
    seconds: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Write the file of a model: its run, if any, what its training started from, and the training run's duration.

    `dimensions` are numbers of first dimensions to which its embeddings may be truncated. `parameters` are the
    training's, by dotted names: scores have them, so that compared models can be checked for other differences.
    """
    origin = {
        "run_id": run_id,
        "base": start.name,
        "pooling": start.pooling,
        "seed": start.seed,
        "dimensions": list(dimensions),
        "seconds": seconds,
        "parameters": dict(parameters or {}),
    }
    write_text_atomically(encoder / RUN_FILE, json.dumps(origin))


def withhold(encoder: Path) -> None:
    """Note in the file of a model that `latest` is not to link to it."""
    origin = {**(read_json(encoder / RUN_FILE) or {}), "withheld": True}
    write_text_atomically(encoder / RUN_FILE, json.dumps(origin))


def origin_of(encoder: Path) -> dict[str, Any]:
    """Return what is known of an encoder's training run and start: the keys of `write_origin`."""
    origin = read_json(encoder / RUN_FILE) or {}
    names = ("run_id", "base", "pooling", "seed", "dimensions", "seconds", "parameters")
    return {name: origin[name] for name in names if name in origin}
