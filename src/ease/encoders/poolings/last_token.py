"""The last layer's embedding of the last token, for decoders, whose last token alone attends to all others."""

from __future__ import annotations

from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import nn


def modules(transformer: Transformer, seed: int) -> list[nn.Module]:
    """Take the last token that is not padding, on whichever side the padding is."""
    return [Pooling(transformer.get_embedding_dimension(), "lasttoken")]
