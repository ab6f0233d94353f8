"""Attention masks of padded texts, made without waiting for the device.

transformers asks the device in every forward pass whether anything is padded, and the host waits for the answer. A
batch is made on the host, which knows: it has a mask only if something is padded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

PADDED = "ease_padded"
"""Name of the attention implementation in transformers: torch's, with the masks of this module"""

_known: ContextVar[bool] = ContextVar("known", default=False)


@contextmanager
def padding_known() -> Iterator[None]:
    """In this block, every mask that an encoder is given has padding."""
    token = _known.set(True)
    try:
        yield
    finally:
        _known.reset(token)


def prepare_padding(encoder: SentenceTransformer) -> None:
    """Make an encoder use the masks of this module, if it has torch's attention."""
    transformer = encoder[0]
    if isinstance(transformer, Transformer) and transformer.config._attn_implementation == "sdpa":
        transformer.model.set_attn_implementation(PADDED)


@contextmanager
def without_waiting(encoder: SentenceTransformer) -> Iterator[None]:
    """Make an encoder use the masks of this module in this block."""
    transformer = encoder[0]
    before = transformer.config._attn_implementation if isinstance(transformer, Transformer) else PADDED
    prepare_padding(encoder)
    try:
        yield
    finally:
        if isinstance(transformer, Transformer) and before != PADDED:
            transformer.model.set_attn_implementation(before)


def _mask(**options: Any) -> Tensor | None:
    """Return the mask of torch's attention; it is never omitted in a block of `padding_known`."""
    if _known.get() and options.get("attention_mask") is not None:
        options |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    mask: Tensor | None = sdpa_mask(**options)
    return mask


AttentionInterface.register(PADDED, sdpa_attention_forward)
AttentionMaskInterface.register(PADDED, _mask)
