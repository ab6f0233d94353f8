"""Print user errors in one line without a traceback; check names and parameters of a command before its run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
from pydantic import TypeAdapter, ValidationError
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
from ease.io.suggestions import nearest, suggest
from ease.io.validation import format_validation_error
from ease.pipelines.engine import ENGINES, check_engine
from ease.pipelines.recipe import Recipe
from ease.training.interruption import TrainingInterrupted

_FIXABLE = (EaseError, ParameterValidationError, DatasetError, OmegaConfBaseException, YAMLError)


class ConciseErrors:
    """Prints user errors without a traceback; refuses names and parameters that do not exist."""

    # Before the plugins' hooks, which would report a wrong environment in their own words.
    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Replace the display of uncaught exceptions, then check the command line."""
        sys.excepthook = show_exception
        loader = context.config_loader
        check_environment(context)
        check_run_names()
        correct_given_parameters(loader)
        given = loader.runtime_params or {}
        if any(name.startswith(SHARED) for name in given):
            check_shared_values(given, configured_parameters(loader))
        refuse_unknown_parameters(given)
        check_engine(given.get("engine", ENGINES[0]))
        refuse_dotted_keys(loader["parameters"])
        check_parameters(loader["parameters"], given)


def show_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print one line for a user error or a requested stop; print other errors with their traceback."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    found = [cause for cause in reversed(chain) if isinstance(cause, _FIXABLE)]
    # The innermost error is the most exact one, but the outermost of YAML's errors names the file.
    exact = (cause for cause in found if not isinstance(cause, YAMLError))
    fixable = next(exact, found[-1] if found else None)
    if isinstance(fixable, TrainingInterrupted):
        click.secho(str(fixable), fg="yellow", err=True)
    elif issubclass(kind, KeyboardInterrupt):
        click.secho("Stopped.", fg="yellow", err=True)
    elif fixable is None:
        sys.__excepthook__(kind, error, trace)
    else:
        # Messages of libraries are joined into one line; ours may list several faults, one per line.
        text = str(fixable) if isinstance(fixable, EaseError) else " ".join(_with_line(fixable).split())
        click.secho(f"Error: {text}", fg="red", err=True)


def _with_line(error: BaseException) -> str:
    """Return an error's text, with line and reason of a YAML fault: Kedro counts from 0 and gives no reason."""
    cause = error.__cause__
    mark = getattr(cause, "problem_mark", None)
    if mark is None:
        return str(error)
    problem = getattr(cause, "problem", "")
    if "cannot start any token" in problem:
        problem += " (indent with spaces, not with tabs)"
    return f"{str(error).partition(', unable to read')[0]}, line {mark.line + 1}, column {mark.column + 1}: {problem}."


def refuse_unknown_parameters(given: dict[str, Any]) -> None:
    """Refuse a `--params` name that no pipeline reads; Kedro would ignore it without a message.

    The options class of a group checks the group's own fields.

    Raises:
        EaseError: With the parameter and the nearest known ones.
    """
    inputs = {name for pipeline in pipelines.values() for name in pipeline.inputs()}
    read = {name.removeprefix("params:") for name in inputs if is_parameter(name)}
    for name in dotted(given):
        if not name.startswith(SHARED) and not any(_is_within(name, known) for known in read):
            raise EaseError(
                f"No pipeline reads the parameter `{name}` given by --params: {_hint(name, read)}"
            )


def _is_within(field: str, group: str) -> bool:
    return f"{field}.".startswith(f"{group}.")


def _hint(name: str, read: set[str]) -> str:
    """Suggest known parameters; the first parts of a name may be a group and the last ones a field of the group."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        group, field = ".".join(parts[:depth]), parts[depth:]
        if any(known.startswith(f"{group}.") for known in read):
            continue  # the group exists: one of its fields is misspelt
        near = nearest(group, (known for known in read if known.count(".") == depth - 1))
        if near:
            return f"did you mean {' or '.join('.'.join([known, *field]) for known in near)}?"
    return suggest(name, read)


def refuse_dotted_keys(values: Mapping[str, Any]) -> None:
    """Refuse a name with dots in a file of parameters, which only `--params` splits: it would have no effect.

    Raises:
        EaseError: With the name and the right form.
    """
    for name in values:
        if "." in name:
            nested = ": {".join(name.split(".")) + ": …" + "}" * name.count(".")
            raise EaseError(
                f"The parameter `{name}` in a configuration file has no effect: write `{nested}`."
            )


def check_parameters(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse wrong values and unknown fields; Kedro would report them twice and without suggestions.

    Those given on the command line are checked first, as the likeliest to be wrong. The methods' parameters of other
    recipes are checked before the first node of a run that reads them.

    Raises:
        EaseError: With each wrong field, and the nearest known ones if there is no such field.
    """
    types = TypeExtractor(dict(pipelines)).extract_types_from_pipelines()
    named = dotted(given)
    first = [name for name in types if any(_is_within(field, name) for field in named)]
    for name in dict.fromkeys([*first, *types]):
        value: Any = values
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            continue
        try:
            found: Any = TypeAdapter(types[name]).validate_python(value)
            if name in first and isinstance(found, Recipe):
                found.check_options()
        except ValidationError as error:
            raise EaseError(f"Parameter `{name}`: {format_validation_error(error, types[name])}") from error
        except EaseError as error:
            raise EaseError(f"Parameter `{name}`: {error}") from error
