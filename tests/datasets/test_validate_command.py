"""`make validate` says in one line why there is nothing to check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.project import Project


def test_a_folder_without_tables_is_one_line(bare: Project, tmp_path: Path) -> None:
    for folder, message in {
        bare.folder: f"{bare.folder} has no tables to check: make them by `kedro run --pipelines=train_multilingual`.",
        tmp_path: f"{tmp_path} has no conf/base/globals.yml: run this command in the project's folder.",
    }.items():
        command = [sys.executable, "-m", "ease.datasets"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"Error: {message}\n"
