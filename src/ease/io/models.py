"""The base class of parameters and of records that are written as JSON, and types of lists on the command line."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator


def split_words(value: Any) -> Any:
    """Split a string into words, as a list is given on the command line; YAML reads the language code `no` as false."""
    if isinstance(value, list | tuple):
        return ["no" if word is False else word for word in value]
    return value.split() if isinstance(value, str) else value


class StrictModel(BaseModel):
    """A Pydantic model that refuses unknown fields and does not change after its construction.

    A list may be given as words with spaces between them, or as a single number. A text may be what YAML reads as
    another value: `sample:` as a mapping, and `no` as false.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _as_meant(cls, value: Any, info: ValidationInfo) -> Any:
        kinds = _kinds(cls)[info.field_name or ""]
        if str in kinds and bool not in kinds:
            value = "no" if value is False else value
            is_key = isinstance(value, dict) and list(value.values()) == [None]
            return f"{next(iter(value))}:" if is_key else value
        if any(get_origin(kind) is tuple and Ellipsis in get_args(kind) for kind in kinds):
            value = "no" if value is False else value
            return split_words([value] if isinstance(value, int | float) else value)
        return value


@cache
def _kinds(model: type[BaseModel]) -> dict[str, list[Any]]:
    """Return the types that each field accepts."""
    found = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        found[name] = [get_args(one)[0] if get_origin(one) is Annotated else one for one in kinds]
    return found


Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
"""Words of a list in a list, or of a parameter outside a model"""

Numbers = tuple[Annotated[int, Field(ge=0)], ...]
Dimensions = tuple[Annotated[int, Field(ge=1)], ...]
"""Numbers of first dimensions of embeddings"""
