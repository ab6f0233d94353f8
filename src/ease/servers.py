"""Show the project in a browser: `python -m ease.servers mlflow` or `viz`, with `--port`, `--host` and `--env`.

The page of MLflow is the list of runs with their scores; that of Kedro-Viz, the stages of the main job.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

import click
import psutil

from ease.errors import EaseError

PORTS = {"mlflow": 5000, "viz": 4141}
LEAN_MLFLOW = {"MLFLOW_WORKERS": "1", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
"""One worker for one user. MLflow's own defaults start 15 processes, and end workers that do not answer within 5
seconds, as beside a training run. Values of the environment have priority."""
REPORT_SECONDS = 20
"""Interval between lines while a server does not answer"""
STAGES = "?types=nodes&pid=stages"
"""The nodes of the main job, one box a stage"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the server; print the address of the page, and open it on a desktop, once the server answers."""
    parser = argparse.ArgumentParser(prog="ease.servers", description=__doc__)
    parser.add_argument("server", choices=PORTS)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--env")
    options, server_arguments = parser.parse_known_args(arguments)
    port = options.port or PORTS[options.server]
    address = f"http://{options.host}:{port}/"
    # First of all: the imports of the server take seconds, beside a training run a minute.
    click.echo(f"Starting {options.server}, which will answer at {address}")
    if options.server == "viz":
        # A hook completes the parameters of `teach`, without which Kedro refuses all parameters.
        command = ["kedro", "viz", "run", "--no-browser", "--include-hooks"]
        if options.env:
            command += ["--env", options.env]
        page = STAGES
    else:
        # In a process that ends: MLflow's modules would fill a quarter of a gigabyte while the server runs.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            try:
                store, page = pool.submit(_find_mlflow, options.env).result()
            except EaseError as error:
                click.secho(f"Error: {error}", fg="red", err=True)
                return 1
        if store.startswith("http"):
            click.echo(f"The store is a server: {store} shows the page, and nothing is started here")
            _open(f"{store.rstrip('/')}/", page)
            return 0
        command = ["mlflow", "ui", "--backend-store-uri", store]
    command += ["--host", options.host, "--port", str(port), *server_arguments]
    with socket.socket() as probe:
        if probe.connect_ex((options.host, port)) == 0:
            click.echo(
                f"Port {port} is in use: choose another (`make {options.server} ARGS=--port={port + 1}`).", err=True
            )
            return 1
    Thread(target=_open, args=(address, page), daemon=True).start()
    # As on Ctrl-C, the children are ended below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process = subprocess.Popen([sys.executable, "-m", *command], env={**LEAN_MLFLOW, **os.environ})
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        for child in psutil.Process().children(recursive=True):
            child.terminate()  # else Kedro-Viz's own child would go on


def _find_mlflow(env: str | None) -> tuple[str, str]:
    """Return the address of the project's store, and the path of the list of runs on MLflow's page."""
    from ease.hooks.mlflow_store import find_experiment, read_project_store

    project = Path.cwd()
    options = read_project_store(project, env)
    experiment = find_experiment(options, project)
    if experiment is None:  # before the first run
        return options.tracking_uri, ""
    # Without the type, MLflow opens an experiment by its traces.
    return options.tracking_uri, f"#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning"


def _open(server: str, page: str) -> None:
    """Wait until the server answers; print the address, and open the page if there is a desktop."""
    start = time.monotonic()
    last_line = start
    while True:
        with suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(server, timeout=5).close()
            break
        now = time.monotonic()
        if now - last_line >= REPORT_SECONDS:
            click.echo(f"{server} has not answered for {now - start:.0f} seconds: waiting")
            last_line = now
        time.sleep(1)
    click.echo(f"Open {server}{page} (Ctrl-C stops the server)")
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(f"{server}{page}")


if __name__ == "__main__":
    sys.exit(main())
