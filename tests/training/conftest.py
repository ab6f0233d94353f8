"""The files of a tiny real training, and jobs on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ease.training import TrainingJob, TrainingOptions
from tests.training.tiny_training import MakeJob, write_files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of everything that a tiny job reads."""
    folder = tmp_path_factory.mktemp("training")
    write_files(folder)
    return folder


@pytest.fixture
def make_job(files: Path, tmp_path: Path) -> MakeJob:
    """Make a job of 12 steps of 16 pairs, with what a test changes."""

    def make(name: str = "job", encoder: str = "encoder", **changes: Any) -> TrainingJob:
        training = {
            "batch_size": 16,
            "learning_rate": 1e-3,
            "steps": 12,
            "report_every": 1,
            "evaluate_every": 4,
            "checkpoint_every": 4,
            "max_tokens": 16,
            "length_chunks": 2,
            "device": "cpu",
            **changes.pop("training", {}),
        }
        values: dict[str, Any] = {
            "folder": tmp_path / name,
            "pairs": files / "pairs.parquet",
            "encoder": str(files / encoder),
            "method": "ease",
            "vocabulary": files / "vocabulary.parquet",
            "table": files / "table.safetensors",
            "development": {"sample_graded": {"path": str(files / "graded.parquet")}},
            **changes,
        }
        return TrainingJob(training=TrainingOptions(**training), **values)

    return make
