"""Packed texts: the tokens of all texts in one row without padding, with attention within each text.

All layers of a transformer except attention process each token independently. For attention on a CPU, texts of equal
length are adjacent in the row and are viewed as a rectangle, without padding or copying. On a GPU, the row is viewed as
a nested tensor, whose attention is one kernel for all texts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from accelerate.utils import send_to_device
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from ease.encoders.padding import PADDED
from ease.errors import EaseError
from ease.training.dropout import drop_quickly

logger = logging.getLogger(__name__)

PACKED = "ease_packed"
"""Name of the attention implementation in transformers"""
TEXTS = "packed_texts"
"""Keyword argument of the attention for the packed texts"""
TOLERANCE = 1e-3
"""Relative difference allowed between packed and padded embeddings; padding changes the order of sums"""

LONGEST = 512
"""Tokens of the longest text that is compared; longer than the windows of known local attention."""


_packed: ContextVar[bool] = ContextVar("packed", default=False)


@contextmanager
def texts_packed() -> Iterator[None]:
    """In this block, an encoder is given packed texts, whose attention reads no mask: none is made."""
    token = _packed.set(True)
    try:
        yield
    finally:
        _packed.reset(token)


class Packed(NamedTuple):
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


def pack(tokens: NDArray[np.int32], lengths: NDArray[np.int32], views: int) -> Packed:
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
    return Packed(
        row, torch.from_numpy(positions).unsqueeze(0), torch.from_numpy(owners).unsqueeze(0), ends, groups
    )


def features_of(packed: Packed, first_position: int) -> dict[str, Any]:
    """Return the input of a sentence-transformers encoder for packed texts; its pooling supports them."""
    return {
        "input_ids": packed.tokens,
        "position_ids": packed.positions + first_position,
        "seq_idx": packed.owners,
        "cu_seq_lens_q": packed.ends,
        TEXTS: packed,
    }


class PackingRefusal(EaseError):
    """An encoder cannot be trained with packed texts."""

    def __init__(self, reason: str) -> None:
        """Name the reason and the remedy."""
        super().__init__(
            f"This encoder cannot be trained with `packed: true` ({reason}): set `packed: false`."
        )
        self.reason = reason


def decide_packing(packed: bool | Literal["auto"], encoder: SentenceTransformer, *, on_gpu: bool) -> bool:
    """Return whether to pack texts; `auto` packs them on a CPU if the encoder, as the method set it up, allows it."""
    if packed != "auto":
        return packed
    try:
        if on_gpu:
            raise PackingRefusal("it is for CPUs")
        prepare_packing(encoder)
    except PackingRefusal as refusal:
        logger.info("`packed: auto`: texts are padded (packing: %s).", refusal.reason)
        return False
    logger.info("`packed: auto`: texts are packed.")
    return True


def prepare_packing(encoder: SentenceTransformer) -> int:
    """Make an encoder accept packed texts; padded texts are encoded as before.

    Returns:
        The first position number, which differs between architectures.

    Raises:
        PackingRefusal: If the encoder does not support packing, or encodes packed texts differently.
    """
    transformer = encoder[0]
    known = ("sdpa", PADDED, PACKED)
    if not isinstance(transformer, Transformer) or transformer.config._attn_implementation not in known:
        raise PackingRefusal("its attention is not torch's `scaled_dot_product_attention`")
    if any(module._forward_pre_hooks for module in transformer.modules()):
        raise PackingRefusal("the method's DropHead counts sequences, which packing hides")
    transformer.model.set_attn_implementation(PACKED)
    passed_on: set[str] | None = transformer.model_forward_params
    if passed_on is not None:
        passed_on |= {TEXTS, "position_ids"}
    padding = encoder.tokenizer.pad_token_id or 0
    for first_position in (0, padding + 1):
        if _encodes_alike(encoder, first_position):
            return first_position
    transformer.model.set_attn_implementation("sdpa")
    raise PackingRefusal("its embeddings of packed and of padded texts differ")


def _encodes_alike(encoder: SentenceTransformer, first_position: int) -> bool:
    """Return whether texts of several lengths have the same embeddings packed and padded."""
    config: Any = encoder[0].config
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    longest = min(encoder.max_seq_length or LONGEST, LONGEST, positions - first_position)
    texts = encoder.tokenizer(
        ["a", "a b c d e", "a b " * longest],
        truncation=True,
        max_length=longest,
        return_attention_mask=False,
    )["input_ids"]
    lengths = np.array([len(ids) for ids in texts])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int32)  # padded on the right
    tokens = np.zeros(mask.shape, dtype=np.int32)
    tokens[mask > 0] = np.concatenate(texts)
    packed = pack(tokens, lengths, views=1)
    padded = {"input_ids": torch.from_numpy(tokens).long(), "attention_mask": torch.from_numpy(mask).long()}
    training = encoder.training
    encoder.eval()
    with torch.inference_mode():
        wanted = encoder(send_to_device(padded, encoder.device))["sentence_embedding"]
        with texts_packed():
            given = send_to_device(features_of(packed, first_position), encoder.device)
            found = encoder(given)["sentence_embedding"]
    encoder.train(training)
    return bool(((wanted - found).norm(dim=1) <= TOLERANCE * wanted.norm(dim=1)).all())


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packed_texts: Packed | None = None,
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
    causal, longest = getattr(module, "is_causal", False), packed_texts.groups[-1][1]
    # torch's attention of nested tensors has no windows.
    if query.is_cuda and not causal and (sliding_window is None or longest <= sliding_window):
        return attend_at_once(rows, packed_texts, dropout, scale).unsqueeze(0), None
    return attend_by_length(rows, packed_texts, dropout, scale, causal, sliding_window).unsqueeze(0), None


def attend_at_once(rows: Sequence[Tensor], texts: Packed, dropout: float, scale: float) -> Tensor:
    """Attend within all texts by one kernel; a CPU has none, and attends to one text after the other.

    Args:
        rows: Queries, keys and values, each (t, heads, size).
        texts: The packed texts.
        dropout: Dropout of the attention weights.
        scale: Factor of the products of queries and keys.

    Returns:
        (t, heads, size)
    """
    (_, shortest), (_, longest) = texts.groups[0], texts.groups[-1]
    # With known lengths, the host does not ask the device for them.
    queries, keys, values = (
        torch.nested.nested_tensor_from_jagged(
            row.contiguous(), texts.ends, min_seqlen=shortest, max_seqlen=longest
        ).transpose(1, 2)
        for row in rows
    )  # (n, heads, length of the text, size)
    attended = functional.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout, scale=scale)
    return attended.transpose(1, 2).values()


def attend_by_length(
    rows: Sequence[Tensor], texts: Packed, dropout: float, scale: float, causal: bool, window: int | None
) -> Tensor:
    """Attend within the texts of one length after those of another, as `attend_at_once` does.

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
