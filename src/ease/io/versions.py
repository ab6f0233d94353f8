"""Versions of datasets in a data folder: `<dataset>/<time>/<name>`, where the file or folder has the dataset's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ease.io.files import read_json

SIDECAR = "provenance.json"
"""File beside a version that records what the version was made from"""

MODELS = "06_models"
"""Folder, in a data folder, of the encoders: `<setting>/<method>/encoder`"""

_ENCODER = "encoder"


def saved_versions(dataset: Path) -> list[Path]:
    """Return the saved files or folders of a dataset, the oldest first."""
    return sorted(dataset.glob(f"*/{dataset.name}"))


def saved_encoders(models: Path, setting: str, method: str) -> list[Path]:
    """Return the folders of an encoder's versions, the oldest first."""
    return saved_versions(models / setting / method / _ENCODER)


def trained_methods(models: Path) -> list[tuple[str, str]]:
    """Return the setting and the method of each saved encoder, in alphabetical order."""
    return sorted({setting_and_method(path) for path in models.glob(f"*/*/{_ENCODER}/*/{_ENCODER}")})


def setting_and_method(encoder: Path) -> tuple[str, str]:
    """Return the setting and the method of a saved encoder."""
    setting, method = encoder.parts[-5:-3]
    return setting, method


def provenance_of(version: Path) -> dict[str, Any]:
    """Return what the version in a folder was made from; empty if not recorded."""
    recorded = read_json(version / SIDECAR)
    return recorded if isinstance(recorded, dict) else {}
