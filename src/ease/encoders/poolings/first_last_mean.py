"""Mean of the token means of the first and the last layer."""

from __future__ import annotations

import torch
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer, WeightedLayerPooling
from torch import nn


def modules(transformer: Transformer, seed: int) -> list[nn.Module]:
    """Average both layers with fixed weights, then the tokens."""
    dimension, layers = transformer.get_embedding_dimension(), int(transformer.config.num_hidden_layers)
    transformer.model.config.output_hidden_states = True
    weights = torch.zeros(layers)
    weights[0] += 1.0
    weights[-1] += 1.0
    # Layer 0 is the embedding of the tokens, before the first layer.
    both = WeightedLayerPooling(
        dimension, layers, layer_start=1, layer_weights=nn.Parameter(weights, requires_grad=False)
    )
    return [both, Pooling(dimension, "mean")]
