"""Download sources of evaluation sets, one file `<task>.yml` for each task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from ease.io.files import read_data_file
from ease.io.models import StrictModel


def _below(path: str) -> str:
    """Refuse a path outside the evaluation folder."""
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts:
        raise ValueError(f"{path!r} is not a path below the evaluation folder")
    return path


Below = Annotated[str, AfterValidator(_below)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class FileGroup(StrictModel):
    """Files of one folder."""

    address: str = Field(description="common prefix of the files' URLs")
    folder: Below = Field(description="target folder, below the evaluation folder")
    sha256: dict[Below, Sha256 | None] = Field(description="checksums by the files' names; null if unknown")


class Member(StrictModel):
    """A file of an archive."""

    path: Below = Field(description="target path, below the evaluation folder")
    sha256: Sha256 | None = Field(None, description="null if unknown")


class Archive(StrictModel):
    """A zip or tar file."""

    url: str
    members: dict[str, Member] = Field(description="the files to unpack, by their names in the archive")


class Source(StrictModel):
    """The source of a task's data."""

    licence: str
    files: tuple[FileGroup, ...] = ()
    archives: tuple[Archive, ...] = ()


@cache
def read_sources() -> Mapping[str, Source]:
    """Return the known sources by task; MLDoc has no source, since Reuters licenses its text."""
    names = sorted(entry.name for entry in files(__name__).iterdir() if entry.name.endswith(".yml"))
    return {
        name.removesuffix(".yml"): Source.model_validate(read_data_file(__name__, name)) for name in names
    }
