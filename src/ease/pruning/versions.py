"""Versions of datasets in a data folder, and those that are needed."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ease.io.files import read_json

SIDECAR = "provenance.json"
"""File beside a version that records what the version was made from."""

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}\.\d{2}\.\d{2}\.\d{3}Z")


class Version(NamedTuple):
    """One version of a dataset: the folder `<dataset>/<time>`, which holds a file or folder with the dataset's name."""

    folder: Path

    @property
    def complete(self) -> bool:
        """Return whether the version was saved completely."""
        return (self.folder / self.folder.parent.name).exists()

    def provenance(self) -> dict[str, Any]:
        """Return what the version was made from; empty if not recorded."""
        recorded = read_json(self.folder / SIDECAR)
        return recorded if isinstance(recorded, dict) else {}


def find_versions(data: Path) -> Iterator[Version]:
    """Yield the versions of all datasets below a folder, without following links."""
    for place, folders, _ in os.walk(data):
        for name in sorted(folders):
            if _VERSION.fullmatch(name):
                yield Version(Path(place, name))
        folders[:] = [name for name in folders if not _VERSION.fullmatch(name)]


def needed_versions(versions: Sequence[Version], keep: int) -> set[Version]:
    """Return the newest versions of each dataset, and every version that one of these was made from.

    Args:
        versions: All versions.
        keep: Complete versions to keep of each dataset.
    """
    by_dataset: dict[Path, list[Version]] = defaultdict(list)
    for version in versions:
        if version.complete:
            by_dataset[version.folder.parent].append(version)
    needed: set[Version] = set()
    waiting = [version for own in by_dataset.values() for version in sorted(own)[-keep:]]
    names = {version: version.provenance().get("dataset") for own in by_dataset.values() for version in own}
    while waiting:
        version = waiting.pop()
        if version not in needed:
            needed.add(version)
            inputs = version.provenance().get("inputs", {}).items()
            # A version without a recorded name is matched only by its time.
            waiting += [
                other
                for other, name in names.items()
                if any(other.folder.name == time and name in (None, dataset) for dataset, time in inputs)
            ]
    return needed
