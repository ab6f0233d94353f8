"""Training texts from any source: one module per kind, found by its file name.

A kind's module defines `Options` and `read`, as `Kind` describes them. The package `components` has the code that
several kinds share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from pydantic import ValidationError

from ease.errors import EaseError
from ease.io.registry import module_names, named_module
from ease.io.validation import format_validation_error
from ease.texts.components.mixture import Gathered, Source, SourceOptions, Workspace, gather


class Kind(Protocol):
    """Interface of a kind's module."""

    Options: type[SourceOptions]

    def read(self, options: SourceOptions, workspace: Workspace, seed: int) -> Source:
        """Return the source's texts as a table, in bounded memory."""


def kind_names() -> list[str]:
    """Return the sorted names of all kinds."""
    return module_names(__path__)


def get_kind(name: str) -> Kind:
    """Return the module of a kind."""
    return cast(Kind, named_module(__name__, name, kind_names(), "kind of texts in `data`"))


def source_options(values: Mapping[str, Any]) -> SourceOptions:
    """Return the validated options of one entry of a recipe's `data`.

    Raises:
        EaseError: With the kind and every invalid parameter.
    """
    if "kind" not in values:
        raise EaseError(f"A source in `data` has no `kind`: choose from {', '.join(kind_names())}.")
    options = get_kind(str(values["kind"])).Options
    try:
        return options.model_validate(values)
    except ValidationError as error:
        known = ", ".join(options.model_fields)
        raise EaseError(
            f"`data` of kind {values['kind']!r}: {format_validation_error(error, options)}. Its parameters are {known}."
        ) from error


def gather_texts(
    sources: list[SourceOptions], workspace: Workspace, seed: int, rows: int | None = None
) -> Gathered:
    """Read the sources and mix `rows` of their texts, or the maximum number that the weights allow.

    The seed determines the drawn rows, languages and pairs, for any number of threads.

    Raises:
        EaseError: If a source is invalid, empty or too small.
    """
    readers = [(options, get_kind(options.kind).read) for options in sources]
    return gather(readers, workspace, seed, rows)
