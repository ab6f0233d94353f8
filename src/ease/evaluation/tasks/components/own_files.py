"""A user's own files as sets of a task: comma- or tab-separated, or one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from ease.errors import EaseError
from ease.evaluation.tasks import Files
from ease.evaluation.tasks.components.labelled_texts import read_objects
from ease.evaluation.tasks.components.options import SubsetOptions
from ease.io.models import StrictModel
from ease.io.text_tables import read_records

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson", ".json")
COMPRESSED = (".gz", ".bz2")


class OwnSet(StrictModel):
    """A file with columns."""

    file: Path = Field(
        description="`.csv`, `.tsv` or `.jsonl`, also compressed; below the task's `path`, or absolute"
    )
    licence: str = Field(min_length=1, description="licence of the texts, such as `CC BY 4.0` or `private`")

    def files(self, folder: Path) -> tuple[Path, ...]:
        """Return the files of the set, in the folder of its task."""
        return (folder / self.file,)


def select_own(options: SubsetOptions, sets: Mapping[str, OwnSet], task: str) -> Files:
    """Return the files of the chosen sets.

    Raises:
        EaseError: If a chosen set is not configured.
    """
    if not sets and options.subsets:
        raise EaseError(
            f"No set {', '.join(options.subsets)}: configure `tasks.{task}.sets.{options.subsets[0]}` "
            "(docs/own_data.md)."
        )
    return options.select({name: chosen.files(options.path) for name, chosen in sets.items()})


def require_own(files: Files, task: str) -> Files:
    """Return the files; refuse a task without any set."""
    if not files:
        raise EaseError(f"No set is configured: add one to `tasks.{task}.sets` (docs/own_data.md).")
    return files


def read_own_rows(path: Path, columns: Mapping[str, str | None]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place and the texts of each row by the columns' roles, without white space at their ends.

    Args:
        path: The file; its ending determines the format.
        columns: Name of the column of each role; None if the file has none.

    Raises:
        EaseError: If the ending is unknown, a column is missing, or a row is wrong or blank.
    """
    named = {role: column for role, column in columns.items() if column is not None}
    for place, row in _rows(path, list(named.values())):
        yield place, {role: _text(place, row[column]) for role, column in named.items()}


def required(place: str, row: Mapping[str, str], columns: Mapping[str, str | None], *roles: str) -> list[str]:
    """Return the texts of roles, none of which may be blank."""
    for role in roles:
        if not row[role]:
            raise EaseError(f"{place}: the column {columns[role]!r} is blank; fill it in or remove the row.")
    return [row[role] for role in roles]


def _rows(path: Path, columns: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    endings = [suffix.lower() for suffix in reversed(path.suffixes)]
    ending = next((suffix for suffix in endings if suffix not in COMPRESSED), "")
    if ending in JSON_LINES:
        return read_objects(path, columns)
    if ending in DELIMITERS:
        return read_records(path, columns, DELIMITERS[ending], quoted=ending == ".csv")
    known = ", ".join([*DELIMITERS, *JSON_LINES])
    raise EaseError(f"{path}: the ending {ending!r} is unknown: name the file by what it is, one of {known}.")


def _text(place: str, value: Any) -> str:
    if isinstance(value, dict | list):
        raise EaseError(f"{place}: {value!r} is not text but a {type(value).__name__}; give a row for each.")
    return "" if value is None else str(value).strip()
