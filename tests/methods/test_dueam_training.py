"""Trainings with DuEAM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ease.errors import EaseError
from ease.training.job import run_job
from ease.training.options import TrainingJob
from tests.training.tiny_training import losses, sentences, tiny_job

LAMBDA = 0.003


def write_texts(folder: Path, first: list[str], second: list[str]) -> Path:
    path = folder / "texts.parquet"
    pq.write_table(pa.table({"sentence": first, "positive": second}), path)
    return path


def job(files: Path, folder: Path, pairs: Path, **changes: Any) -> TrainingJob:
    shared: dict[str, Any] = {
        "method": "dueam",
        "vocabulary": None,
        "table": None,
        "pairs": pairs,
        "development": {},
    }
    return tiny_job(files, folder, **{**shared, **changes})


def test_a_tiny_training_learns(files: Path, tmp_path: Path) -> None:
    texts = sentences() * 4
    order = np.random.default_rng(0).permutation(len(texts))
    pairs = write_texts(tmp_path, texts, [texts[place] for place in order])
    training = {"max_steps": 40, "learning_rate": 3e-3}
    options = {"unit_length": True}
    result = run_job(job(files, tmp_path / "job", pairs, training=training, method_options=options))
    assert not (result.model / "training").exists(), "the anchor is not saved"
    history = losses(result)
    last, start = (np.mean([history[step] for step in steps]) for steps in (range(31, 41), range(1, 6)))
    # The semantic loss is at least 1, the cosine weighs 0.003.
    assert last - (1 - LAMBDA) < 0.7 * (start - (1 - LAMBDA))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("regularization", [None, 0.1])
def test_training_on_a_gpu_is_training_on_the_cpu(
    files: Path, tmp_path: Path, regularization: float | None
) -> None:
    texts = sentences()
    shared: dict[str, Any] = {
        "pairs": write_texts(tmp_path, texts, texts[5:] + texts[:5]),
        "encoder": "encoder_without_dropout",
        "method_options": {"regularization": regularization},
    }
    found = {
        device: losses(
            run_job(job(files, tmp_path / device, training={"device": device, "precision": "fp32"}, **shared))
        )
        for device in ("cpu", "auto")
    }
    assert list(found["auto"].values()) == pytest.approx(list(found["cpu"].values()), rel=1e-3)


def test_a_text_without_tokens_stops_the_training_with_an_error(files: Path, tmp_path: Path) -> None:
    texts = sentences()
    empty = write_texts(tmp_path, texts, ["" if place == 7 else text for place, text in enumerate(texts)])
    with pytest.raises(EaseError, match="without tokens: the second of pair .* Remove texts that are empty"):
        run_job(job(files, tmp_path / "job", empty))
