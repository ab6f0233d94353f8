"""Faults that a user can mend are told in one message, not in a page of traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DatasetError
from kedro.validation.exceptions import ParameterValidationError
from omegaconf.errors import OmegaConfBaseException

from ease.errors import EaseError

_MENDABLE = (EaseError, ParameterValidationError, DatasetError, OmegaConfBaseException)


class ConciseErrors:
    """Shows mendable faults without a traceback, and refuses parameters that nothing reads."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Take over the display of uncaught exceptions, then check the names given by `--params`."""
        sys.excepthook = show_exception
        refuse_unknown_parameters(context.config_loader)


def show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a mendable fault's message alone; leave every other exception to Python."""
    mendable = next((cause for cause in _causes(error) if isinstance(cause, _MENDABLE)), None)
    if mendable is None:
        sys.__excepthook__(kind, error, trace)
    else:
        click.secho(f"Error: {mendable}", fg="red", err=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions behind `error`, the innermost first."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    return reversed(chain)


def refuse_unknown_parameters(config_loader: Any) -> None:
    """Refuse a `--params` name that no configuration file holds: it would be ignored without a word.

    Raises:
        EaseError: Naming the parameter and the names that stand beside it.
    """
    given = config_loader.runtime_params or {}
    if not given:
        return
    config_loader.runtime_params = {}
    try:
        known = config_loader["parameters"]
    finally:
        config_loader.runtime_params = given
    _compare(given, known, prefix="")


def _compare(given: dict[str, Any], known: dict[str, Any], prefix: str) -> None:
    for name, value in given.items():
        if name not in known:
            beside = ", ".join(sorted(str(key) for key in known))
            raise EaseError(f"Unknown parameter `{prefix}{name}` in --params; there are: {beside}.")
        if isinstance(value, dict) and isinstance(known[name], dict):
            _compare(value, known[name], f"{prefix}{name}.")
