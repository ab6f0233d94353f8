"""The base class of parameters and of records that are written as JSON, and types of lists on the command line."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class StrictModel(BaseModel):
    """A Pydantic model that refuses unknown fields and does not change after its construction."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def split_words(value: Any) -> Any:
    """Split a string into words, as a list is given on the command line; return other values as they are."""
    return value.split() if isinstance(value, str) else value


def _split_numbers(value: Any) -> Any:
    return [value] if isinstance(value, int) else split_words(value)


Words = Annotated[tuple[str, ...], BeforeValidator(split_words)]
Numbers = Annotated[tuple[Annotated[int, Field(ge=0)], ...], BeforeValidator(_split_numbers)]
Dimensions = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_split_numbers)]
"""Numbers of first dimensions of embeddings"""
