"""Masked-language modelling as a method: it learns, resumes exactly, and leaves a plain encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from ease.training.job import run_job
from ease.training.options import TrainingResult
from tests.training.tiny_training import MakeJob, losses, sentences, tiny_job


def unigram_entropy(files: Path) -> float:
    """Nats per token of the best model that knows the tokens' frequencies alone."""
    tokenizer: Any = load_encoder(str(files / "encoder")).tokenizer
    tokens = np.concatenate(tokenizer(sentences(), truncation=True, max_length=16)["input_ids"])
    tokens = tokens[~np.isin(tokens, tokenizer.all_special_ids)]
    shares = np.unique(tokens, return_counts=True)[1] / len(tokens)
    return float(-(shares * np.log(shares)).sum())


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """200 steps of masked-language modelling."""
    training = {"max_steps": 200, "report_every": 50, "learning_rate": 3e-3}
    folder = tmp_path_factory.mktemp("mlm") / "job"
    return run_job(tiny_job(files, folder, method="mlm", development={}, training=training))


def test_the_loss_falls_far_below_that_of_unigrams(trained: TrainingResult, files: Path) -> None:
    entropy, found = unigram_entropy(files), list(losses(trained).values())
    assert found[0] > entropy - 0.5
    assert found[-1] < 0.6 * entropy


def test_the_head_is_saved_beside_the_encoder(trained: TrainingResult, files: Path) -> None:
    start = load_file(files / "encoder" / "model.safetensors")
    found = load_file(trained.model / "model.safetensors")
    assert {name: value.shape for name, value in found.items()} == {
        name: value.shape for name, value in start.items()
    }
    assert not torch.equal(
        found["embeddings.word_embeddings.weight"], start["embeddings.word_embeddings.weight"]
    )
    parts = load_file(trained.model / "training" / "parts.safetensors")
    assert all(name.startswith("method.masked.") for name in parts)
    assert max(value.ndim for value in parts.values()) == 2
    assert sum(value.numel() for value in parts.values()) == 32 * 32 + 3 * 32 + len(
        found["embeddings.word_embeddings.weight"]
    )
    assert AutoModel.from_pretrained(trained.model).config.hidden_size == 32


def test_an_encoder_without_a_mask_token_is_refused(make_job: MakeJob, files: Path, tmp_path: Path) -> None:
    loaded = load_encoder(str(files / "encoder"))
    loaded.tokenizer.mask_token = None
    save_encoder(loaded, tmp_path / "maskless")
    assert load_encoder(str(tmp_path / "maskless")).tokenizer.mask_token_id is None
    for method, options in (("mlm", {}), ("simcse", {"mlm_weight": 0.1})):
        job = make_job(method, method=method, method_options=options)
        with pytest.raises(EaseError, match="needs a mask token, .* has none"):
            run_job(job.model_copy(update={"encoder": str(tmp_path / "maskless")}))
