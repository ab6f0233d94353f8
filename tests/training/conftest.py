"""Files of a tiny real training, jobs on them, and a finished one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ease.encoders.model_card import DataSource, ModelCardData
from ease.training.job import run_job
from ease.training.options import TrainingJob
from tests.training.tiny_training import MakeJob, Trained, tiny_job, write_files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with all files of a tiny job."""
    folder = tmp_path_factory.mktemp("training")
    write_files(folder)
    return folder


@pytest.fixture
def make_job(files: Path, tmp_path: Path) -> MakeJob:
    """Return a function that makes a tiny job with some changes, in a folder of this test."""

    def make(name: str = "job", encoder: str = "encoder", **changes: Any) -> TrainingJob:
        folder = changes.pop("folder", tmp_path / name)
        return tiny_job(files, folder, encoder, **changes)

    return make


@pytest.fixture(scope="session")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The finished tiny job, shared by all tests and not changed by them."""
    card = ModelCardData(
        languages=("en", "ru"), sources=(DataSource(name="Wikipedia (en)", date="20260101"),)
    )
    job = tiny_job(files, tmp_path_factory.mktemp("trained") / "job", card=card)
    reports: list[tuple[int, dict[str, float]]] = []
    result = run_job(job, lambda step, values: reports.append((step, values)))
    return Trained(job, result, reports)
