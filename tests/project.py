"""A copy of the project in a temporary folder, controlled through the command line."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pytest
import yaml

ROOT = Path(__file__).parents[1]

METHODS = sorted(path.stem for path in (ROOT / "conf" / "base" / "parameters" / "methods").glob("*.yml"))

SWEEPS: dict[str, str] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))["sweeps"][path.stem]["setting"]["name"]
    for path in sorted((ROOT / "conf" / "base" / "parameters" / "sweeps").glob("*.yml"))
}
"""The setting of each sweep, by name."""

SMALL = {
    "acquire.sample.layout": "content",
    "acquire.sample.territories": 60,
    "acquire.sample.sentences_per_language": 400,
    "acquire.sample.parallel_facts": 40,
    "acquire.sample.graded_pairs": 60,
    "acquire.sample.graded_territories": 12,
    "tasks.sample_parallel.candidates": 30,
    "audit.min_pairs": 20,
    "audit.max_pairs": 25,
    "multilingual.setting.languages": "en ja ar de",
    **{
        f"{setting}.setting.encoder.random.{name}": value
        for setting in ("multilingual", "monolingual", "teach")
        for name, value in {"layers": 1, "hidden_size": 32, "vocabulary_size": 1000}.items()
    },
    "multilingual.mirror_bert.rows": 200,
    "monolingual.mirror_bert.rows": 200,
    **{f"teach.{method}.training.max_steps": 6 for method in ("mlm", "ease_plus")},
    **{
        f"{setting}.{method}.training.{name}": value
        for setting in ("multilingual", "monolingual")
        for method in METHODS
        for name, value in {"max_steps": 6, "batch_size": 16, "evaluate_every": 3, "report_every": 2}.items()
    },
}
"""Parameters that make runs of the real pipelines fast."""

SAMPLE = ",".join(f"{name}={value}" for name, value in SMALL.items() if name.startswith("acquire."))
"""Those of the sample alone, for runs that load no method."""

LIMIT = 600
"""Timeout of a command in seconds."""

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Project:
    """A project folder with its own data."""

    folder: Path

    def kedro(self, *arguments: str, check: bool = True, start: bool = True) -> Done:
        """Run `kedro` in a new interpreter (`start`), or faster in a fork of a prepared one."""
        environment = {**os.environ, "DO_NOT_TRACK": "true", "COLUMNS": "200"}
        if start or sys.platform == "darwin":  # macOS does not support a fork after these imports
            command = [sys.executable, "-m", "kedro", *arguments]
            options: dict[str, Any] = {"capture_output": True, "text": True, "check": False, "timeout": LIMIT}
            done = subprocess.run(command, cwd=self.folder, env=environment, **options)
        else:
            done = run_forked(arguments, self.folder, environment)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def run(self, pipeline: str, *arguments: str, check: bool = True, start: bool = False, **parameters: Any) -> Done:
        """Run pipelines, separated by commas, with the parameters `SMALL` and others, as in `params`."""
        given = ("run", f"--pipelines={pipeline}", "--params", params(**parameters), *arguments)
        return self.kedro(*given, check=check, start=start)

    def versions(self, path: str) -> list[Path]:
        """Return the versions of a dataset below `data`, oldest first."""
        return sorted((self.folder / "data" / path).glob(f"*/{Path(path).name}"))

    def latest(self, path: str) -> Path:
        """Return the newest version of a dataset below `data`."""
        return self.versions(path)[-1]

    def json(self, path: str) -> Any:
        """Return the content of the newest version of a JSON dataset."""
        return json.loads(self.latest(path).read_text(encoding="utf-8"))

    @property
    def store(self) -> str:
        """The tracking URI of its MLflow runs."""
        return f"sqlite:///{self.folder}/data/08_reporting/mlflow.db"

    @property
    def log(self) -> Path:
        """Output of the command that created the project's data."""
        return self.folder / "run.log"

    def copy(self, folder: Path) -> Project:
        """Return a copy of the project with its data, which a test may change."""
        shutil.copytree(self.folder, folder, symlinks=True, dirs_exist_ok=True)
        return Project(folder)


def rows(table: Path) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file or folder in an order independent of the engine."""
    files = [str(table)] if table.is_file() else sorted(map(str, table.glob("*.parquet")))
    return sorted(pads.dataset(files).to_table().to_pylist(), key=repr)


def params(**parameters: Any) -> str:
    """Return `SMALL` and other parameters in the format of `--params`; `__` in a name is replaced by a dot."""
    given = {**SMALL, **{name.replace("__", "."): value for name, value in parameters.items()}}
    return ",".join(f"{name}={value}" for name, value in given.items())


def make_project(folder: Path) -> Project:
    """Return a new project in a folder, with this project's configuration; it uses the installed code."""
    shutil.copytree(ROOT / "conf", folder / "conf", ignore=shutil.ignore_patterns("local"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "src").mkdir()
    (folder / "conf" / "local").mkdir()
    (folder / "data" / "08_reporting").mkdir(parents=True)
    return Project(folder)


@cache
def kedro_server() -> subprocess.Popen[str]:
    """Start the process from which commands are forked; it ends when this process closes its input."""
    command = [sys.executable, "-m", "tests.kedro_server"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, start_new_session=True)


def end_server() -> None:
    """End the process of `kedro_server` if it is running."""
    if kedro_server.cache_info().currsize:
        kedro_server().communicate()
        kedro_server.cache_clear()


def run_forked(arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> Done:
    """Run a `kedro` command in a fork of `kedro_server`."""
    server = kedro_server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as streams:
        stdout, stderr = Path(streams, "stdout"), Path(streams, "stderr")
        request = {"folder": str(folder), "environment": environment, "arguments": arguments}
        server.stdin.write(json.dumps({**request, "stdout": str(stdout), "stderr": str(stderr)}) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], LIMIT)[0]:
            os.killpg(server.pid, signal.SIGKILL)
            kedro_server.cache_clear()
            pytest.fail(f"kedro {' '.join(arguments)} timed out after {LIMIT} s:\n{stderr.read_text('utf-8')}")
        status = int(server.stdout.readline())
        return Done(arguments, status, stdout.read_text("utf-8"), stderr.read_text("utf-8"))
