"""Saved encoders in a data folder, what their folders hold, and which encoders the cached embeddings belong to."""

from __future__ import annotations

import os
from pathlib import Path

from ease.io.atomic import write_text_atomically
from ease.io.locks import writing
from ease.io.versions import linked_version, saved_versions

MODELS = "06_models"
"""Folder, in a data folder, of the encoders: `<setting>/<method>/encoder`"""

USERS = ".encoders"
"""Suffix of the file `<fingerprint>.encoders`, by which unused caches are found: one encoder per line."""

HUB = "hub:"
"""Prefix of an encoder that is not a local folder or file."""

RUN_FILE = "training/mlflow_run.json"
"""File, in an encoder's folder, that records what the encoder was trained from and by which MLflow run"""

LATEST = "latest"
"""Symbolic link, beside the versions' folder, to the encoder's current version (the catalog's `link`)"""

_ENCODER = "encoder"


def current_encoder(models: Path, setting: str, method: str) -> Path | None:
    """Return the encoder's version to which `latest` links, else the newest; None if there is none.

    Kedro loads the same version (`PathDataset`).
    """
    dataset = models / setting / method / _ENCODER
    linked = linked_version(dataset, dataset.parent / LATEST)
    if linked is None:
        return next(reversed(saved_versions(dataset)), None)
    return linked


def trained_methods(models: Path) -> list[tuple[str, str]]:
    """Return the setting and the method of each saved encoder, in alphabetical order."""
    return sorted({setting_and_method(path) for path in models.glob(f"*/*/{_ENCODER}/*/{_ENCODER}")})


def setting_and_method(encoder: Path) -> tuple[str, str]:
    """Return the setting and the method of a saved encoder."""
    setting, method = encoder.parts[-5:-3]
    return setting, method


def note_user(cache: Path, fingerprint: str, encoder: str | Path) -> None:
    """Record that an encoder (a folder, file or hub name) has embeddings in the folder of caches.

    Paths are stored relative to the cache, so that both can be moved together.
    """
    file = cache / f"{fingerprint}{USERS}"
    place = Path(encoder)
    user = f"{HUB}{encoder}"
    if place.exists():
        user = os.path.relpath(place.resolve(), cache.resolve())
    if user in _lines(file):
        return
    # Read again under the lock: runs at the same time may note other encoders.
    with writing(cache):
        write_text_atomically(file, "\n".join(dict.fromkeys([*_lines(file), user])) + "\n")


def _lines(file: Path) -> list[str]:
    if not file.is_file():
        return []
    return file.read_text(encoding="utf-8").splitlines()


def users_of(file: Path) -> list[Path] | None:
    """Return the folders and files that a `.encoders` file names, whether they exist or not; None for a hub name."""
    users = file.read_text(encoding="utf-8").splitlines()
    if any(user.startswith(HUB) for user in users):
        return None
    return [Path(os.path.normpath(file.parent.resolve() / user)) for user in users]
