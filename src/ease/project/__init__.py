"""A new project folder for an installed EASE: configuration, pinned libraries, data folders and a Python package."""

from __future__ import annotations

import keyword
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import ease
from ease.errors import EaseError

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parents[2]
_TEMPLATE = {
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "package/__init__.py": "src/PACKAGE/__init__.py",
    "package/cli.py": "src/PACKAGE/cli.py",
    "package/pipeline_registry.py": "src/PACKAGE/pipeline_registry.py",
    "package/settings.py": "src/PACKAGE/settings.py",
    "pyproject.toml": "pyproject.toml",
    "requirements.txt": "requirements.txt",
    "telemetry": ".telemetry",
}
"""Files of the template by their names in a project; `PACKAGE` is the project's Python package."""
_CONFIGURATION = ("README.md", "base", "logging.yml", "paper")
_LAYERS = "01_raw 02_intermediate 03_primary 05_model_input 06_models 07_model_output 08_reporting".split()
_FOLDERS = ("conf/local", *(f"data/{layer}" for layer in _LAYERS))
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
    contents: list[str] = []
    try:
        if folder.exists():
            contents = sorted({path.name for path in folder.iterdir()} - _PERMITTED)
    except OSError as error:
        raise EaseError(
            f"{folder} cannot be read as a folder ({error.strerror}): choose a new or an empty folder for the project."
        ) from error
    if contents:
        raise EaseError(f"{folder} contains {contents[0]}: choose a new or an empty folder for the project.")
    try:
        _copy_configuration(folder)
        _write_template(folder, package_name(folder))
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / ".gitkeep").touch()
    except (OSError, shutil.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise EaseError(f"Cannot write to {folder} ({reason}): choose a folder that you may write to.") from error


def package_name(folder: Path) -> str:
    """Return the name of a project's Python package, made from the folder's name: `my-project` gives `my_project`."""
    name = re.sub(r"\W", "_", folder.absolute().name).lower()
    # A package called `ease` or `torch` would hide the installed one.
    if not name.isidentifier() or keyword.iskeyword(name) or find_spec(name) is not None:
        return f"project_{name}"
    return name


def _copy_configuration(folder: Path) -> None:
    for name in (*(f"conf/{name}" for name in _CONFIGURATION), "constraints.txt"):
        source = _PACKAGE / name
        if not source.exists():
            # A wheel has them in this package; an editable install has them in the checkout.
            source = _CHECKOUT / name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copyfile(source, folder / name)


def _write_template(folder: Path, package: str) -> None:
    for name, target in _TEMPLATE.items():
        text = (_PACKAGE / "template" / name).read_text(encoding="utf-8")
        file = folder / target.replace("PACKAGE", package)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("VERSION", ease.__version__).replace("PACKAGE", package), encoding="utf-8")
