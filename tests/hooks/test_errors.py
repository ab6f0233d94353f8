"""User errors are printed in one message; other errors keep their traceback."""

from __future__ import annotations

import errno
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline
from mlflow.exceptions import MlflowException

from ease.errors import EaseError
from ease.hooks.process import show_exception
from ease.hooks.runs import EVALUATE_TAG, Results


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
    assert done.stderr == "Stopped: the same command reuses finished work.\n"


def test_a_run_reports_its_own_missing_scores_alone() -> None:
    results, node = Results(), SimpleNamespace(name="score", inputs=[], tags={EVALUATE_TAG})
    given: dict[str, Any] = {"run_params": {}, "pipeline": Pipeline([]), "catalog": DataCatalog()}
    missing = {"value": None, "note": "no such file", "task": "stsb", "subset": "dev"}
    results.after_node_run(node, given["catalog"], {"s.ease.scores": [missing]})  # type: ignore[arg-type]
    with pytest.raises(EaseError, match="Not scored:\ns.ease stsb dev: no such file"):
        results.after_pipeline_run(**given)
    results.before_pipeline_run(**given)
    results.after_pipeline_run(**given)
