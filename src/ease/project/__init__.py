"""A new project folder for an installed EASE: configuration, pinned libraries and data folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import ease
from ease.errors import EaseError

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parents[2]
_TEMPLATE = {
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "pyproject.toml": "pyproject.toml",
    "requirements.txt": "requirements.txt",
    "telemetry": ".telemetry",
}
"""Files of the template by their names in a project."""
_CONFIGURATION = ("README.md", "base", "logging.yml", "paper")
_LAYERS = "01_raw 02_intermediate 03_primary 05_model_input 06_models 07_model_output 08_reporting".split()
_FOLDERS = ("conf/local", "src", *(f"data/{layer}" for layer in _LAYERS))
"""Folders of a project that start empty."""
_PERMITTED = {".git", ".venv"}
"""What the folder of a new project may contain already."""


def create_project(folder: Path) -> None:
    """Write a project in which `kedro run` works, with this version's configuration.

    Args:
        folder: A new or empty folder; it may contain `.git` and `.venv`.

    Raises:
        EaseError: If the folder contains other files, or if it cannot be written.
    """
    try:
        found = sorted({path.name for path in folder.iterdir()} - _PERMITTED) if folder.exists() else []
    except OSError as error:
        raise EaseError(
            f"{folder} cannot be read as a folder ({error.strerror}): choose a new or an empty folder for the project."
        ) from error
    if found:
        raise EaseError(f"{folder} contains {found[0]}: choose a new or an empty folder for the project.")
    try:
        for name in (*(f"conf/{name}" for name in _CONFIGURATION), "constraints.txt"):
            # A wheel has them in this package; an editable install has them in the checkout.
            source = _PACKAGE / name if (_PACKAGE / name).exists() else _CHECKOUT / name
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copyfile(source, folder / name)
        for name, target in _TEMPLATE.items():
            text = (_PACKAGE / "template" / name).read_text(encoding="utf-8")
            (folder / target).write_text(text.replace("VERSION", ease.__version__), encoding="utf-8")
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / ".gitkeep").touch()
    except (OSError, shutil.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise EaseError(f"Cannot write to {folder} ({reason}): choose a folder that you may write to.") from error
