"""[CLS] followed by a linear layer and tanh, which the saved encoder keeps."""

from __future__ import annotations

from sentence_transformers.sentence_transformer.modules import Dense, Transformer
from torch import nn

from ease.encoders.poolings import cls
from ease.encoders.poolings.base import seeded


def modules(transformer: Transformer, seed: int) -> list[nn.Module]:
    """Take the first token and apply the MLP."""
    dimension = transformer.get_embedding_dimension()
    with seeded(seed):
        mlp = Dense(dimension, dimension, activation_function=nn.Tanh())
    return [*cls.modules(transformer, seed), mlp]
