"""User errors are printed in one message; other errors keep their traceback."""

from __future__ import annotations

import errno

import pytest
from kedro.io import DatasetError
from mlflow.exceptions import MlflowException

from ease.errors import EaseError
from ease.hooks.runs import show_exception


def printed(error: BaseException, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is printed for an error that was raised."""
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
