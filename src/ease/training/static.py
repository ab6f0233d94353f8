"""Static encoders in the training loop: their token ids, and batches in the format of `StaticEmbedding`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor


def averages_tokens(encoder: SentenceTransformer) -> bool:
    """Return whether an encoder begins with one vector per token."""
    return isinstance(encoder[0], StaticEmbedding)


def token_ids(encoder: SentenceTransformer, texts: Sequence[str], longest: int) -> list[list[int]]:
    """Tokenise texts, each truncated to a number of tokens; static encoders have no special tokens."""
    tokenizer: Any = encoder.tokenizer
    if averages_tokens(encoder):
        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [one.ids[:longest] for one in encoded]
    found: list[list[int]] = tokenizer(
        list(texts),
        truncation=True,
        max_length=longest,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    return found


def bag_features(features: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return padded tokens (n, width) as one row of tokens and the offset of each text."""
    tokens, mask = features["input_ids"], features.get("attention_mask")
    if mask is None:
        offsets = torch.arange(len(tokens), device=tokens.device) * tokens.shape[1]
        return {"input_ids": tokens.flatten(), "offsets": offsets}
    lengths = mask.sum(dim=1)
    return {"input_ids": tokens[mask.bool()], "offsets": lengths.cumsum(0) - lengths}
