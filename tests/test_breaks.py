"""The same command resumes a stopped or killed training."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project, params

pytestmark = pytest.mark.long

STEPS = 300
LOOP = {"max_steps": STEPS, "evaluate_every": 100, "checkpoint_seconds": 0, "report_every": 5}
GIVEN: dict[str, Any] = {f"multilingual__ease__training__{name}": value for name, value in LOOP.items()}
CHOSEN = ("--pipelines=train", "--namespaces=multilingual.ease")
PATIENCE = 180
"""Timeout in seconds for some steps of a training run on a busy machine."""


class Started:
    """A running `kedro run --pipelines=train`."""

    def __init__(self, project: Project, log: Path, steps: int = STEPS) -> None:
        self._log = log
        self._metrics = project.folder / "data" / "06_models" / "work" / "multilingual.ease" / "metrics.jsonl"
        given = {**GIVEN, "multilingual__ease__training__max_steps": steps}
        command = [sys.executable, "-m", "kedro", "run", *CHOSEN, "--params", params(**given)]
        with log.open("w") as output:
            self._process = subprocess.Popen(command, cwd=project.folder, stdout=output, stderr=output)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def wait_for_step(self, step: int) -> None:
        """Wait until the training run has reported a step."""
        deadline = time.monotonic() + PATIENCE
        while self._reported() < step:
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.02)

    def _reported(self) -> int:
        lines = self._metrics.read_text().splitlines(keepends=True) if self._metrics.exists() else []
        return max((json.loads(line)["step"] for line in lines if line.endswith("\n")), default=0)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal and wait for the end; return the exit status and the output."""
        self._process.send_signal(number)
        return self._process.wait(PATIENCE), self._log.read_text()


def resumed_at(said: str) -> int:
    """Return the step from which a training run resumed."""
    found = re.search(r"Resuming after step (\d+)", said)
    assert found, said
    return int(found[1])


def losses(project: Project) -> dict[int, float]:
    """Return the reported losses of EASE by step."""
    history = project.json("06_models/multilingual/ease/history.json")
    rows = [(row["step"], row["value"]) for row in history if row["name"] == "loss"]
    assert len({step for step, _ in rows}) == len(rows)
    return dict(rows)


def test_a_stopped_and_then_killed_training_ends_like_an_uninterrupted_one(
    project: Project, copy: Project, tmp_path: Path
) -> None:
    models = copy.versions("06_models/multilingual/ease/encoder")

    stopped = Started(copy, tmp_path / "stopped.log")
    stopped.wait_for_step(30)
    status, said = stopped.end(signal.SIGINT)
    found = re.search(rf"^Training stopped after step (\d+) of {STEPS}: the same command resumes it", said, re.M)
    assert status == 1, said
    assert found, said
    assert not re.search("error", said, re.I), "a requested stop is none"
    assert "WARNING kedro" not in said, "Kedro's hint would be another one"
    assert "Traceback" not in said

    killed = Started(copy, tmp_path / "killed.log")
    killed.wait_for_step(int(found[1]) + 30)
    status, said = killed.end(signal.SIGKILL)
    assert status == -signal.SIGKILL, said
    assert resumed_at(said) == int(found[1])
    assert copy.versions("06_models/multilingual/ease/encoder") == models

    whole = copy.run("train", CHOSEN[1], **GIVEN)
    assert resumed_at(whole.stderr) > int(found[1])
    assert len(copy.versions("06_models/multilingual/ease/encoder")) == len(models) + 1

    unbroken = project.copy(tmp_path / "unbroken")
    unbroken.run("train", CHOSEN[1], **GIVEN)
    assert losses(copy) == losses(unbroken)
    assert list(losses(copy)) == list(range(5, STEPS + 1, 5))
    assert not list((copy.folder / "data" / "06_models" / "work").rglob("step-*")), "no checkpoint is left"
