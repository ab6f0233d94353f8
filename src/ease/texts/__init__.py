"""Training texts from any source, one kind a file: found by their file names, not listed.

A kind's module holds `Options` and `read`, as `Kind` describes them. Modules whose names begin with an underscore hold
what several kinds share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from pydantic import ValidationError

from ease.errors import EaseError
from ease.io.registry import format_validation_error, module_names, named_module
from ease.texts.components.mixture import Gathered, Reader, gather
from ease.texts.components.options import COLUMNS, Source, SourceOptions
from ease.texts.components.workspace import Workspace, open_workspace

__all__ = [
    "COLUMNS",
    "Gathered",
    "Kind",
    "Source",
    "SourceOptions",
    "Workspace",
    "gather_texts",
    "get_kind",
    "kind_names",
    "open_workspace",
    "source_options",
]


class Kind(Protocol):
    """What the module of a kind of source holds."""

    Options: type[SourceOptions]

    def read(self, options: SourceOptions, workspace: Workspace, seed: int) -> Source:
        """Make the source's texts a table, in bounded memory.

        Raises:
            EaseError: Naming the file and the line that are wrong.
        """


def kind_names() -> list[str]:
    """Names of all kinds of sources, sorted."""
    return module_names(__path__)


def get_kind(name: str) -> Kind:
    """Find a kind of source by its name.

    Raises:
        EaseError: If there is none of that name, with the nearest one.
    """
    return cast(Kind, named_module(__name__, name, kind_names(), "kind of texts in `data`"))


def source_options(values: Mapping[str, Any]) -> SourceOptions:
    """Check one entry of a recipe's `data`.

    Raises:
        EaseError: Naming the kind and every parameter that is wrong.
    """
    if "kind" not in values:
        raise EaseError(f"A source in `data` has no `kind`: choose from {', '.join(kind_names())}.")
    options = get_kind(str(values["kind"])).Options
    try:
        return options.model_validate(values)
    except ValidationError as error:
        known = ", ".join(options.model_fields)
        raise EaseError(
            f"`data` of kind {values['kind']!r}: {format_validation_error(error, options)}. It takes {known}."
        ) from error


def gather_texts(
    sources: list[SourceOptions], workspace: Workspace, seed: int, rows: int | None = None
) -> Gathered:
    """Read the sources and mix them.

    Args:
        sources: What to read, each with its weight.
        workspace: Where to compute.
        seed: Chooses rows, languages and pairs; the engine's threads do not matter.
        rows: In all; None for as many as the weights allow.

    Raises:
        EaseError: If a source is faulty, holds nothing or too little.
    """
    readers = [Reader(options, get_kind(options.kind).read) for options in sources]
    return gather(readers, workspace, seed, rows)
