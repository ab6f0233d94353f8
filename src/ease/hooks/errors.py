"""Print user errors in one line without a traceback; check names and parameters of a command before its run."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from tempfile import gettempdir
from types import TracebackType

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DatasetError
from kedro.validation.exceptions import ParameterValidationError
from omegaconf.errors import OmegaConfBaseException

from ease.errors import EaseError
from ease.hooks.names import check_environment, check_run_names
from ease.hooks.parameters import (
    SHARED,
    check_parameters,
    check_shared_values,
    configured_parameters,
    correct_given_parameters,
    refuse_dotted_keys,
    refuse_unknown_parameters,
)
from ease.pipelines.engine import check_engine
from ease.training.interruption import TrainingInterrupted

_FULL_DISK = (
    os.strerror(errno.ENOSPC),
    os.strerror(errno.EDQUOT),
    "database or disk is full",
    "disk I/O error",
)
"""Words of the system, and of SQLite, whose I/O error is that of an exceeded quota, too"""

_FIXABLE = (EaseError, ParameterValidationError, DatasetError, OmegaConfBaseException)


class ConciseErrors:
    """Refuses names and parameters that do not exist."""

    # Before the plugins' hooks, which would report a wrong environment in their own words.
    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check the command line and the configuration files, whose paths are relative to the project."""
        os.chdir(context.project_path)
        loader = context.config_loader
        check_environment(context)
        check_run_names()
        correct_given_parameters(loader)
        given = loader.runtime_params or {}
        if any(name.startswith(SHARED) for name in given):
            check_shared_values(given, configured_parameters(loader))
        refuse_unknown_parameters(given)
        refuse_dotted_keys(loader["parameters"])
        refuse_unknown_parameters(loader["parameters"], "in a configuration file")
        check_engine(loader["parameters"].get("engine"))
        check_parameters(loader["parameters"], given)


def show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print one line for a user error or a requested stop; print other errors with their traceback."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    # The innermost error is the most exact one.
    fixable = next((cause for cause in reversed(chain) if isinstance(cause, _FIXABLE)), None)
    if isinstance(fixable, TrainingInterrupted):
        click.secho(str(fixable), fg="yellow", err=True)
    elif issubclass(kind, KeyboardInterrupt):
        click.secho("Stopped.", fg="yellow", err=True)
    elif text := _full_disk(chain) if fixable is None else _message(fixable):
        click.secho(f"Error: {text}", fg="red", err=True)
    else:
        sys.__excepthook__(kind, error, trace)


def _message(error: BaseException) -> str:
    """Return the message of an error; that of a library in one line, ours may list several faults, one per line."""
    return str(error) if isinstance(error, EaseError) else " ".join(str(error).split())


def _full_disk(chain: Sequence[BaseException]) -> str | None:
    """Return a message if a library, such as MLflow, found a disk full; None for other errors."""
    texts = [str(error) for error in chain]
    words = next((words for words in _FULL_DISK if any(words in text for text in texts)), None)
    return words and (
        f"{words}: make room on the disk of the project's data, or on that of temporary files ({gettempdir()}). "
        "Finished work is kept: run the same command again to resume."
    )
