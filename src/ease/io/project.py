"""Folders of a project, as its configuration names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ease.errors import EaseError


def read_globals(project: Path) -> dict[str, Any]:
    """Return the globals of the environments `base` and `local`."""
    if not (project / "conf" / "base" / "globals.yml").is_file():
        raise EaseError(f"{project} has no conf/base/globals.yml: run this command in the project's folder.")
    values: dict[str, Any] = {}
    for environment in ("base", "local"):
        file = project / "conf" / environment / "globals.yml"
        if file.is_file():
            values |= yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    return values


def make_or(goal: str, command: str, project: Path = Path()) -> str:
    """Return `make GOAL` for a checkout, or its command for a project without a Makefile."""
    return f"make {goal}" if (project / "Makefile").is_file() else command
