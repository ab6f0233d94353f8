"""uv.lock, for users of uv, has the versions of constraints.txt and the addresses of the public package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "uv.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked() -> dict[str, dict[str, Any]]:
    """Return the lock's entries by the names of the libraries."""
    return {package["name"]: package for package in tomllib.loads(TEXT)["package"]}


def test_versions_are_those_of_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}
    versions = {name: package["version"] for name, package in locked().items() if "version" in package}
    other = {name for name in pinned.keys() & versions.keys() if pinned[name] != versions[name]}
    assert not other, "run `make lock`"
    assert len(pinned.keys() & versions.keys()) > 200


def test_project_is_locked_with_its_pythons() -> None:
    assert locked()[PROJECT["name"]]["source"] == {"editable": "."}
    bounds = set(PROJECT["requires-python"].split(","))
    assert set(tomllib.loads(TEXT)["requires-python"].split(", ")) == bounds


def test_addresses_are_those_of_the_public_index() -> None:
    assert set(re.findall(r"\w+://[^/\"]+", TEXT)) == {"https://pypi.org", "https://files.pythonhosted.org"}
    assert not re.search(r"\bpath = ", TEXT), "a library from a folder"
