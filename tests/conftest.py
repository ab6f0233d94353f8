"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real dumps and evaluation sets that `EASE_TEST_DATA` names."""
    folder = os.environ.get("EASE_TEST_DATA")
    if not folder:
        pytest.skip("EASE_TEST_DATA is not set: it names the folder of real dumps and evaluation sets")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"EASE_TEST_DATA names {path}, which is not a folder")
    return path
