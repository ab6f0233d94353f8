"""The base class of parameters and of records that are written as JSON, and types of lists on the command line."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator


def split_words(value: Any) -> Any:
    """Split a string into words, as a list is given on the command line; return other values as they are."""
    return value.split() if isinstance(value, str) else value


class StrictModel(BaseModel):
    """A Pydantic model that refuses unknown fields and does not change after its construction.

    A list may be given as words with spaces between them, or as a single number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _listed(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str | int | float) and info.field_name in _list_fields(cls):
            return split_words(value) if isinstance(value, str) else [value]
        return value


@cache
def _list_fields(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of the fields that hold lists, and not texts."""
    return frozenset(name for name, field in model.model_fields.items() if _is_list(field.annotation))


def _is_list(kind: Any) -> bool:
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    bare = [get_args(one)[0] if get_origin(one) is Annotated else one for one in kinds]
    return any(get_origin(one) is tuple and Ellipsis in get_args(one) for one in bare) and str not in bare


Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
"""Words of a list in a list, or of a parameter outside a model"""

Numbers = tuple[Annotated[int, Field(ge=0)], ...]
Dimensions = tuple[Annotated[int, Field(ge=1)], ...]
"""Numbers of first dimensions of embeddings"""
