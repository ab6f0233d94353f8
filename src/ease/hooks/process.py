"""What a Kedro command sets in its process: how errors and warnings are shown, garbage collection, the environment.

The import of this module sets all of it. The package imports it first, so that Ctrl-C prints one line even while the
other modules are imported, which takes a second.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
import warnings
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType
from typing import Any

import click
from kedro.framework.cli import utils as kedro_options

FULL_DISK = (
    os.strerror(errno.ENOSPC),
    os.strerror(errno.EDQUOT),
    "database or disk is full",  # SQLite's words
    "disk I/O error",  # of SQLite, also for an exceeded quota
)
"""Texts in errors of a full disk, which have different types"""

BROKEN_DATABASE = (
    "database is locked",
    "file is not a database",
    "database disk image is malformed",
    "attempt to write a readonly database",
)
"""SQLite's words for a database that another program uses or that is broken, such as MLflow's"""

LIBRARY_WARNINGS = (
    r"register_new_resolver\(\) is deprecated",
    r".*fetch_arrow_table\(\) is deprecated",
    ".*future.infer_string",
    "One or more dataset names contain",
)
"""Warnings of libraries about other libraries, or about names that this project chose: no user can fix them."""

MLFLOW_WARNING = "Add type hints to the `predict` method"
"""A warning about MLflow's own classes, which MLflow shows at its import in spite of the filters"""

COMMAND = re.compile(r"kedro run (?=--)(?![^`]*--env=)")
"""Beginning of a command in a message, up to the place of its environment"""

_environments: list[str] = []

_show_warning = warnings.showwarning


def show_other_warnings(message: Warning | str, *arguments: Any, **options: Any) -> None:
    """Show every warning but `MLFLOW_WARNING`."""
    if MLFLOW_WARNING not in str(message):
        _show_warning(message, *arguments, **options)


def remember_environment(name: str | None) -> None:
    """Show the commands in later errors with a run's `--env`; None removes it."""
    _environments[:] = filter(None, [name])


def _with_environment(message: str) -> str:
    """Return a message whose commands read the configuration of the run that failed."""
    for name in _environments:
        message = COMMAND.sub(rf"\g<0>--env={name} ", message)
    return message


def show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print one line for a user error or a requested stop; print other errors with their traceback."""
    if issubclass(kind, KeyboardInterrupt):
        # Before the imports below: modules may be half imported.
        click.secho(
            "Stopped: the same command goes on; with --only-missing-outputs, finished models are not trained again.",
            fg="yellow",
            err=True,
        )
        return

    from kedro.io import DatasetError
    from kedro.validation.exceptions import ParameterValidationError
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    from ease.errors import EaseError
    from ease.training.processes import TrainingInterrupted

    fixable_errors = (
        EaseError,
        ParameterValidationError,
        DatasetError,
        OmegaConfBaseException,
        YAMLError,
        UnicodeError,
    )
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    # The innermost error is the most exact one.
    fixable = next((cause for cause in reversed(chain) if isinstance(cause, fixable_errors)), None)
    full_disk = next((text for text in FULL_DISK if any(text in str(cause) for cause in chain)), None)
    database = next((text for text in BROKEN_DATABASE if any(text in str(cause) for cause in chain)), None)
    if isinstance(fixable, TrainingInterrupted):
        click.secho(str(fixable), fg="yellow", err=True)
    elif isinstance(fixable, EaseError):
        # May list several faults, one per line.
        click.secho(f"Error: {_with_environment(str(fixable))}", fg="red", err=True)
    elif fixable is not None:
        click.secho(f"Error: {' '.join(str(fixable).split())}", fg="red", err=True)
    elif full_disk is not None:
        click.secho(
            f"Error: {full_disk}: make room on the disk of the project's data, or on that of temporary files "
            f"({gettempdir()}). Finished work is kept: run the same command again to resume.",
            fg="red",
            err=True,
        )
    elif database is not None:
        click.secho(
            f"Error: {database}: end the program that uses the database (MLflow's is 08_reporting/mlflow.db in the "
            "data folder), or restore the file. Finished work is kept: run the same command again to resume.",
            fg="red",
            err=True,
        )
    else:
        sys.__excepthook__(kind, error, trace)


def explain_slow_start() -> str:
    """Return why starts are slow if Python may not write bytecode and the libraries have none; else an empty text."""
    # click stands for all libraries, which one set-up installs.
    library = Path(click.__file__)
    if not sys.dont_write_bytecode or Path(cache_from_source(str(library))).exists():
        return ""

    from ease.io.files import make_or

    command = make_or("compile", f"{sys.executable} -m compileall -qq -j 0 {library.parents[1]}")
    return (
        "This start is slow, and so is every other: PYTHONDONTWRITEBYTECODE is set and the libraries have no bytecode, "
        f"so Python compiles them each time. Once, in a minute: `{command}`."
    )


_split_string = kedro_options.split_string


def split_values(ctx: click.Context, param: Any, value: str) -> list[str]:
    """Split an option's value at commas that end a value.

    In `--params`, a part continues a list if it has no `=` (`languages=en,it`), or inside brackets
    (`languages=[en,it]`).
    """
    # Kedro's `%reload_kedro --params`, of notebooks, names no option.
    has_values = param is None or param.name == "params"
    parts: list[str] = []
    for part in _split_string(ctx, param, value):
        if has_values and parts and parts[-1].count("[") > parts[-1].count("]"):
            parts[-1] += f", {part}"
        elif has_values and parts and "=" not in part:
            # The parameters separate words by blanks.
            parts[-1] += f" {part.strip()}"
        else:
            parts.append(part)
    return parts


# Kedro has no other place to change how `--params` is read, and refuses such a list in words about its own syntax.
kedro_options.split_string = split_values
# Modules, and tables in memory, are many objects without reference cycles: with Python's default of 700, garbage
# collection takes 0.08 s of each start, and an eighth of the CPU time of a small run.
gc.set_threshold(50_000)
sys.excepthook = show_exception
warnings.showwarning = show_other_warnings
for _text in LIBRARY_WARNINGS:
    warnings.filterwarnings("ignore", _text)
# Kedro, MLflow and the Hugging Face hub would send statistics of use.
os.environ.setdefault("DO_NOT_TRACK", "true")
# Pydantic would look for plugins in the metadata of every installed package; none is used here.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
# Spark's workers would start the first Python on the path, which does not have this project's packages.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# By default, torch's threads spin while they wait for each other. If other processes need the cores, spinning threads
# keep them from the thread that is waited for, and a step takes several times as long (docs/benchmarks.md).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if _slow_start := explain_slow_start():
    click.secho(_slow_start, fg="yellow", err=True)
