"""Versions of data sets in a data folder, `<dataset>/<time>/<name>`, and what each was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.io.files import read_json

SIDECAR = "provenance.json"
"""File beside a version that records what the version was made from"""


def saved_versions(dataset: Path) -> list[Path]:
    """Return the saved files or folders of a dataset, the oldest first."""
    return sorted(dataset.glob(f"*/{dataset.name}"))


def linked_version(dataset: Path, link: Path) -> Path | None:
    """Return the version of a dataset to which a symbolic link leads; None if it leads elsewhere or nowhere."""
    target = link.resolve()
    is_version = target.name == dataset.name and target.parent.parent == dataset.resolve()
    if not link.is_symlink() or not is_version or not target.exists():
        return None
    return dataset / target.parent.name / dataset.name


def provenance_of(version: Path) -> dict[str, Any]:
    """Return what the version in a folder was made from; empty if not recorded."""
    recorded = read_json(version / SIDECAR)
    return recorded if isinstance(recorded, dict) else {}
