"""User errors are printed in one message; other errors keep their traceback."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import mlflow
import pytest
from kedro.framework.cli.project import run as kedro_run
from kedro.io import DataCatalog, DatasetError
from kedro.ipython import magic_reload_kedro
from kedro.pipeline import Pipeline
from mlflow.exceptions import MlflowException
from sqlalchemy.exc import DatabaseError

from ease.errors import EaseError
from ease.hooks.mlflow_store import StoreOptions, open_experiment
from ease.hooks.process import show_exception
from ease.hooks.runs import EVALUATE_TAG, Results
from ease.io.files import read_globals


def printed(error: BaseException, capsys: pytest.CaptureFixture[str]) -> str:
    try:
        raise error
    except BaseException as raised:
        show_exception(type(raised), raised, raised.__traceback__)
    return capsys.readouterr().err


def test_a_user_error_or_cause_is_printed_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    error = EaseError("dump.xml: cut at its end; download it again.")
    assert printed(error, capsys) == f"Error: {error}\n"
    outer = DatasetError("Failed while saving")
    outer.__cause__ = error
    assert printed(outer, capsys) == f"Error: {error}\n"
    assert "Traceback (most recent call last)" in printed(KeyError("a bug"), capsys)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (MlflowException("(sqlite3.OperationalError) database or disk is full"), "database or disk is full"),
    ],
)
def test_a_full_disk_is_printed_in_one_line(error: Exception, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = printed(error, capsys)
    assert line.startswith(f"Error: {words}: make room on the disk")
    assert line.count("\n") == 1


STOPPED_IMPORT = """
import sys

class Stop:
    def find_spec(self, name, *_):
        if name == "ease.hooks.names":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
import ease.settings
"""


def test_a_stop_during_the_imports_is_printed_in_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED_IMPORT], capture_output=True, text=True, check=False)
    assert (
        done.stderr
        == "Stopped: the same command goes on; with --only-missing-outputs, finished models are not trained again.\n"
    )


@pytest.mark.parametrize(("own", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_torch_s_threads_wait_without_spinning_unless_the_environment_says(own: str | None, expected: str) -> None:
    environment = {**os.environ, "OMP_DISPLAY_ENV": "true"}
    environment.pop("OMP_WAIT_POLICY", None)
    if own is not None:
        environment["OMP_WAIT_POLICY"] = own
    command = [sys.executable, "-c", "import ease.settings, torch"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    # OpenMP's library prints its settings when torch loads it.
    assert set(re.findall(r"OMP_WAIT_POLICY *= *'(\w+)'", done.stderr)) == {expected}


def test_a_run_reports_its_own_missing_scores_alone() -> None:
    results, node = Results(), SimpleNamespace(name="score", inputs=[], tags={EVALUATE_TAG})
    given: dict[str, Any] = {"run_params": {}, "pipeline": Pipeline([]), "catalog": DataCatalog()}
    missing = {"value": None, "note": "no such file", "task": "stsb", "subset": "dev"}
    results.after_node_run(node, given["catalog"], {"s.ease.scores": [missing]})  # type: ignore[arg-type]
    with pytest.raises(EaseError, match="Not scored:\ns.ease stsb dev: no such file"):
        results.after_pipeline_run(**given)
    results.before_pipeline_run(**given)
    results.after_pipeline_run(**given)


@pytest.mark.parametrize("words", ["database is locked", "file is not a database", "database disk image is malformed"])
def test_a_broken_or_locked_database_is_printed_in_one_line(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = printed(DatabaseError("SELECT 1", None, sqlite3.OperationalError(words)), capsys)
    assert line.startswith(f"Error: {words}: end the program that uses the database")
    assert line.count("\n") == 1


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_store_that_cannot_be_opened_is_named_in_one_line(tmp_path: Path, is_locked: bool) -> None:
    file = tmp_path / "mlflow.db"
    file.write_text("no database, but a text of some length" if not is_locked else "")
    options = StoreOptions(tracking_uri=f"sqlite:///{file}?timeout=0.1")
    connection = sqlite3.connect(file, isolation_level=None)
    if is_locked:
        connection.execute("BEGIN EXCLUSIVE")
    (tmp_path / "pyproject.toml").touch()
    before = mlflow.get_tracking_uri()
    try:
        with pytest.raises(EaseError, match=r"cannot open the store .*If the database is locked, end the") as caught:
            open_experiment(options, tmp_path)
    finally:
        connection.close()
        mlflow.set_tracking_uri(before)
    assert "\n" not in str(caught.value)


def test_a_tab_in_a_file_of_parameters_is_named(tmp_path: Path) -> None:
    (tmp_path / "conf" / "base").mkdir(parents=True)
    (tmp_path / "conf" / "base" / "globals.yml").write_text("data:\n\tfolder: x\n")
    with pytest.raises(EaseError, match=r"globals\.yml: .*line 2.*A line begins with a tab.*: indent by blanks"):
        read_globals(tmp_path)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("a.languages=en,it", {"a": {"languages": "en it"}}),
        ("a.languages=en, it ,b=1", {"a": {"languages": "en it"}, "b": 1}),
        ("a.languages=[en,it],b=1", {"a": {"languages": ["en", "it"]}, "b": 1}),
        ("sweep.only=[full model,ease seed=3]", {"sweep": {"only": ["full model", "ease seed=3"]}}),
        ("b=1,c=2", {"b": 1, "c": 2}),
    ],
)
def test_a_list_in_params_may_have_commas(value: str, read: dict[str, Any]) -> None:
    option = next(option for option in kedro_run.params if option.name == "params")
    assert option.callback is not None
    assert option.callback(click.Context(kedro_run), option, value) == read
    # As `%reload_kedro --params` in a notebook
    assert magic_reload_kedro.parser.parse_args([f"--params={value}"]).params == read
