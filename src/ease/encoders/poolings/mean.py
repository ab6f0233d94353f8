"""Mean of the last layer's token embeddings."""

from __future__ import annotations

from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import nn


def modules(transformer: Transformer, seed: int) -> list[nn.Module]:
    """Average the tokens."""
    return [Pooling(transformer.get_embedding_dimension(), "mean")]
