"""Parameters: their base class, lists on the command line, nested mappings, and errors in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from ease.errors import EaseError
from ease.names import suggest

Model = TypeVar("Model", bound=BaseModel)

Rows = list[dict[str, Any]]
"""Rows of a table that is saved as JSON"""


def split_words(value: Any) -> Any:
    """Split a string into words, as a list is given on the command line; YAML reads the language code `no` as false."""
    if isinstance(value, list | tuple):
        return ["no" if word is False else word for word in value]
    return value.split() if isinstance(value, str) else value


def as_text(value: Any) -> Any:
    """Return the text that YAML has read as another value: `random:` as a mapping, and `no` as false."""
    if isinstance(value, dict) and list(value.values()) == [None]:
        return f"{next(iter(value))}:"
    return "no" if value is False else value


Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
"""Words of a list in a list, or of a parameter outside a model"""

Numbers = tuple[Annotated[int, Field(ge=0)], ...]
Dimensions = tuple[Annotated[int, Field(ge=1)], ...]
"""Numbers of first dimensions of embeddings"""


def _with_unit(value: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+)? ?[kmgt](i?b)?", value, re.IGNORECASE):
        raise ValueError(f"{value!r} is no size in memory: give a number with MB, GB or TB, such as 4GB")
    return value


MemorySize = Annotated[str, AfterValidator(_with_unit)]
"""A size as DuckDB reads it"""


class StrictModel(BaseModel):
    """A Pydantic model that refuses unknown fields and does not change after its construction.

    A list may be given as words with spaces between them, or as a single number. A text may be what YAML reads as
    another value: `sample:` as a mapping, and `no` as false.
    """

    # Deferred: a command builds the validators of the options that it reads, not of all.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _as_meant(cls, value: Any, info: ValidationInfo) -> Any:
        kinds = _kinds(cls)[info.field_name or ""]
        if str in kinds and bool not in kinds:
            return as_text(value)
        if any(get_origin(kind) is tuple and Ellipsis in get_args(kind) for kind in kinds):
            value = "no" if value is False else value
            return split_words([value] if isinstance(value, int | float) else value)
        return value


@cache
def _kinds(model: type[BaseModel]) -> dict[str, list[Any]]:
    """Return the types that each field accepts."""
    kinds_by_field = {}
    for name, field in model.model_fields.items():
        kinds: tuple[Any, ...] = (field.annotation,)
        if get_origin(field.annotation) in (Union, UnionType):
            kinds = get_args(field.annotation)
        kinds_by_field[name] = [get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds]
    return kinds_by_field


def check_limits(options: StrictModel, *quantities: str) -> None:
    """Raise EaseError if the lower limit of a quantity, such as `min_characters`, is above its upper limit."""
    for quantity in quantities:
        minimum = getattr(options, f"min_{quantity}")
        maximum = getattr(options, f"max_{quantity}")
        if minimum > maximum:
            raise EaseError(
                f"`min_{quantity}` ({minimum}) exceeds `max_{quantity}` ({maximum}): lower the first or raise the "
                "second."
            )


def validate(model: type[Model], values: Any, what: str) -> Model:
    """Validate a mapping or a JSON text.

    Raises:
        EaseError: With `what`, and every invalid field.
    """
    try:
        return model.model_validate_json(values) if isinstance(values, str) else model.model_validate(values)
    except ValidationError as error:
        raise EaseError(f"{what}: {format_validation_error(error, model)}") from error


def without_nulls(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without nulls in fields that do not accept null, so that these get the class's default."""
    present: dict[str, Any] = {}
    for name, value in values.items():
        types = _kinds(model).get(name, [])
        group = next((kind for kind in types if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if group is not None and isinstance(value, Mapping):
            present[name] = without_nulls(group, value)
        elif value is not None or not types or type(None) in types:
            present[name] = value
    return present


def format_validation_error(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line that names every invalid field and its error, with suggestions for misspelt names."""
    faults = []
    for fault in error.errors():
        *above, name = map(str, fault["loc"] or [""])
        field = ".".join([*above, name])
        if fault["type"] == "extra_forbidden":
            faults.append(f"there is no field `{field}`: {suggest(name, _fields(model, above))}")
        else:
            message = fault["msg"].removeprefix("Value error, ")
            faults.append(f"{field}: {message}" if field else message)
    return "; ".join(faults)


def _fields(annotation: Any, place: list[str]) -> list[str]:
    """Return the fields of the model at a place within a type; none if there is no model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not place:
            return list(annotation.model_fields)
        if issubclass(annotation, RootModel):
            # The place of an error does not name the root.
            return _fields(annotation.model_fields["root"].annotation, place)
        field = annotation.model_fields.get(place[0])
        return _fields(field.annotation, place[1:]) if field else []
    # A union has the place of its members; a list or mapping is one step above its items.
    inner = (_fields(part, rest) for part in get_args(annotation) for rest in (place, place[1:]))
    return next((fields for fields in inner if fields), [])


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the innermost values by dotted names: `{"a": {"b": 1}}` becomes `{"a.b": 1}`, or `{"prefix.a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}.{key}" if prefix else key
        flat.update(dotted(value, name) if isinstance(value, Mapping) else {name: value})
    return flat


def value_at(values: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return the value of a dotted name in nested mappings, or the default if there is none."""
    value: Any = values
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return default
        value = value[part]
    return value


def is_within(name: str, group: str) -> bool:
    """Return whether a dotted name is that of a group, or of a parameter or group within it."""
    return f"{name}.".startswith(f"{group}.")


def overlaid(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with changes; mappings are merged, all other values replaced."""
    merged = dict(values)
    for name, change in changes.items():
        value = merged.get(name)
        if isinstance(change, Mapping) and isinstance(value, Mapping):
            merged[name] = overlaid(value, change)
        else:
            merged[name] = change
    return merged
