"""`make validate` says in one line why there is nothing to check."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ease.datasets.__main__ import main
from tests.contexts import undisturbed
from tests.project import Project


def test_a_folder_without_tables_is_one_line(bare: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, message in {
        bare.folder: f"{bare.folder} has no tables to check: make them by `kedro run --pipelines=train_multilingual`.",
        tmp_path: f"{tmp_path} has no conf/base/globals.yml: run this command in the project's folder.",
    }.items():
        with undisturbed():
            monkeypatch.chdir(folder)
            done = CliRunner().invoke(main, [])
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.endswith(f"Error: {message}\n")
