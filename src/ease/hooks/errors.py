"""Faults that a user can mend are told in one message, not in a page of traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from difflib import get_close_matches
from types import TracebackType
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DatasetError
from kedro.io.core import is_parameter
from kedro.validation.exceptions import ParameterValidationError
from omegaconf.errors import OmegaConfBaseException

from ease.errors import EaseError
from ease.nested import dotted
from ease.pipeline_registry import register_pipelines
from ease.pipelines.engine import ENGINES, check_engine

_MENDABLE = (EaseError, ParameterValidationError, DatasetError, OmegaConfBaseException)


class ConciseErrors:
    """Shows mendable faults without a traceback, and refuses parameters that nothing reads."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Take over the display of uncaught exceptions, then check the names given by `--params`."""
        sys.excepthook = show_exception
        given = context.config_loader.runtime_params or {}
        refuse_unknown_parameters(given)
        check_engine(given.get("engine", ENGINES[0]))


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


def refuse_unknown_parameters(given: dict[str, Any]) -> None:
    """Refuse a `--params` name that no pipeline reads: it would be ignored without a word.

    Fields within a group of options are checked by the group's own class.

    Raises:
        EaseError: Naming the parameter and the nearest ones.
    """
    inputs = {name for pipeline in register_pipelines().values() for name in pipeline.inputs()}
    read = {name.removeprefix("params:") for name in inputs if is_parameter(name)}
    for name in dotted(given):
        if not any(f"{name}.".startswith(f"{known}.") for known in read):
            near = get_close_matches(name, sorted(read), n=3, cutoff=0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(read))}."
            raise EaseError(f"No pipeline reads the parameter `{name}` given by --params: {hint}")
