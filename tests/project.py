"""A copy of the project in a temporary folder, driven by the real command line."""

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

import pytest

ROOT = Path(__file__).parents[1]

METHODS = sorted(path.stem for path in (ROOT / "conf" / "base" / "parameters" / "methods").glob("*.yml"))

SMALL = {
    "acquire.sample.territories": 60,
    "acquire.sample.sentences_per_language": 400,
    "acquire.sample.parallel_facts": 40,
    "acquire.sample.graded_pairs": 60,
    "acquire.sample.graded_territories": 12,
    "tasks.sample_parallel.candidates": 30,
    "multilingual.setting.languages": "en ja ar de",
    "multilingual.setting.encoder.random.layers": 1,
    "multilingual.setting.encoder.random.hidden_size": 32,
    "multilingual.setting.encoder.random.vocabulary_size": 1000,
    "monolingual.setting.encoder.random.layers": 1,
    "monolingual.setting.encoder.random.hidden_size": 32,
    "monolingual.setting.encoder.random.vocabulary_size": 1000,
    "multilingual.mirror_bert.rows": 200,
    "monolingual.mirror_bert.rows": 200,
    **{
        f"{setting}.{method}.training.{name}": value
        for setting in ("multilingual", "monolingual")
        for method in METHODS
        for name, value in {"max_steps": 6, "batch_size": 16, "evaluate_every": 3, "report_every": 2}.items()
    },
}
"""Parameters that make a run of the real pipelines small."""

LIMIT = 600
"""Seconds that a command may take before it is taken for hanging."""

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Project:
    """A project folder with data of its own."""

    folder: Path

    def kedro(self, *arguments: str, check: bool = True, start: bool = True) -> Done:
        """Run `kedro` as a user would, in a Python of its own or, sparing its start, in a fork of one."""
        environment = {**os.environ, "DO_NOT_TRACK": "true", "COLUMNS": "200"}
        if start or sys.platform == "darwin":  # macOS forbids a fork after such imports
            command = [sys.executable, "-m", "kedro", *arguments]
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
            )
        else:
            done = run_forked(arguments, self.folder, environment)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def run(
        self, pipeline: str, *arguments: str, check: bool = True, start: bool = False, **parameters: Any
    ) -> Done:
        """`kedro run` of a pipeline, or several, with the small parameters and others, as `params` takes them."""
        given = ("run", f"--pipelines={pipeline}", "--params", params(**parameters), *arguments)
        return self.kedro(*given, check=check, start=start)

    def versions(self, path: str) -> list[Path]:
        """The versions of a dataset below `data`, oldest first."""
        return sorted((self.folder / "data" / path).glob(f"*/{Path(path).name}"))

    def latest(self, path: str) -> Path:
        """The newest version of a dataset below `data`."""
        return self.versions(path)[-1]

    def json(self, path: str) -> Any:
        """The newest version of a JSON dataset."""
        return json.loads(self.latest(path).read_text(encoding="utf-8"))

    @property
    def store(self) -> str:
        """The address of its MLflow runs."""
        return f"sqlite:///{self.folder}/data/08_reporting/mlflow.db"

    @property
    def log(self) -> Path:
        """What the command that made it has written to the screen."""
        return self.folder / "run.log"

    def copy(self, folder: Path) -> Project:
        """Copy it whole, so that a test may change it."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Project(folder)


def params(**parameters: Any) -> str:
    """Write the small parameters and others as `--params` takes them, `__` in a name standing for a dot."""
    given = {**SMALL, **{name.replace("__", "."): value for name, value in parameters.items()}}
    return ",".join(f"{name}={value}" for name, value in given.items())


def make_project(folder: Path) -> Project:
    """Copy configuration and project file; the code is the installed one."""
    shutil.copytree(ROOT / "conf", folder / "conf", ignore=shutil.ignore_patterns("local"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "src").mkdir()
    (folder / "conf" / "local").mkdir()
    (folder / "data" / "08_reporting").mkdir(parents=True)
    return Project(folder)


@cache
def kedro_server() -> subprocess.Popen[str]:
    """Start the process that commands are forked from; it ends with this one, which holds its input open."""
    command = [sys.executable, "-m", "tests.kedro_server"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, start_new_session=True)


def end_server() -> None:
    """End that process, if it was started."""
    if kedro_server.cache_info().currsize:
        kedro_server().communicate()
        kedro_server.cache_clear()


def run_forked(arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> Done:
    """Run a `kedro` command in a fork."""
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
            pytest.fail(f"kedro {' '.join(arguments)} did not end in {LIMIT} s:\n{stderr.read_text('utf-8')}")
        status = int(server.stdout.readline())
        return Done(arguments, status, stdout.read_text("utf-8"), stderr.read_text("utf-8"))
