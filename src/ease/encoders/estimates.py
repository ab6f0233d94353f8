"""Estimates of the memory and time of a training from an encoder's sizes; nothing is measured. Does not import torch.

Activations are in bf16, as in Korthikanti et al. (2022, equation 2) without their factor for a feed-forward layer of
four times the hidden size. The entity table, whose size depends on the vocabulary, and the memory that the CUDA context
occupies are not included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ease.encoders.known import KnownEncoder

TRAINED_BYTES = 16
"""Memory of a trained weight, its gradient and both moments of AdamW"""
FROZEN_BYTES = 4
"""Memory of a weight that is not trained"""
VIEWS = 2
"""Forward passes of a sentence in a step"""
TOKENS = 32
"""Tokens of a sentence; shorter ones need less."""
GATED = ("modernbert", "qwen3", "gemma3_text", "nomic_bert")
"""Architectures whose feed-forward layers multiply two projections"""
SENTENCES = 1e6
"""Sentences of the pass whose hours are estimated"""
PEAK = 312e12
"""Operations per second of an A100 in bf16"""
UTILISATION = 0.3
"""Share of the peak that a training of short sentences reaches"""


def training_memory(known: KnownEncoder, method: str = "ease", *, lora: bool | None = None) -> float:
    """Return the GPU memory of a training in GB (10⁹ bytes).

    Args:
        known: The encoder, with its batch size.
        method: The training method.
        lora: Whether to train by LoRA; None: the default of the encoder's file.
    """
    rank = _rank(known) if lora is None else (_rank(known) or 16) * lora
    trained = adapter_weights(known.architecture, rank) if rank else known.parameters
    frozen = known.parameters if rank else 0
    return (
        FROZEN_BYTES * frozen + TRAINED_BYTES * trained + _activations(known, _batch_size(known, method))
    ) / 1e9


def hours(known: KnownEncoder) -> float:
    """Return the hours of one pass over a million sentences on one A100.

    The forward pass has 2 operations per weight and token, the backward pass 4, or 2 with LoRA, which needs no
    gradients of the frozen weights. The token embeddings are looked up, not multiplied.
    """
    operations = 4 if _rank(known) else 6
    return operations * _layer_weights(known) * SENTENCES * VIEWS * TOKENS / (PEAK * UTILISATION) / 3600


def _rank(known: KnownEncoder) -> int:
    return int((known.training.get("lora") or {}).get("rank", 0))


def _batch_size(known: KnownEncoder, method: str) -> int:
    own = known.methods.get(method)
    given = {**known.training, **(own.training if own else {})}
    return int(given["batch_size"])


def _layer_weights(known: KnownEncoder) -> int:
    """Return the number of weights outside the token embeddings."""
    return known.parameters - known.architecture["vocab_size"] * known.architecture["hidden_size"]


def adapter_weights(sizes: Mapping[str, Any], rank: int) -> int:
    """Return the number of weights of adapters of all linear layers: rank * (inputs + outputs) for each.

    Args:
        sizes: Values of a `config.json`.
        rank: Rank of an adapter.
    """
    hidden, inner = sizes["hidden_size"], sizes["intermediate_size"]
    if (
        sizes["model_type"] == "modernbert"
    ):  # one layer for queries, keys and values, one for both factors of the gate
        layer = (hidden + 3 * hidden) + 2 * hidden + (hidden + 2 * inner) + (inner + hidden)
        return int(rank * sizes["num_hidden_layers"] * layer)
    head = sizes.get("head_dim") or hidden // sizes["num_attention_heads"]
    queries = head * sizes["num_attention_heads"]
    values = head * sizes.get("num_key_value_heads", sizes["num_attention_heads"])
    attention = 2 * (hidden + queries) + 2 * (hidden + values)
    feed_forward = (3 if sizes["model_type"] in GATED else 2) * (hidden + inner)
    return int(rank * sizes["num_hidden_layers"] * (attention + feed_forward))


def _activations(known: KnownEncoder, batch_size: int) -> float:
    """Return the bytes of the activations that the backward pass needs."""
    sizes = known.architecture
    hidden, inner, heads = sizes["hidden_size"], sizes["intermediate_size"], sizes["num_attention_heads"]
    width = 18 * hidden + (6 if sizes["model_type"] in GATED else 4) * inner + 5 * heads * TOKENS
    return float(sizes["num_hidden_layers"] * width * batch_size * VIEWS * TOKENS)
