"""The notebook compares runs of real trainings and is stored without outputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.project import Project

pytestmark = pytest.mark.slow

Execute = Callable[..., nbformat.NotebookNode]

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "compare_runs.ipynb"
LATER = {"multilingual__simcse__training__learning_rate": 3e-4, "multilingual__simcse__training__seed": 7}
"""Parameters of a second training of SimCSE, which runs after that of EASE."""


@pytest.fixture(scope="module")
def tracked(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose MLflow store has one scored training of EASE and two of SimCSE."""
    copy = project.copy(tmp_path_factory.mktemp("tracked") / "copy")
    copy.run("train,evaluate", "--namespaces=multilingual.simcse", **LATER)
    return copy


@pytest.fixture(scope="module")
def runs(tracked: Project) -> dict[str, list[Run]]:
    """The trainings of each method, latest first."""
    client = MlflowClient(tracked.store)
    return {
        method: client.search_runs(
            ["1"], f"run_name LIKE 'multilingual.{method}, %'", order_by=["start_time DESC"]
        )
        for method in ("ease", "simcse")
    }


@pytest.fixture(scope="module")
def execute(tracked: Project) -> Iterator[Execute]:
    """Return a function that runs all cells in one kernel, from the notebook's folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(NOTEBOOK.parent)}}
    client = NotebookClient(notebook, timeout=120, resources=resources)
    chosen = next(cell for cell in notebook.cells if cell.source.startswith("RUNS = "))

    def run(runs: list[str] | None = None) -> nbformat.NotebookNode:
        chosen.source = f"RUNS = {runs}" if runs else chosen.source
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        return notebook

    with client.setup_kernel(env={**os.environ, "MLFLOW_TRACKING_URI": tracked.store}):
        yield run


def shown(notebook: nbformat.NotebookNode, kind: str) -> list[Any]:
    """Return all outputs of a MIME type."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def average(run: Run) -> float:
    """Return the main score of a training."""
    score: float = run.data.metrics["sample_parallel/average"]
    return score


def test_the_latest_runs_of_two_methods_are_compared(execute: Execute, runs: dict[str, list[Run]]) -> None:
    simcse, ease = runs["simcse"][0], runs["ease"][0]
    notebook = execute()
    text = "\n".join(shown(notebook, "text/plain"))
    assert "options.entity_weight" in text
    assert "training.batch_size" not in text, "equal parameters are shown"
    # pandas prints a wide table in parts.
    parts = [line.split()[1:] for line in text.splitlines() if "training.learning_rate" in line]
    assert [rate for part in parts for rate in part] == ["0.0003", ease.data.params["training.learning_rate"]]
    row = next(line for line in text.splitlines() if "average" in line)
    scores = [average(simcse), average(ease), average(ease) - average(simcse)]
    assert [float(cell) for cell in row.split()[-3:]] == pytest.approx(scores, abs=0.051)
    curves, bars = shown(notebook, "application/vnd.plotly.v1+json")
    assert {trace["name"] for trace in curves["data"] if "name" in trace} == {"SimCSE", "EASE"}
    languages = [set(trace["y"]) for trace in bars["data"] if "de" in trace["y"]]
    assert {len(each) for each in languages} == {17}
    assert {"de", "ja"} < languages[0]


def test_two_runs_of_one_method_have_distinct_labels(execute: Execute, runs: dict[str, list[Run]]) -> None:
    identifiers = [run.info.run_id for run in runs["simcse"]]
    assert len(identifiers) == 2
    text = "\n".join(shown(execute(identifiers), "text/plain"))
    assert "training.learning_rate" in text
    assert all(f"multilingual.simcse {identifier[:6]}" in text for identifier in identifiers)


def test_missing_run_is_an_error_that_names_it(execute: Execute) -> None:
    with pytest.raises(
        CellExecutionError, match=r"has no run with scores named 'multilingual.none'.*kedro run"
    ):
        execute(["multilingual.none", "multilingual.ease"])


def test_notebooks_have_no_outputs() -> None:
    paths = list(NOTEBOOK.parent.glob("*.ipynb"))
    assert paths
    for path in paths:
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells), path.name
