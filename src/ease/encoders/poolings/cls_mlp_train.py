"""[CLS]; a linear layer and tanh follow during training and are dropped afterwards, as in SimCSE."""

from __future__ import annotations

from torch import nn

from ease.encoders.poolings.base import seeded
from ease.encoders.poolings.cls import modules

__all__ = ["modules", "training_head"]


def training_head(dimension: int, seed: int) -> nn.Module:
    """Make the layers between the encoder and the losses: (n, dimension) -> (n, dimension)."""
    with seeded(seed):
        return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())
