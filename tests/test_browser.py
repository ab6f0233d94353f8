"""Kedro-Viz and MLflow open in a real browser and show what a user comes for."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--window-size=1600,1200"),
)
ATTEMPTS = 3
PATIENCE = 180
"""Seconds that a server may take to start on a busy machine."""


@pytest.fixture(scope="module")
def chromium() -> str:
    """The browser's command."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("Chromium is not installed: scripts/system_packages.sh browser")


def free_port() -> int:
    """A port below those that the system hands out by itself: Kedro-Viz takes some of these for used."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as opened, contextlib.suppress(OSError):
            opened.bind(("127.0.0.1", port))
            return port
    pytest.fail("no port is free")


@contextmanager
def served(command: list[str], folder: Path, port: int) -> Iterator[str]:
    """A server of a page, until the block ends; Kedro-Viz gives up on a busy machine and is started again."""
    address = f"http://127.0.0.1:{port}"
    for _ in range(ATTEMPTS):
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server:
            if answers(address, server):
                try:
                    yield address
                finally:
                    server.terminate()
                return
            server.terminate()
    pytest.fail(f"{address} did not answer in {ATTEMPTS} attempts")


def answers(address: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until a server answers, or has ended."""
    for _ in range(PATIENCE):
        try:
            urllib.request.urlopen(address, timeout=10).close()
            return True
        except (urllib.error.URLError, TimeoutError):
            if server.poll() is not None:
                return False
            time.sleep(1)
    return False


def page(chromium: str, address: str, profile: Path) -> str:
    """The page as a browser holds it after its scripts have run."""
    options = [f"--user-data-dir={profile}", "--virtual-time-budget=30000", "--dump-dom"]
    done = subprocess.run(
        [chromium, *FLAGS, *options, address], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return done.stdout


def fetch(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return json.load(answer)


def test_kedro_viz_shows_layers_previews_and_plots(project: Project, chromium: str, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "kedro", "viz", "run", "--no-browser", "--port", str(port)]
    with served(command, project.folder, port) as address:
        shown = page(chromium, f"{address}/?pid=train_multilingual&expandAllPipelines=true", tmp_path)
        graph = fetch(f"{address}/api/pipelines/train_multilingual")
        identifiers = {node["name"]: node["id"] for node in graph["nodes"]}
        table = fetch(f"{address}/api/nodes/{identifiers['multilingual.comparison']}")
        plot = fetch(f"{address}/api/nodes/{identifiers['multilingual.comparison_plot']}")
    assert "mine_hard_negatives" in shown
    assert "multilingual.training_pairs" in shown
    assert graph["layers"] == [
        *("raw", "intermediate", "primary", "model_input", "models", "model_output", "reporting")
    ]
    assert "untrained" in table["preview"]["columns"]
    assert plot["preview"]["data"]


def test_mlflow_lists_both_methods_side_by_side(project: Project, chromium: str, tmp_path: Path) -> None:
    port = free_port()
    store = f"sqlite:///{project.folder}/data/08_reporting/mlflow.db"
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", store, "--port", str(port)]
    with served(command, project.folder, port) as address:
        shown = page(chromium, f"{address}/#/experiments/1/runs", tmp_path)
    assert "train_multilingual" in shown
    assert "ease" in shown
