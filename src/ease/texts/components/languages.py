"""The languages that a file has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ease.errors import EaseError

if TYPE_CHECKING:
    import ibis.expr.types as ir


def check_spoken(column: ir.StringColumn, wanted: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return the languages of a file, sorted, after looking for those that are wanted.

    Raises:
        EaseError: Naming the languages that it lacks, and those that it has.
    """
    spoken = tuple(sorted(column.name("language").as_table().distinct()["language"].to_pyarrow().to_pylist()))
    absent = [language for language in wanted if language not in spoken]
    if absent:
        named = ", ".join(filter(None, spoken))
        raise EaseError(
            f"{path} has nothing in {', '.join(absent)}: "
            f"{f'it has {named}; choose from these' if named else 'it names no languages; leave `languages` null'}."
        )
    return spoken
