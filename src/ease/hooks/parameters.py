"""Correct and check parameters before a run: those given by `--params`, and those of the configuration files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedro.config import AbstractConfigLoader
from kedro.framework.project import pipelines
from kedro.io.core import is_parameter
from kedro.validation.type_extractor import TypeExtractor
from pydantic import TypeAdapter, ValidationError

from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.nested import dotted
from ease.io.suggestions import nearest, suggest
from ease.io.validation import format_validation_error
from ease.pipelines.recipe import Recipe

SHARED = "_"
"""First character of values that other parameters refer to (`${_dueam_data.${_dueam}}`); no node reads them."""


def correct_given_parameters(loader: AbstractConfigLoader) -> None:
    """Read `--params acquire.wikipedia=sample:` as the text `sample:`, which YAML parses as a mapping.

    Call this before Kedro merges the given parameters with the configured ones.
    """
    given = loader.runtime_params or {}
    if None in dotted(given).values():
        restore_trailing_colons(given, configured_parameters(loader))


def configured_parameters(loader: AbstractConfigLoader) -> dict[str, Any]:
    """Return the parameters of the configuration files without those of the command line."""
    given, loader.runtime_params = loader.runtime_params, {}
    try:
        return dict(loader["parameters"])
    finally:
        loader.runtime_params = given


def restore_trailing_colons(given: dict[str, Any], configured: Mapping[str, Any]) -> None:
    """Replace, in place, each mapping `{text: null}` by `text:` if the configured parameter is not a mapping."""
    for name, value in given.items():
        if not isinstance(value, dict) or name not in configured:
            continue
        text = f"{next(iter(value))}:" if list(value.values()) == [None] else None
        if not isinstance(configured[name], Mapping):
            given[name] = text or value
        elif name == "encoder" and text == RANDOM:
            # `random` is also a field of the encoder: its architecture, which is never null and stays as configured.
            given[name] = {"name": RANDOM, "pooling": None}
        else:
            restore_trailing_colons(value, configured[name])


def check_shared_values(given: Mapping[str, Any], configured: Mapping[str, Any]) -> None:
    """Check the shared values among the given parameters.

    Raises:
        EaseError: If the configuration has no such shared value, or the value is not one of its choices.
    """
    known = sorted(name for name in configured if name.startswith(SHARED))
    for name in (name for name in given if name.startswith(SHARED)):
        if name not in known:
            raise EaseError(f"No parameter refers to `{name}`, given by --params: {suggest(name, known)}")
        # The choices of `_dueam` are the keys of `_dueam_data`; without such a table, any value is right.
        default = configured[name]
        tables = [value for key, value in configured.items() if key.startswith(f"{name}_")]
        found = (table for table in tables if isinstance(table, Mapping) and default in table)
        choices = list(map(str, next(found, ()))) if isinstance(default, str) else []
        if choices and given[name] not in choices:
            raise EaseError(f"`{name}` is {given[name]!r}: choose {' or '.join(choices)}.")


def refuse_unknown_parameters(values: dict[str, Any], place: str = "given by --params") -> None:
    """Refuse a name that no pipeline reads; Kedro would ignore it without a message.

    The options class of a group checks the group's own fields.

    Args:
        values: Parameters by their names.
        place: Where they are written, for the message.

    Raises:
        EaseError: With the parameter and the nearest known ones.
    """
    inputs = {name for pipeline in pipelines.values() for name in pipeline.inputs()}
    read = {name.removeprefix("params:") for name in inputs if is_parameter(name)}
    for name in dotted(values):
        if not name.startswith(SHARED) and not any(_is_within(name, known) for known in read):
            raise EaseError(f"No pipeline reads the parameter `{name}` {place}: {_hint(name, read)}")


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
