"""Attention implementations for transformers: torch's, with masks that need no look at the values, or fast on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeGuard

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ease.encoders.dropout import drop
from ease.encoders.precision import has_amx

TORCH = "sdpa"
"""Name of torch's attention in transformers"""
PADDED = "ease_padded"
"""Name of torch's attention with the masks of this module"""
ON_CPU = "ease_cpu"
"""Name of the same attention with operations that are fast on a CPU"""
REGISTER = 16
"""Values in single precision in a register of AVX-512; torch's attention computes the rest of a row one by one"""
TILE = 32
"""Values in half precision in such a register; of other sizes, oneDNN's products take up to twice as long"""
MOST_SCORES = 1 << 26
"""Scores up to which all of a layer's are in memory at once, 128 MB, if there is no dropout"""

_padding_known: ContextVar[bool] = ContextVar("padding_known", default=False)


@contextmanager
def padding_known() -> Iterator[None]:
    """In this block, every mask that an encoder is given has padding."""
    token = _padding_known.set(True)
    try:
        yield
    finally:
        _padding_known.reset(token)


def has_torch_attention(transformer: nn.Module) -> TypeGuard[Transformer]:
    """Return whether an encoder's first module has torch's attention, in one of its three forms."""
    return isinstance(transformer, Transformer) and transformer.config._attn_implementation in (TORCH, PADDED, ON_CPU)


def prepare_padding(encoder: SentenceTransformer) -> None:
    """Make an encoder use the masks of this module, if it has torch's attention."""
    _replace_attention(encoder[0], PADDED)


def use_cpu_attention(encoder: SentenceTransformer) -> None:
    """Make an encoder use this module's attention for CPUs, if it has torch's."""
    _replace_attention(encoder[0], ON_CPU)


def _replace_attention(transformer: nn.Module, implementation: str) -> None:
    if has_torch_attention(transformer):
        transformer.model.set_attn_implementation(implementation)


@contextmanager
def without_waiting(encoder: SentenceTransformer) -> Iterator[None]:
    """Make an encoder use the masks of this module in this block."""
    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        yield
        return
    before = transformer.config._attn_implementation
    prepare_padding(encoder)
    try:
        yield
    finally:
        if transformer.config._attn_implementation != before:
            transformer.model.set_attn_implementation(before)


def _mask(**options: Any) -> Tensor | None:
    """Return the mask of torch's attention; it is never omitted in a block of `padding_known`."""
    if _padding_known.get() and options.get("attention_mask") is not None:
        options |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    mask: Tensor | None = sdpa_mask(**options)
    return mask


def _attention_on_cpu(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attend from (n, heads, width, size) to (n, width, heads, size), with a mask that is true where to attend.

    Single products take half as long as torch's attention, and a sixth with the backward pass (docs/benchmarks.md).
    Without dropout, torch's is faster on a CPU with AMX if nothing is trained, and needs less memory for long texts.
    """
    causal = attention_mask is None and (others.get("is_causal") or getattr(module, "is_causal", True))
    special = any(others.get(name) is not None for name in ("position_bias", "softcap"))
    if query.device.type != "cpu" or causal or special:
        attended, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
        return attended, None
    groups = getattr(module, "num_key_value_groups", 1)
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    is_large = query[..., 0].numel() * key.shape[2] > MOST_SCORES
    if not dropout and (is_large or (has_amx() and not torch.is_grad_enabled())):
        key, value, attention_mask = _pad_keys(key, value, attention_mask, REGISTER)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scaling)
    else:
        key, value, attention_mask = _pad_keys(key, value, attention_mask, TILE)
        attended = _attend_by_products(query, key, value, attention_mask, dropout, scaling)
    return attended.transpose(1, 2).contiguous(), None


def _pad_keys(
    key: Tensor, value: Tensor, attention_mask: Tensor | None, multiple: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Pad the keys to a multiple, which nothing attends to."""
    missing = -key.shape[2] % multiple
    if not missing:
        return key, value, attention_mask
    if attention_mask is None:
        attention_mask = torch.ones(1, 1, 1, key.shape[2], dtype=torch.bool)
    padding = (0, 0, 0, missing)
    return (
        functional.pad(key, padding),
        functional.pad(value, padding),
        functional.pad(attention_mask, (0, missing), value=False),
    )


def _attend_by_products(
    query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, dropout: float, scaling: float | None
) -> Tensor:
    """Attend from (n, heads, width, size) to (n, heads, width, size) by products, softmax and dropout."""
    rows, heads, width, size = query.shape
    # Copied here: a product of transposed keys would copy them transposed, which takes longer.
    queries, keys, values = (states.reshape(rows * heads, -1, states.shape[-1]) for states in (query, key, value))
    # A sum needs no pass over the scores' gradient, and takes a fifth of the time of filling.
    addends = queries.new_zeros(1, 1, 1)
    if attention_mask is not None:
        # Autocast may compute in half precision, whose lowest value is the smaller one.
        lowest = torch.finfo(torch.bfloat16).min
        by_row = torch.zeros_like(attention_mask, dtype=queries.dtype).masked_fill_(~attention_mask, lowest)
        addends = by_row.expand(rows, heads, -1, -1).flatten(0, 1)
    scores = torch.baddbmm(addends, queries, keys.transpose(1, 2), alpha=scaling or size**-0.5)
    weights = scores.softmax(-1)
    if dropout:
        weights = drop(weights, dropout)
    return torch.bmm(weights, values).view(rows, heads, width, -1)


AttentionInterface.register(PADDED, sdpa_attention_forward)
AttentionMaskInterface.register(PADDED, _mask)
AttentionInterface.register(ON_CPU, _attention_on_cpu)
AttentionMaskInterface.register(ON_CPU, _mask)
