"""Packing for a CPU: the tokens of all texts in one row without padding, with attention within each text.

All layers of a transformer except attention process each token independently. For attention, texts of equal length are
adjacent in the row and are viewed as a rectangle, without padding or copying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ease.training.dropout import drop_quickly

PACKED = "ease_packed"
"""Name of the attention implementation in transformers"""
TEXTS = "packed_texts"
"""Keyword argument of the attention for the packed texts"""

_packed: ContextVar[bool] = ContextVar("packed", default=False)


@contextmanager
def _texts_packed() -> Iterator[None]:
    """In this block, an encoder is given packed texts, whose attention reads no mask: none is made."""
    token = _packed.set(True)
    try:
        yield
    finally:
        _packed.reset(token)


class PackedByLength(NamedTuple):
    """Texts in order of length as one row of t tokens; each text is repeated for each view."""

    tokens: Tensor
    """(1, t)"""
    positions: Tensor
    """(1, t), the position of each token in its text"""
    owners: Tensor
    """(1, t), the text of each token"""
    ends: Tensor
    """(n * views + 1,), text boundaries"""
    groups: tuple[tuple[int, int], ...]
    """Number and length of the texts of each group of equal length"""


def pack(tokens: NDArray[np.int32], lengths: NDArray[np.int32], views: int) -> PackedByLength:
    """Concatenate texts.

    Args:
        tokens: (n, width), padded.
        lengths: (n,), tokens of each text, ascending.
        views: Repetitions of each text, adjacent to each other.
    """
    lengths, tokens = np.repeat(lengths, views), np.repeat(tokens, views, axis=0)
    owners, positions = np.nonzero(np.arange(tokens.shape[1]) < lengths[:, None])
    widths, counts = np.unique(lengths, return_counts=True)
    row = torch.from_numpy(tokens[owners, positions]).long().unsqueeze(0)
    ends = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    groups = tuple(zip(counts.tolist(), widths.tolist(), strict=True))
    return PackedByLength(
        row, torch.from_numpy(positions).unsqueeze(0), torch.from_numpy(owners).unsqueeze(0), ends, groups
    )


def prepare(encoder: SentenceTransformer) -> None:
    """Make an encoder's attention accept packed texts; padded ones are encoded as before."""
    transformer: Any = encoder[0]
    transformer.model.set_attn_implementation(PACKED)
    if transformer.model_forward_params is not None:
        transformer.model_forward_params.update((TEXTS, "position_ids"))


def embed(encoder: SentenceTransformer, packed: PackedByLength, first_position: int) -> Tensor:
    """Embed packed texts, whose pooling sentence-transformers supports: -> (n * views, dimension)."""
    features = {
        "input_ids": packed.tokens,
        "position_ids": packed.positions + first_position,
        "seq_idx": packed.owners,
        "cu_seq_lens_q": packed.ends,
        TEXTS: packed,
    }
    with _texts_packed():
        embeddings: Tensor = encoder(features)["sentence_embedding"]
    return embeddings


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packed_texts: PackedByLength | None = None,
    sliding_window: int | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attend within each text: (1, heads, t, size) three times -> (1, t, heads, size)."""
    if packed_texts is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
    key, value = (repeat_kv(states, getattr(module, "num_key_value_groups", 1)) for states in (key, value))
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    rows = [states[0].transpose(0, 1) for states in (query, key, value)]
    causal = getattr(module, "is_causal", False)
    return attend_by_length(rows, packed_texts, dropout, scale, causal, sliding_window).unsqueeze(0), None


def attend_by_length(
    rows: Sequence[Tensor],
    texts: PackedByLength,
    dropout: float,
    scale: float,
    causal: bool,
    window: int | None,
) -> Tensor:
    """Attend within the texts of one length after those of another.

    Args:
        rows: Queries, keys and values, each (t, heads, size).
        texts: The packed texts.
        dropout: Dropout of the attention weights.
        scale: Factor of the products of queries and keys.
        causal: Whether a token attends to no later ones.
        window: Number of tokens to each side, the token included, to which it attends. None: all.

    Returns:
        (t, heads, size)
    """
    sizes = [count * length for count, length in texts.groups]
    outputs = []
    scaled = [rows[0] * scale, *rows[1:]]
    for shape, *parts in zip(texts.groups, *(row.split(sizes) for row in scaled), strict=True):
        queries, keys, values = (part.unflatten(0, shape).transpose(1, 2) for part in parts)
        weights = queries @ keys.transpose(-1, -2)  # (texts, heads, length, length)
        hidden = hidden_pairs(shape[1], causal, window, weights.device)
        weights = (weights if hidden is None else weights.masked_fill(hidden, -torch.inf)).softmax(-1)
        attended = drop_quickly(weights, dropout) @ values if dropout else weights @ values
        outputs.append(attended.transpose(1, 2).flatten(0, 1))
    return torch.cat(outputs)


def hidden_pairs(length: int, causal: bool, window: int | None, device: torch.device) -> Tensor | None:
    """Return the pairs of tokens of a text that do not attend, (length, length); None if there are none."""
    if not causal and (window is None or length <= window):
        return None
    positions = torch.arange(length, device=device)
    distances = positions[:, None] - positions
    hidden = distances < 0 if causal else torch.zeros_like(distances, dtype=torch.bool)
    return hidden if window is None else hidden | (distances.abs() >= window)


def _mask(**options: Any) -> Tensor | None:
    """Return the mask of torch's attention for padded texts; a window's mask of packed ones would have t² values."""
    mask: Tensor | None = None if _packed.get() else sdpa_mask(**options)
    return mask


AttentionInterface.register(PACKED, _attend)
AttentionMaskInterface.register(PACKED, _mask)
