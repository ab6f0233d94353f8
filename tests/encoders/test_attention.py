"""Attention for CPUs: torch's values and gradients, with masks, widths that do not fill registers, and dropout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

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


@pytest.mark.parametrize(("amx", "most_scores"), [(False, 1 << 26), (True, 1 << 26), (False, 8)])
@pytest.mark.parametrize("shape", [None, (3, 1, 1, 37), (3, 1, 5, 37), (1, 1, 1, 37)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 2e-2)])
@torch.inference_mode()
def test_attention_of_an_encoding_is_that_of_double_precision(
    monkeypatch: pytest.MonkeyPatch,
    amx: bool,
    most_scores: int,
    shape: tuple[int, ...] | None,
    groups: int,
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    """By products, and by torch's attention for padded keys on a CPU with AMX and for large scores."""
    monkeypatch.setattr(attention, "has_amx", lambda: amx)
    monkeypatch.setattr(attention, "MOST_SCORES", most_scores)
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(3, 2, 5, 8, generator=generator).to(dtype)
    key = torch.randn(3, 2 // groups, 37, 8, generator=generator).to(dtype)
    value = torch.randn(3, 2 // groups, 37, 6, generator=generator).to(dtype)
    mask = None if shape is None else torch.rand(shape, generator=generator) < 0.7
    scores = query.double() @ key.double().transpose(2, 3) * 0.3
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    expected = (scores.softmax(-1) @ value.double()).transpose(1, 2)
    layer: Any = torch.nn.Identity()
    layer.num_key_value_groups = groups
    found, _ = ALL_ATTENTION_FUNCTIONS[ON_CPU](layer, query, key, value, mask, scaling=0.3, is_causal=False)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance)
