"""Languages of a file of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ease.errors import EaseError

if TYPE_CHECKING:
    import ibis.expr.types as ir


def check_languages(column: ir.StringColumn, wanted: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the sorted languages of a file.

    Raises:
        EaseError: If a wanted language is missing, with the existing ones.
    """
    found = tuple(sorted(column.name("language").as_table().distinct()["language"].to_pyarrow().to_pylist()))
    absent = [language for language in wanted if language not in found]
    if absent:
        named = ", ".join(filter(None, found))
        raise EaseError(
            f"{path} has nothing in {', '.join(absent)}: "
            f"{f'it has {named}; choose from these' if named else 'it names no languages; leave `languages` null'}."
        )
    return found
