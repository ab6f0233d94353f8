"""Checks of the arguments of the library's public functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache, wraps
from reprlib import repr as shortened
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ease.errors import EaseError

Function = TypeVar("Function", bound=Callable[..., Any])

# Strict elsewhere: bytes are no text. NumPy's integers are accepted here.
Count = Annotated[int, Field(strict=False, ge=1)]
Seconds = Annotated[float, Field(strict=False, ge=0, allow_inf_nan=False)]

_CONFIGURATION = ConfigDict(strict=True, arbitrary_types_allowed=True)


def checked(function: Function) -> Function:
    """Return a function that raises EaseError for an argument of another type than its signature's, in one line."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        bound = inspect.signature(function).bind(*args, **options)
        for name, adapter in _adapters(function).items():
            if name in bound.arguments:
                bound.arguments[name] = _validated(function, name, adapter, bound.arguments[name])
        return function(*bound.args, **bound.kwargs)

    return cast(Function, call)


@cache
def _adapters(function: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    """Return the validators of a function's arguments by name, but for `self` and `**options`."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    return {name: TypeAdapter(hints[name], config=_CONFIGURATION) for name in names if name in hints}


def _validated(function: Callable[..., Any], name: str, adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        accepted = re.sub(r"\b\w+\.", "", inspect.formatannotation(get_type_hints(function)[name]))
        accepted = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", accepted)
        # Each member of a union has its own error of the type, which the accepted types say better.
        limits = [fault["msg"] for fault in error.errors() if fault["type"] == "greater_than_equal"]
        reason = "".join(f" ({limit})" for limit in limits)
        place = function.__qualname__.removesuffix(".__init__")
        excerpt = " ".join(shortened(value).split())
        raise EaseError(f"`{name}` of `{place}` is {excerpt}{reason}: give {accepted}.") from None
