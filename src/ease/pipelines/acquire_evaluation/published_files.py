"""Where the evaluation sets of the package's tasks are published, as `sources/<task>.yml` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from ease.errors import EaseError
from ease.evaluation.tasks import package_tasks
from ease.evaluation.tasks.base import fill_subset
from ease.io.files import read_data_file
from ease.names import suggest
from ease.options import StrictModel, Words

_PACKAGE = "ease.pipelines.acquire_evaluation"
_FOLDER = "sources"


class PublishedFile(NamedTuple):
    """One file of a task: its path below the evaluation folder, and where it is published."""

    path: str
    sha256: str | None
    url: str
    member: str = ""
    """Name in the archive at `url`; empty for a single file."""


class PublishedFiles(StrictModel):
    """Files of one folder; `{subset}`, `{left}` and `{right}` are filled in as in the `file` of a task."""

    folder: str = Field(description="target folder, below the evaluation folder")
    files: Words = Field(min_length=1, description="names below `folder`, for each subset")
    subsets: Words = Field((), description="subsets to fill in; in a file without them, the `names` of the task")
    sha256: dict[str, str] = Field({}, description="known checksums by the files' names")

    @model_validator(mode="after")
    def _have_checksums_of_files(self) -> Self:
        names = {name for _, name in self.names()}
        for name in self.sha256.keys() - names:
            raise EaseError(f"`sha256` has a checksum of {name!r}, which is none of the files: {suggest(name, names)}")
        return self

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield each subset with the name of each of its files; a file of several subsets once, with the first."""
        seen = set()
        for subset in self.subsets or ("",):
            for template in self.files:
                name = fill_subset(template, subset)
                if name not in seen:
                    seen.add(name)
                    yield subset, name


class SingleFiles(PublishedFiles):
    """Files that are published one by one."""

    address: str = Field(description="common prefix of the files' URLs")

    def published(self) -> Iterator[PublishedFile]:
        """Yield the files."""
        for _, name in self.names():
            yield PublishedFile(f"{self.folder}/{name}", self.sha256.get(name), f"{self.address}{name}")


class ArchivedFiles(PublishedFiles):
    """Files of zip or tar files."""

    url: str = Field(description="address of the archive, or of an archive for each subset")
    inside: str = Field("", description="common prefix of the files' names in the archive")

    def published(self) -> Iterator[PublishedFile]:
        """Yield the files."""
        for subset, name in self.names():
            url = fill_subset(self.url, subset)
            yield PublishedFile(f"{self.folder}/{name}", self.sha256.get(name), url, f"{self.inside}{name}")


class Source(StrictModel):
    """The source of a task's data."""

    licence: str
    files: tuple[SingleFiles, ...] = ()
    archives: tuple[ArchivedFiles, ...] = ()

    def published(self) -> list[PublishedFile]:
        """Return the files of the source."""
        groups: tuple[SingleFiles | ArchivedFiles, ...] = (*self.files, *self.archives)
        return [file for group in groups for file in group.published()]


@cache
def read_sources() -> Mapping[str, Source]:
    """Return the known sources by task; MLDoc has no source, since Reuters licenses its text."""
    tasks = package_tasks()
    files = sorted(entry.name for entry in resources.files(_PACKAGE).joinpath(_FOLDER).iterdir())
    sources = {}
    for task, file in ((name.removesuffix(".yml"), name) for name in files if name.endswith(".yml")):
        values = read_data_file(_PACKAGE, f"{_FOLDER}/{file}")
        for group in (*values.get("files", ()), *values.get("archives", ())):
            # The package's task, since a project's own subsets are not published here.
            group.setdefault("subsets", tasks[task].get("names", ()))
        sources[task] = Source.model_validate(values)
    return sources
