"""Mark each test by what it uses, so that `make check` can leave out all that starts more than Python."""

from __future__ import annotations

import re

import pytest

BY_FIXTURE_TYPE = {
    "Project": "project",
    "FileServer": "server",
    "HubServer": "server",
    "Bucket": "server",
    "SparkSession": "spark",
    "Browser": "browser",
    "Page": "browser",
}
"""Marker of the tests that request a fixture, directly or through another one, by the fixture's return type."""

BY_MODULE_NAME = {
    "run_job": "training",
    "distill_student": "training",
    "SentenceTransformerTrainer": "training",
    "Project": "project",
    "start_s3_server": "server",
}
"""Marker of all tests of a module that holds a name."""


def mark_by_use(item: pytest.Function) -> None:
    """Add the markers of everything that a test uses."""
    for marker in sorted(_by_fixtures(item) | _by_module(item)):
        item.add_marker(marker)


def _by_fixtures(item: pytest.Function) -> set[str]:
    definitions = item._fixtureinfo.name2fixturedefs
    returned = [
        str(definition.func.__annotations__.get("return", ""))
        for name in item.fixturenames
        for definition in definitions.get(name, ())
    ]
    types = {word for annotation in returned for word in re.findall(r"\w+", annotation)}
    return {marker for name, marker in BY_FIXTURE_TYPE.items() if name in types}


def _by_module(item: pytest.Function) -> set[str]:
    return {marker for name, marker in BY_MODULE_NAME.items() if hasattr(item.module, name)}
