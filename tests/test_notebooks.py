"""The notebook runs against a tracking store with real runs, and is kept without outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlflow
import nbformat
import pytest
from mlflow import MlflowClient
from mlflow.tracking import fluent
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from ease.pipelines.mlflow_runs import log_values, reporter, score_name, training_run
from ease.tasks import Score

Execute = Callable[..., nbformat.NotebookNode]

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "compare_runs.ipynb"


def train(method: str, parameters: dict[str, Any], level: float) -> None:
    """Leave what one training leaves: parameters, curves, and scores added afterwards."""
    with training_run(f"multilingual.{method}", {"training.batch_size": 128, **parameters}) as run_id:
        report = reporter(run_id)
        for step in (0, 50, 100):
            report(step, {"loss": 5 - step / 50, "learning_rate": 1e-3 * (1 - step / 100)})
            report(step, {"development": level + step / 10})
    parallel = [Score("sample_parallel", f"{language}-en", "", level) for language in ("it", "ja")]
    scores = [
        *parallel,
        Score("sample_parallel", "average", "", level),
        Score("sample_graded", "en", "", 60.0),
    ]
    log_values(mlflow.get_tracking_uri(), run_id, 0, {score_name(score): score.value for score in scores})


@pytest.fixture(scope="module")
def tracking_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with one run of the pipeline, and in it an older SimCSE, a SimCSE and an EASE training."""
    folder = tmp_path_factory.mktemp("tracking")
    uri, before = f"sqlite:///{folder}/mlflow.db", mlflow.get_tracking_uri()
    with pytest.MonkeyPatch.context() as patch:
        # MLflow keeps the current experiment in the process and its environment: other tests get theirs back.
        patch.setattr(fluent, "_active_experiment_id", None)
        patch.setenv("MLFLOW_EXPERIMENT_ID", "")
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        mlflow.set_tracking_uri(uri)
        mlflow.create_experiment("ease", artifact_location=str(folder / "artifacts"))
        mlflow.set_experiment("ease")
        with mlflow.start_run(run_name="train_multilingual"):
            train("simcse", {"training.learning_rate": 3e-4}, 11.0)
            train("simcse", {"training.learning_rate": 1e-3}, 24.0)
            train("ease", {"training.learning_rate": 1e-3, "method.entity_weight": 1.0}, 72.0)
        yield uri
        mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def execute(tracking_uri: str) -> Iterator[Execute]:
    """Run all cells as a reader would, from the notebook's own folder, in one kernel."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(NOTEBOOK.parent)}}
    client = NotebookClient(notebook, timeout=120, resources=resources)
    chosen = next(cell for cell in notebook.cells if cell.source.startswith("RUNS = "))

    def run(runs: list[str] | None = None) -> nbformat.NotebookNode:
        chosen.source = f"RUNS = {runs}" if runs else chosen.source
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        return notebook

    with client.setup_kernel():
        yield run


def shown(notebook: nbformat.NotebookNode, kind: str) -> list[Any]:
    """All outputs of a kind."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def test_the_latest_runs_of_two_methods_are_compared(execute: Execute) -> None:
    notebook = execute()
    text = "\n".join(shown(notebook, "text/plain"))
    assert "method.entity_weight" in text
    assert "training.batch_size" not in text, "equal parameters are left out"
    assert "training.learning_rate" not in text, "the older SimCSE is not the latest"
    average = next(line for line in text.splitlines() if "average" in line)
    assert average.split()[-3:] == ["24.0", "72.0", "48.0"]
    curves, scores = shown(notebook, "application/vnd.plotly.v1+json")
    assert {trace["name"] for trace in curves["data"] if "name" in trace} == {"SimCSE", "EASE"}
    assert [sorted(trace["x"]) for trace in scores["data"] if not trace["showlegend"]] == [["it", "ja"]] * 2


def test_two_runs_of_one_method_are_told_apart(execute: Execute, tracking_uri: str) -> None:
    client = MlflowClient(tracking_uri)
    experiment = client.get_experiment_by_name("ease")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], "attributes.run_name = 'multilingual.simcse'")
    assert len(runs) == 2
    notebook = execute([run.info.run_id for run in runs])
    text = "\n".join(shown(notebook, "text/plain"))
    assert "training.learning_rate" in text
    assert all(f"multilingual.simcse {run.info.run_id[:6]}" in text for run in runs)


def test_a_run_that_is_not_there_is_named(execute: Execute) -> None:
    with pytest.raises(
        CellExecutionError, match=r"No run with scores is called 'multilingual.none'.*kedro run"
    ):
        execute(["multilingual.none", "multilingual.ease"])


def test_notebooks_are_kept_without_outputs() -> None:
    for path in NOTEBOOK.parent.glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells), path.name
