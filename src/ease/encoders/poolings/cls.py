"""The last layer's embedding of [CLS]."""

from __future__ import annotations

from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import nn


def modules(transformer: Transformer, seed: int) -> list[nn.Module]:
    """Take the first token."""
    return [Pooling(transformer.get_embedding_dimension(), "cls")]
