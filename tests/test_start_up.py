"""The start of the command line imports no slow library, and a server that cannot start says why."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

import click
import psutil
import pytest

from ease.servers import main
from tests.contexts import all_pipelines
from tests.project import SAMPLE, make_project

TRAINING = {"torch", "transformers", "sentence_transformers", "sklearn"}
SLOW = TRAINING | {"scipy.stats", "ibis.expr", "duckdb", "IPython", "plotly.graph_objects"}
"""Modules that take half a second or more to import; `ibis.expr` shows that Ibis itself was imported."""
CATALOG = {"pandas", "ibis.expr", "plotly.graph_objects"}
"""What Kedro imports for its catalog, which the checks of files need."""
if find_spec("kedro_mlflow") is None:
    # Where this plugin is installed, Kedro imports it at every command, and with it MLflow and pandas.
    SLOW |= {"mlflow", "pandas"}

REFUSED = (
    "Unknown name 'nope' in --pipelines",
    "did you mean teach.language",
    "Parameter `teach.min_kept`: Input should be a valid number",
    "Encoder 'no/such/folder' does not load: ",
    "there is no field `temperatur`",
)

RUN_AND_LIST = """
import sys
from kedro.framework.cli.cli import main

for command in sys.argv[1:]:
    sys.argv[1:] = command.split()
    try:
        main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    print("\\nIMPORTED", *sys.modules, flush=True)
"""


@pytest.mark.slow
def test_commands_import_no_library_that_they_do_not_need(tmp_path: Path) -> None:
    commands = [
        "registry list",
        "registry describe teach",
        "parameters multilingual.pairs",
        "run --pipelines=nope",
        "run --pipelines=teach --params=teach.languag=eo",
        "run --pipelines=teach --params=teach.min_kept=most",
        f"run --pipelines=teach --params={SAMPLE},teach.encoder=no/such/folder,teach.setting.test_tasks=tatoeba",
        f"run --pipelines=acquire --params={SAMPLE},multilingual.setting.languages=en",
        f"run --pipelines=teach --params={SAMPLE},teach.ease_plus.options.temperatur=1",
    ]
    command = [sys.executable, "-c", RUN_AND_LIST, *commands]
    done = subprocess.run(command, cwd=make_project(tmp_path).folder, capture_output=True, text=True, check=False)
    listed, *after = done.stdout.split("\nIMPORTED ")
    assert set(all_pipelines()) <= set(re.findall(r"\w+", listed)), done.stderr
    *without_nodes, acquired, with_torch = (set(modules.splitlines()[0].split()) for modules in after)
    for fault in REFUSED:
        assert fault in done.stderr
    for name, imported in zip(commands, without_nodes, strict=False):
        assert "ease.pipeline_registry" in imported
        unneeded = SLOW
        if "encoder" in name:
            unneeded = SLOW - CATALOG
        assert imported.isdisjoint(unneeded), (name, sorted(imported.intersection(unneeded)))
    assert "Done: " in done.stderr
    assert "ease.pipelines.acquire" in acquired
    assert acquired.isdisjoint(TRAINING)
    # The classes of methods import torch, and a method's options are checked before an encoder is loaded.
    assert with_torch.isdisjoint(TRAINING - {"torch"})


UNUSED = {"mlflow", "pandas", "ibis.expr", "scipy", "huggingface_hub.hf_api", "plotly.graph_objects", "upath"}
"""Modules that the nodes need, but not their registration"""
REGISTER = """
import sys
import ease.settings
from kedro.framework.project import configure_project

configure_project("ease")
from ease.pipeline_registry import register_pipelines

assert register_pipelines()
print(*sys.modules)
"""


def test_the_pipelines_are_registered_without_the_libraries_of_their_nodes() -> None:
    """The process loads none of Kedro's plugins."""
    done = subprocess.run([sys.executable, "-c", REGISTER], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "ease.pipelines.train.nodes" in modules
    assert sorted((UNUSED | SLOW).intersection(modules)) == []


@pytest.mark.slow
@pytest.mark.server
def test_mlflow_says_at_once_where_it_will_answer_and_starts_one_worker(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [sys.executable, "-m", "ease.servers", "mlflow", f"--port={port}"],
        cwd=make_project(tmp_path).folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert select.select([server.stdout], [], [], 5)[0], "the imports take longer"
        assert server.stdout.readline() == f"Starting mlflow, which will answer at {address}/\n"
        assert any(line.startswith(f"Open {address}/") for line in server.stdout)
        processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        memory = [process.memory_info().rss for process in processes]
        server.send_signal(signal.SIGTERM)
    assert sum(size > 1e8 for size in memory) == 2, "MLflow's command and its only worker"
    assert sum(memory) < 1e9


@pytest.mark.slow
def test_a_store_that_is_a_server_is_named_and_a_broken_one_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project(tmp_path).folder)
    (tmp_path / "data/08_reporting/mlflow.db").write_text("not a database")
    assert main(["mlflow"]) == 1
    output, error = capfd.readouterr()
    assert output == "Starting mlflow, which will answer at http://127.0.0.1:5000/\n"
    assert error.splitlines()[-1].startswith(
        "Error: MLflow cannot open the store sqlite:///data/08_reporting/mlflow.db"
    )


@pytest.mark.slow
def test_a_start_without_bytecode_says_what_would_make_it_faster(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", "import ease.hooks.process"]

    def warning(**variables: str) -> str:
        options: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
        return subprocess.run(command, env={**environment, **variables}, **options).stderr

    slow = warning(PYTHONDONTWRITEBYTECODE="1")
    assert "PYTHONDONTWRITEBYTECODE is set and the libraries have no bytecode" in slow
    assert f"`{sys.executable} -m compileall -qq -j 0 {Path(click.__file__).parents[1]}`" in slow
    # Without the variable, the start writes its bytecode, which the next one reads.
    assert warning() == ""
    assert warning(PYTHONDONTWRITEBYTECODE="1") == ""


def test_resolving_the_type_hints_of_every_node_raises_nothing() -> None:
    for pipeline in all_pipelines().values():
        for node in pipeline.nodes:
            get_type_hints(node.func)


def test_a_port_in_use_is_named_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["viz", f"--port={port}"]) == 1
    assert f"Port {port} is in use: choose another (`make viz ARGS=--port={port + 1}`)." in capsys.readouterr().err
