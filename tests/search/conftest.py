"""A tiny encoder, and projects with models of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.search.made_project import make_project, write_encoder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder") / "encoder")


@pytest.fixture(scope="module")
def sample_project(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that tests do not change."""
    return make_project(tmp_path_factory.mktemp("made") / "project", encoder)
