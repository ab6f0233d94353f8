"""The benchmark of training speed: the same loss on both sides, and its table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from benchmarks import training_speed
from ease.encoder import EncoderOptions, RandomBertOptions, build_encoder, save_encoder
from ease.training import TrainingJob, TrainingOptions, run_job

SENTENCES = [f"sentence number {number} of a river" + " and more" * (number % 5) for number in range(32)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sentences, and an encoder without dropout."""
    pq.write_table(pa.table({"sentence": SENTENCES}), tmp_path / "pairs.parquet")
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=300, dropout=0)
    save_encoder(build_encoder(EncoderOptions(random=small), SENTENCES), tmp_path / "encoder")
    return tmp_path


def test_both_sides_train_the_same_loss(folder: Path) -> None:
    """One batch of all sentences: their order does not matter."""
    encoder = SentenceTransformer(str(folder / "encoder"), device="cpu")
    encoder.max_seq_length = training_speed.MAX_TOKENS
    views = [encoder.tokenize(SENTENCES), encoder.tokenize(SENTENCES)]
    theirs = MultipleNegativesRankingLoss(encoder, scale=training_speed.SCALE)(views, torch.empty(0))
    job = TrainingJob(
        folder=folder / "job",
        pairs=folder / "pairs.parquet",
        encoder=str(folder / "encoder"),
        method="simcse",
        training=TrainingOptions(
            batch_size=len(SENTENCES),
            steps=1,
            max_tokens=training_speed.MAX_TOKENS,
            precision="fp32",
            device="cpu",
        ),
    )
    (line,) = run_job(job).history
    assert line["loss"] == pytest.approx(theirs.item(), rel=1e-5)


def test_the_table_tells_the_rates_of_real_trainings(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates: list[float] = []

    def noted(measure: Callable[..., float]) -> Callable[..., float]:
        def rate(*arguments: Any) -> float:
            rates.append(measure(*arguments))
            return rates[-1]

        return rate

    for name in ("our_rate", "their_rate"):
        monkeypatch.setattr(training_speed, name, noted(getattr(training_speed, name)))
    sizes = ["--batch-size", "8", "--steps", "2", "--rounds", "2"]
    command = [str(folder / "pairs.parquet"), "--encoder", str(folder / "encoder"), *sizes]
    monkeypatch.setattr(sys, "argv", ["training_speed", *command])
    training_speed.main()
    assert len(rates) == 6
    theirs, whole, chunks = (max(rates[number], rates[number + 3]) for number in range(3))
    table = capsys.readouterr().out
    assert table[table.index("| |") :].splitlines()[2:] == [
        f"| sentence-transformers' trainer | {theirs:.0f} | 1.00 |",
        f"| ours, padded whole | {whole:.0f} | {whole / theirs:.2f} |",
        f"| ours, 4 chunks by length | {chunks:.0f} | {chunks / theirs:.2f} |",
    ]
