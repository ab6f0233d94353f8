"""The benchmark of training speed: equal losses of both libraries, and the printed tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn

from benchmarks import training_speed
from benchmarks.training_peers import (
    MAX_TOKENS,
    SCALE,
    EntityLoss,
    Work,
    our_curve,
    our_job,
    plain_curve,
    prepare,
)
from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.training.job import run_job

SENTENCES = [f"sentence number {number} of a river" + " and more" * (number % 5) for number in range(32)]
SMALL = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=300)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """Sentences, 50 entities and a tiny encoder."""
    save_encoder(build_encoder(EncoderOptions(random=SMALL), SENTENCES), tmp_path / "tiny")
    folder = tmp_path / "work"
    folder.mkdir()
    return prepare(folder, SENTENCES, str(tmp_path / "tiny"), entities=50)


def peer_loss(work: Work, method: str, projection: Tensor | None) -> float:
    """Return the baseline's loss of one batch with all sentences; their order does not matter."""
    encoder = SentenceTransformer(str(work.folder / "still"), device="cpu")
    encoder.max_seq_length = MAX_TOKENS
    pairs = pq.read_table(work.folder / "pairs.parquet")
    sentences = pairs["sentence"].to_pylist()
    views: list[Any] = [encoder.tokenize(sentences), encoder.tokenize(sentences)]
    if method == "simcse":
        return MultipleNegativesRankingLoss(encoder, scale=SCALE)(views, torch.empty(0)).item()
    labels = torch.tensor([pairs["entity"].to_pylist(), pairs["hard_negative"].to_pylist()]).T
    loss = EntityLoss(encoder, load_file(work.folder / "table.safetensors")["embeddings"])
    assert projection is not None
    loss.projection.weight = nn.Parameter(projection)
    found: Tensor = loss(views, labels)
    return found.item()


@pytest.mark.parametrize("method", ["simcse", "ease"])
def test_both_libraries_train_the_same_loss(work: Work, tmp_path: Path, method: str) -> None:
    training = {"batch_size": len(SENTENCES), "max_steps": 1, "device": "cpu", "learning_rate": 1e-30}
    result = run_job(our_job(work.folder, tmp_path / "job", method, "still", **training))
    parts = result.model / "training" / "parts.safetensors"
    projection = load_file(parts)["method.projection.weight"] if method == "ease" else None
    assert result.history[0]["loss"] == pytest.approx(peer_loss(work, method, projection), rel=1e-5)


def test_operations_of_a_pair_match_its_matrix_products(work: Work) -> None:
    """Forward: 2 operations per weight and token, and 4 L² h per layer in attention; backward: twice as many."""
    hidden, inner, layers = 16, 32, 2
    weights = layers * (4 * hidden**2 + 2 * hidden * inner)
    # Attention has 4 biases, each of the 2 norms has 2 vectors, the feed-forward network has 2 biases.
    biases = layers * (9 * hidden + inner)
    assert work.parameters == weights + biases
    tokenizer = load_encoder(str(work.folder / "encoder")).tokenizer
    lengths = np.array([len(tokens) for tokens in tokenizer(SENTENCES)["input_ids"]])
    forward = 2 * (weights + biases) * lengths.sum() + layers * 4 * hidden * (lengths**2).sum()
    assert work.flops_of_a_pair == pytest.approx(2 * 3 * forward / len(SENTENCES))


@pytest.mark.parametrize("method", ["simcse", "ease"])
def test_trainer_losses_equal_those_of_the_plain_loop(work: Work, method: str) -> None:
    expected = plain_curve(work.folder, method, 8, 12, "cpu", half=False)
    found = our_curve(work.folder, method, batch_size=8, max_steps=12, device="cpu", precision="fp32", packed=True)
    assert np.ptp(expected) > 1e-3
    assert np.allclose(found, expected, rtol=1e-5)


@pytest.mark.long
@pytest.mark.slow
def test_tables_report_real_trainings(
    work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logging.disable", lambda level: None)
    sizes = "--batch-sizes 8 --warmup 3 --seconds 0.1 --rounds 1 --curve-steps 2 --curve-batch-size 8"
    encoder = ["--encoder", str(tmp_path / "tiny"), "--entities", "50", "--device", "cpu"]
    training_speed.main([str(work.folder / "pairs.parquet"), *encoder, *sizes.split()])
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    speeds = [row for row in rows if len(row) == 7][2:]
    curves = [row for row in rows if len(row) == 4][8:12]
    trainers = ["sentence-transformers", *training_speed.WAYS_OF_A_CPU]
    assert [row[:2] for row in speeds] == [[method, trainer] for method in ("simcse", "ease") for trainer in trainers]
    for first, row in zip([0] * 4 + [4] * 4, speeds, strict=True):
        rate, base = (float(one[3].replace(",", "")) for one in (row, speeds[first]))
        assert float(row[4]) == pytest.approx(rate / base, rel=0.01, abs=0.01)  # both are rounded
    assert [row[1] for row in curves] == [*(f"{way}, fp32" for way in trainers[1:]), "plain loop, bf16"]
    *single, half = (float(row[2]) for row in curves)
    assert max(single) < half / 5
