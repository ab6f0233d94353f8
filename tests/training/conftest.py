"""Files of a tiny real training, jobs on them, and a finished one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.model_card import DataSource, ModelCardData
from ease.encoders.options import EncoderOptions
from ease.training.job import run_job
from ease.training.options import TrainingJob
from tests.training.tiny_training import SMALL, MakeJob, Trained, sentences, tiny_job, write_files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with all files of a tiny job, and with texts.parquet, its pairs with positives and negatives."""
    folder = tmp_path_factory.mktemp("training")
    write_files(folder)
    table = pq.read_table(folder / "pairs.parquet")
    texts = table["sentence"].to_pylist()
    table = table.append_column("positive", [texts[5:] + texts[:5]])
    pq.write_table(table.append_column("negative", [texts[::-1]]), folder / "texts.parquet")
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
    card = ModelCardData(languages=("en", "ru"), sources=(DataSource(name="Wikipedia (en)", date="20260101"),))
    job = tiny_job(files, tmp_path_factory.mktemp("trained") / "job", card=card)
    reports: list[tuple[int, dict[str, float]]] = []
    result = run_job(job, lambda step, values: reports.append((step, values)))
    return Trained(job, result, reports)


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher or guide with another tokenizer and dimension."""
    options = SMALL.model_copy(update={"hidden_size": 48, "vocabulary_size": 310})
    folder = tmp_path_factory.mktemp("teacher") / "wide"
    save_encoder(build_encoder(EncoderOptions(random=options, seed=7), sentences()[::-1]), folder)
    return folder
