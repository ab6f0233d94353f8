"""User errors are printed in one message; other errors keep their traceback."""

from __future__ import annotations

import errno

import pytest
from kedro.framework.project import configure_project, pipelines
from kedro.io import DatasetError
from mlflow.exceptions import MlflowException

from ease.errors import EaseError
from ease.hooks.runs import _next_steps, show_exception
from tests.project import ROOT


def caught(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as raised:
        return raised


def test_a_user_error_is_printed_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    error = caught(EaseError("dump.xml: cut at its end; download it again."))
    show_exception(type(error), error, error.__traceback__)
    assert capsys.readouterr().err == "Error: dump.xml: cut at its end; download it again.\n"


def test_the_cause_of_a_dataset_error_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        try:
            raise EaseError("the cause")
        except EaseError as cause:
            raise DatasetError("Failed while saving") from cause
    except DatasetError as error:
        show_exception(type(error), error, error.__traceback__)
    assert capsys.readouterr().err == "Error: the cause\n"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (MlflowException("(sqlite3.OperationalError) disk I/O error"), "disk I/O error"),
        (MlflowException("(sqlite3.OperationalError) database or disk is full"), "database or disk is full"),
    ],
)
def test_a_full_disk_is_printed_in_one_line(
    error: Exception, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raised = caught(error)
    show_exception(type(raised), raised, raised.__traceback__)
    printed = capsys.readouterr().err
    assert printed.startswith(f"Error: {words}: make room on the disk")
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train_multilingual", "`make demo` searches"),
        ("train_monolingual", "`make demo ARGS=--setting=monolingual` searches"),
        ("evaluate", "`kedro run --pipelines=report` compares"),
        ("ingest", ""),
    ],
)
def test_the_next_command_is_named(name: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    configure_project("ease")
    assert _next_steps(pipelines[name]).startswith(f"\nNext: {expected}" if expected else "")
    assert bool(_next_steps(pipelines[name])) == bool(expected)


def test_a_programming_error_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    error = caught(KeyError("a bug"))
    show_exception(type(error), error, error.__traceback__)
    assert "Traceback (most recent call last)" in capsys.readouterr().err
