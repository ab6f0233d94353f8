"""A copy of the project in a temporary folder, driven by the real command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

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
    **{
        f"{setting}.{method}.training.{name}": value
        for setting in ("multilingual", "monolingual")
        for method in ("ease", "simcse")
        for name, value in {"steps": 6, "batch_size": 16, "evaluate_every": 3}.items()
    },
}
"""Parameters that make a run of the real pipelines small."""


@dataclass(frozen=True)
class Project:
    """A project folder with data of its own."""

    folder: Path

    def kedro(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `kedro` as a user would."""
        done = subprocess.run(
            [sys.executable, "-m", "kedro", *arguments],
            cwd=self.folder,
            env={**os.environ, "DO_NOT_TRACK": "true", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def run(
        self, pipeline: str, *arguments: str, check: bool = True, **parameters: Any
    ) -> subprocess.CompletedProcess[str]:
        """`kedro run` of one pipeline with the small parameters and others, `__` in a name standing for a dot."""
        given = {**SMALL, **{name.replace("__", "."): value for name, value in parameters.items()}}
        text = ",".join(f"{name}={value}" for name, value in given.items())
        return self.kedro("run", f"--pipelines={pipeline}", "--params", text, *arguments, check=check)

    def versions(self, path: str) -> list[Path]:
        """The versions of a dataset below `data`, oldest first."""
        return sorted((self.folder / "data" / path).glob(f"*/{Path(path).name}"))

    def latest(self, path: str) -> Path:
        """The newest version of a dataset below `data`."""
        return self.versions(path)[-1]

    def json(self, path: str) -> Any:
        """The newest version of a JSON dataset."""
        return json.loads(self.latest(path).read_text(encoding="utf-8"))


def make_project(folder: Path) -> Project:
    """Copy configuration and project file; the code is the installed one."""
    shutil.copytree(ROOT / "conf", folder / "conf", ignore=shutil.ignore_patterns("local"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "src").mkdir()
    (folder / "conf" / "local").mkdir()
    (folder / "data" / "08_reporting").mkdir(parents=True)
    return Project(folder)
