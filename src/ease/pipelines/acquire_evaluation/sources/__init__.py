"""Where evaluation sets may be fetched from: a file `<task>.yml` here for each task of which that is known."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _below(path: str) -> str:
    """Refuse a path that would lead out of the folder."""
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts:
        raise ValueError(f"{path!r} is no path below the evaluation folder")
    return path


Below = Annotated[str, AfterValidator(_below)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Listed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileGroup(_Listed):
    """Files that lie side by side."""

    address: str = Field(description="what the files' addresses begin with")
    folder: Below = Field(description="where to put them, below the evaluation folder")
    sha256: dict[Below, Sha256 | None] = Field(description="by the files' names; null where it is not known")


class Member(_Listed):
    """A file of an archive."""

    path: Below = Field(description="where to put it, below the evaluation folder")
    sha256: Sha256 | None = Field(None, description="null where it is not known")


class Archive(_Listed):
    """A zip or tar file."""

    url: str
    members: dict[str, Member] = Field(description="the files to take of it, by their names in it")
    most_bytes: int = Field(2 << 30, gt=0, description="that those may have together")


class Source(_Listed):
    """Where a task's data come from."""

    licence: str
    files: tuple[FileGroup, ...] = ()
    archives: tuple[Archive, ...] = ()


def read_sources() -> dict[str, Source]:
    """The sources that this project knows, by task; MLDoc is not among them, since Reuters licenses its text."""
    folder = files(__name__)
    return {
        entry.name.removesuffix(".yml"): Source.model_validate(yaml.safe_load(entry.read_text("utf-8")))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yml")
    }
