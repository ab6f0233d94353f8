"""Attention for CPUs: torch's values and gradients, with masks, widths that do not fill registers, and dropout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer

from ease.encoders import attention
from ease.encoders.attention import ON_CPU, TORCH, prepare_padding, use_cpu_attention
from ease.encoders.encoder import load_encoder, save_encoder
from tests.encoders.tiny import tiny_encoder


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder") / "encoder"
    save_encoder(tiny_encoder(f"word{number} text" for number in range(60)), folder)
    return folder


def token_states(encoder: SentenceTransformer, width: int, padded: bool) -> torch.Tensor:
    """Return the states of all tokens of three texts, (tokens, size)."""
    tokens = torch.arange(3 * width).view(3, width) % 50
    mask = torch.ones_like(tokens)
    if padded:
        mask[1, width // 2 :] = 0
    model: Any = encoder[0].model
    states: torch.Tensor = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    return states[mask.bool()]


def load_with_cpu_attention(folder: Path) -> SentenceTransformer:
    encoder = load_encoder(str(folder))
    prepare_padding(encoder)
    use_cpu_attention(encoder)
    transformer: Any = encoder[0]
    assert transformer.config._attn_implementation == ON_CPU != TORCH
    return encoder


@pytest.mark.parametrize("width", [5, 32, 37])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 1e-9])
def test_states_and_gradients_are_those_of_torch(
    encoder_folder: Path, width: int, padded: bool, dropout: float
) -> None:
    def compute(encoder: SentenceTransformer) -> tuple[torch.Tensor, torch.Tensor]:
        model: Any = encoder[0].model
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = dropout
        states = token_states(encoder, width, padded)
        (states**2).sum().backward()
        return states, model.get_input_embeddings().weight.grad

    expected = compute(load_encoder(str(encoder_folder)))
    for found, value in zip(compute(load_with_cpu_attention(encoder_folder)), expected, strict=True):
        torch.testing.assert_close(found, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [5, 37])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize(("amx", "most_keys"), [(False, 1024), (True, 1024), (False, 8)])
@torch.inference_mode()
def test_states_of_encoding_are_those_of_torch(
    encoder_folder: Path, monkeypatch: pytest.MonkeyPatch, width: int, padded: bool, amx: bool, most_keys: int
) -> None:
    """By products, and by torch's attention for padded keys on a CPU with AMX and for long texts."""
    monkeypatch.setattr(attention, "has_amx", lambda: amx)
    monkeypatch.setattr(attention, "MOST_KEYS", most_keys)
    expected = token_states(load_encoder(str(encoder_folder)).eval(), width, padded)
    found = token_states(load_with_cpu_attention(encoder_folder).eval(), width, padded)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
