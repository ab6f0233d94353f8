"""Kedro-Viz and MLflow show pipelines, runs and plots in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from ease.reporting.own import RUN_PAGES
from ease.servers import STAGES
from tests.browser import Browser
from tests.contexts import all_pipelines
from tests.project import Project

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.slow]

ATTEMPTS = 3
PATIENCE = 180
"""Timeout in seconds for the start of a server on a busy machine."""

LAYERS = ["raw", "intermediate", "primary", "model_input", "models", "model_output", "reporting"]


def free_port() -> int:
    """Return a free port below the ephemeral range: Kedro-Viz considers some ephemeral ports used."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as opened, contextlib.suppress(OSError):
            opened.bind(("127.0.0.1", port))
            return port
    pytest.fail("no port is free")


@contextmanager
def served(folder: Path, log: Path, *command: str) -> Iterator[str]:
    """Yield the address of a running server; restart it if it ends early, as Kedro-Viz does on a busy machine."""
    for _ in range(ATTEMPTS):
        port = free_port()
        with log.open("a") as output:
            server = subprocess.Popen(
                [sys.executable, "-m", *command, "--port", str(port)],
                cwd=folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            if answers(f"http://127.0.0.1:{port}", server):
                yield f"http://127.0.0.1:{port}"
                return
        finally:
            # Kill the process group: a child process of Kedro-Viz would survive it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    pytest.fail(f"{' '.join(command)} did not answer in {ATTEMPTS} attempts:\n{log.read_text()}")


def printed_address(log: Path) -> str:
    """Return the address that a server prints once it answers."""
    deadline = time.monotonic() + PATIENCE
    while "Open " not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    return log.read_text().partition("Open ")[2].split()[0]


def answers(address: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait for a server; return whether it answers."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, TimeoutError, ConnectionError):
            urllib.request.urlopen(address, timeout=10).close()
            return True
        time.sleep(1)
    return False


@pytest.fixture(scope="module")
def viz(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of Kedro-Viz running on the small project."""
    log = tmp_path_factory.mktemp("viz") / "log"
    with served(project.folder, log, "ease.servers", "viz") as address:
        yield address


def answer_of(address: str) -> Any:
    """Return the JSON at an address."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        return json.load(answer)


def identifiers(viz: str) -> dict[str, str]:
    """Return the IDs of the default pipeline's nodes and datasets by name."""
    return {node["name"]: node["id"] for node in answer_of(f"{viz}/api/main")["nodes"]}


def test_kedro_viz_opens_with_a_box_for_each_stage_and_a_click_opens_one(viz: str, page: Browser) -> None:
    page.open(f"{viz}/{STAGES}")
    page.wait_for("hard_negatives")
    boxes = page.texts(".pipeline-node--modularPipeline")
    data = {"acquire", "ingest", "entity_pairs", "hard_negatives", "entity_embeddings", "acquire_evaluation"}
    assert set(boxes) == {*data, "untrained", "simcse", "ease", "ease_plus", "report"}
    assert page.texts(".pipeline-node") == boxes, "no dataset makes the boxes small"
    found = "[...document.querySelectorAll('.pipeline-node--modularPipeline')].find(box => box.textContent == 'ingest')"
    page.evaluate(f"{found}.dispatchEvent(new MouseEvent('click', {{bubbles: true}})) && null")
    page.wait_until(
        "[...document.querySelectorAll('.pipeline-node')].some(node => node.textContent == 'parse_wikipedia')"
    )
    page.wait_until(f"!{found}")  # it fades out
    assert set(page.texts(".pipeline-node--modularPipeline")) == set(boxes) - {"ingest"}


def test_kedro_viz_shows_layers_nodes_and_previews(project: Project, viz: str, page: Browser) -> None:
    pipeline, names = all_pipelines()["train_multilingual"], identifiers(viz)
    # Kedro-Viz remembers the filter of the page before, unless the address has one.
    shown = f"{viz}/?types=nodes,datasets&pid=train_multilingual&expandAllPipelines=true"
    page.open(shown)
    page.wait_for("Datasets", *LAYERS)
    assert page.texts(".pipeline-layer-name") == LAYERS
    nodes = [node.name.rpartition(".")[2] for node in pipeline.nodes]
    datasets = [name for name in pipeline.datasets() if not name.startswith("params:")]
    assert sorted(page.texts(".pipeline-node")) == sorted([*nodes, *datasets])

    page.open(f"{shown}&sid={names['multilingual.comparison']}")
    page.wait_for("Expand preview")
    table = pd.read_parquet(project.latest("08_reporting/multilingual/comparison.parquet"))
    assert page.texts(".pipeline-metadata th") == list(table.columns)
    header, *rows = page.texts(".pipeline-metadata tr")
    assert header == "".join(table.columns)
    assert len(rows) >= 10, "the first rows"
    assert all(row.startswith(task) for row, task in zip(rows, table["task"].head(len(rows)), strict=True))

    page.open(f"{shown}&sid={names['multilingual.comparison_plot']}")
    page.wait_for("Scores by method", "sample_parallel")
    assert page.texts(".pipeline-metadata .js-plotly-plot, .pipeline-metadata .plotly")


def test_mlflow_opens_with_the_runs_and_compares_two_side_by_side(
    project: Project, page: Browser, tmp_path: Path
) -> None:
    client = MlflowClient(project.store)
    experiment = client.get_experiment_by_name("ease")
    assert experiment is not None
    found = client.search_runs([experiment.experiment_id])
    runs = {run.info.run_name.partition(",")[0]: run for run in found}
    compared = [runs["multilingual.ease"], runs["multilingual.simcse"]]
    query = {
        "runs": json.dumps([run.info.run_id for run in compared]),
        "experiments": json.dumps([experiment.experiment_id]),
    }
    log = tmp_path / "log"
    with served(project.folder, log, "ease.servers", "mlflow", "--workers", "1") as address:
        page.open(printed_address(log))
        listed = page.wait_for("train_multilingual, en ja ar de", "Columns")
        assert "multilingual.training_pairs" in listed, "the data that tell runs apart are the first ones"
        page.evaluate("document.querySelector('[role=gridcell][col-id*=\"Run Name\"] button').click()")
        page.wait_for("multilingual.ease", "multilingual.simcse")
        page.evaluate("[...document.querySelectorAll('button')].find(one => one.innerText === 'Columns').click()")
        page.wait_for("sample_parallel/average", "sample_graded/en")
        page.open(f"{address}/#/compare-runs?{urllib.parse.urlencode(query)}")
        page.wait_for("Comparing 2 Runs from 1 Experiment", "multilingual.ease", "multilingual.simcse")
        shown = rows_of(page.wait_for("training.learning_rate"))
        page.evaluate("document.querySelectorAll('[role=switch]').forEach(found => found.click())")
        time.sleep(1)
        differing = rows_of(page.text())
        # The report and the comparison page link to each run by its id alone.
        run = compared[0].info
        page.open(f"{address}/#/{RUN_PAGES.partition('#/')[2]}{run.run_id}")
        page.wait_for(run.run_name, run.run_id)
    assert shown["Run ID:"] == [run.info.run_id for run in compared]
    for name in ("method", "training.learning_rate", "training.batch_size"):
        assert shown[name] == [run.data.params[name] for run in compared]
    assert shown["training.batch_size"] == ["16", "16"]
    assert "training.batch_size" not in differing
    assert differing["method"] == ["ease", "simcse"]
    assert differing["options.entity_weight"] == ["1.0", ""]


def test_comparison_page_renders_without_network(project: Project, page: Browser) -> None:
    page.requests_elsewhere()  # forgets those of the pages of Kedro-Viz and MLflow
    page.open((project.folder / "data/08_reporting/multilingual/latest_comparison.html").as_uri())
    page.wait_until("document.querySelectorAll('svg.main-svg .trace').length")
    page.wait_for("Methods compared", "sample_parallel", "SimCSE")
    assert page.texts(".marked thead th") == ["Subset", "Untrained", "SimCSE", "EASE", "EASE+"]
    assert len(page.texts(".marked tbody tr:not(.group)")) == 37, "two metrics of one task, and one of another"
    assert len(page.texts("tr.average")) == 2
    assert len(page.texts("td strong")) >= 19, "the best of each row"
    links = page.evaluate(f"document.querySelectorAll('td a[href^={json.dumps(RUN_PAGES)}]').length")
    assert links == 3, "the run of each training"
    assert page.requests_elsewhere() == []
    narrow = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.call("Emulation.setDeviceMetricsOverride", **narrow)
    page.open("about:blank")
    page.open((project.folder / "data/08_reporting/multilingual/latest_comparison.html").as_uri())
    page.wait_until("document.querySelectorAll('svg.main-svg .trace').length")
    # The table of versions, whose names are long, scrolls.
    fixed = "document.querySelectorAll('.wide:not(:has(table:not(.marked)))')"
    fits = f"[...{fixed}].every(one => one.scrollWidth <= one.clientWidth)"
    assert page.evaluate(f"{fits} && document.documentElement.scrollWidth <= 390")
    page.call("Emulation.clearDeviceMetricsOverride")


def rows_of(text: str) -> dict[str, list[str]]:
    """Return the two values of each three-column row by the row's name."""
    rows = [row.split("\t") for row in text.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) == 3}
