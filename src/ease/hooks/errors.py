"""Print errors that a user can fix in one line; check all names and parameters of a command before its run begins."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DatasetError
from kedro.io.core import is_parameter
from kedro.validation.exceptions import ParameterValidationError
from kedro.validation.type_extractor import TypeExtractor
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, TypeAdapter, ValidationError
from yaml import YAMLError

from ease.errors import EaseError
from ease.hooks.given import (
    SHARED,
    check_shared_values,
    configured_parameters,
    correct_given_parameters,
)
from ease.hooks.names import check_environment, check_run_names
from ease.io.nested import dotted
from ease.io.registry import format_validation_error
from ease.io.suggestions import nearest, suggest
from ease.pipeline_registry import register_pipelines
from ease.pipelines.engine import ENGINES, check_engine
from ease.training import TrainingInterrupted

_FIXABLE = (EaseError, ParameterValidationError, DatasetError, OmegaConfBaseException, YAMLError)


class ConciseErrors:
    """Prints errors that a user can fix without a traceback, and refuses names and parameters that do not exist."""

    # Before the plugins' hooks, which would fail on a wrong environment in their own words.
    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Take over the display of uncaught exceptions, then check what the command line gives."""
        sys.excepthook = show_exception
        check_environment(context)
        check_run_names()
        correct_given_parameters(context.config_loader)
        given = context.config_loader.runtime_params or {}
        if any(name.startswith(SHARED) for name in given):
            check_shared_values(given, configured_parameters(context.config_loader))
        refuse_unknown_parameters(given)
        check_engine(given.get("engine", ENGINES[0]))
        check_parameters(context.config_loader["parameters"], given)


def show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print one line for an error that a user can fix or a requested stop; leave others to Python."""
    found = [cause for cause in _causes(error) if isinstance(cause, _FIXABLE)]
    # Of YAML's errors the outermost names the file.
    fixable = next(
        (cause for cause in found if not isinstance(cause, YAMLError)), found[-1] if found else None
    )
    if isinstance(fixable, TrainingInterrupted):
        click.secho(str(fixable), fg="yellow", err=True)
    elif issubclass(kind, KeyboardInterrupt):
        click.secho("Stopped.", fg="yellow", err=True)
    elif fixable is None:
        sys.__excepthook__(kind, error, trace)
    else:
        text = str(fixable)
        # One line; our own messages may list several faults, one a line.
        click.secho(
            f"Error: {text if isinstance(fixable, EaseError) else ' '.join(text.split())}", fg="red", err=True
        )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions behind `error`, the innermost first."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    return reversed(chain)


def refuse_unknown_parameters(given: dict[str, Any]) -> None:
    """Refuse a `--params` name that no pipeline reads: Kedro would ignore it without a message.

    Fields within a group of options are checked by the group's own class.

    Raises:
        EaseError: Naming the parameter and the nearest ones.
    """
    inputs = {name for pipeline in register_pipelines().values() for name in pipeline.inputs()}
    read = {name.removeprefix("params:") for name in inputs if is_parameter(name)}
    for name in dotted(given):
        if not name.startswith(SHARED) and not any(f"{name}.".startswith(f"{known}.") for known in read):
            raise EaseError(
                f"No pipeline reads the parameter `{name}` given by --params: {_hint(name, read)}"
            )


def _hint(name: str, read: set[str]) -> str:
    """Suggest parameters for a name, whose first parts may name a group and the others a field in it."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        group, field = ".".join(parts[:depth]), parts[depth:]
        near = nearest(group, (known for known in read if known.count(".") == depth - 1))
        if near:
            return f"did you mean {' or '.join('.'.join([known, *field]) for known in near)}?"
    return suggest(name, read)


def check_parameters(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse wrong values and unknown fields before Kedro does, which reports them twice and without suggestions.

    Args:
        values: All parameters.
        given: Those of the command line, which are checked first: a mistake in them is the likeliest.

    Raises:
        EaseError: Naming each wrong field of a parameter, and the near ones where no such field exists.
    """
    types = TypeExtractor(dict(pipelines)).extract_types_from_pipelines()
    named = dotted(given)
    first = [name for name in types if any(f"{field}.".startswith(f"{name}.") for field in named)]
    for name in dict.fromkeys([*first, *types]):
        value: Any = values
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            _check_parameter(name, value, types[name])


def _check_parameter(name: str, value: Any, kind: type[BaseModel]) -> None:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise EaseError(f"Parameter `{name}`: {format_validation_error(error, kind)}") from error
