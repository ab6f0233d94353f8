"""Errors of validated parameters in one line, with suggestions for misspelt and renamed ones."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from ease.errors import EaseError
from ease.io.suggestions import nearest

Model = TypeVar("Model", bound=BaseModel)

RENAMED = {
    "checkpoint_every": "checkpoint_seconds",
    "block_rows": "mini_batch_size",
    "hard_negative_bonus": "hard_negative_weight",
    "languages": "setting.languages",
    "max_gradient_norm": "max_grad_norm",
    "pooling": "setting.encoder.pooling",
    "start": "setting.start",
    "steps": "max_steps",
    "tasks": "setting.test_tasks",
}
"""Former names of parameters with their current names, from the same place, for the error message."""


def validate(model: type[Model], values: Any, what: str) -> Model:
    """Validate a mapping or a JSON text.

    Raises:
        EaseError: With `what`, and every invalid field.
    """
    try:
        return model.model_validate_json(values) if isinstance(values, str) else model.model_validate(values)
    except ValidationError as error:
        raise EaseError(f"{what}: {format_validation_error(error, model)}") from error


def format_validation_error(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line that names every invalid field and its error, with suggestions for misspelt names."""
    return "; ".join(_describe(one["type"], one["loc"], one["msg"], model) for one in error.errors())


def _describe(kind: str, place: tuple[int | str, ...], message: str, model: type[BaseModel]) -> str:
    field = ".".join(map(str, place))
    if kind != "extra_forbidden":
        about = f"{field}: " if field else ""
        return f"{about}{message.removeprefix('Value error, ')}"
    known = _fields(model, place[:-1])
    renamed = RENAMED.get(str(place[-1]), "")
    if renamed.partition(".")[0] in known:
        return f"`{field}` was renamed: use `{renamed}`"
    near = nearest(str(place[-1]), known)
    hint = f": did you mean {' or '.join(near)}?" if near else f"; it has {', '.join(known)}" if known else ""
    return f"there is no field `{field}`{hint}"


def _fields(annotation: Any, place: tuple[int | str, ...]) -> list[str]:
    """Return the fields of the model at a place within a type; none if there is no model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not place:
            return list(annotation.model_fields)
        found = annotation.model_fields.get(str(place[0]))
        return _fields(found.annotation, place[1:]) if found else []
    # A union has the place of its members; a list or mapping is one step above its items.
    inner = (_fields(part, rest) for part in get_args(annotation) for rest in (place, place[1:]))
    return next((fields for fields in inner if fields), [])
