"""Methods and batches for their tests, and the losses' terms one number after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ease.methods import Entities, TrainingMethod, get_method, method_options

ENTITIES = Entities(torch.tensor([2, 0, 2, 4]), torch.tensor([1, -1, 3, 2]))
"""Two pairs of one entity, one pair without a hard negative, one whose hard negative is the others' entity."""


def floats(seed: int, *shape: int) -> Tensor:
    """Random numbers."""
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


def build(name: str, **values: Any) -> TrainingMethod:
    """A method for sentences of 6 numbers and 5 entities of 3."""
    torch.manual_seed(0)
    return get_method(name).build(method_options(name, values), 6, floats(0, 5, 3))


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Cosine of two vectors."""
    products = sum(a * b for a, b in zip(left, right, strict=True))
    return products / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))


def mean_loss(own: Sequence[float], denominators: Sequence[Sequence[float]]) -> float:
    """Mean of -log(exp(own) / sum of exp) over sentences, of logits."""
    losses = [
        math.log(sum(math.exp(logit) for logit in logits)) - mine
        for mine, logits in zip(own, denominators, strict=True)
    ]
    return sum(losses) / len(losses)


def self_loss(sentences: Tensor, temperature: float) -> float:
    """Equation 3 of two views, (2, n, dimension)."""
    first, second = sentences.tolist()
    logits = [[cosine(one, other) / temperature for other in second] for one in first]
    return mean_loss([row[index] for index, row in enumerate(logits)], logits)
