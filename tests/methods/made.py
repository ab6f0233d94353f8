"""Methods and batches for tests, and losses computed with scalars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.encoders.encoder import build_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.methods import get_method, method_options
from ease.methods.base import Entities, Inputs, Texts, TrainingMethod

ENTITIES = Entities(torch.tensor([2, 0, 2, 4]), torch.tensor([1, -1, 3, 2]))
"""Two pairs of one entity, one pair without a hard negative, one whose hard negative is the others' entity."""


TEXTS = {
    column: Texts(
        torch.randint(5, 10, (4, 8), generator=torch.Generator().manual_seed(seed)), torch.ones(4, 8)
    )
    for seed, column in enumerate(("sentence", "positive"))
}
"""Tokens of four sentences, and of four others."""


def floats(seed: int, *shape: int) -> Tensor:
    """Random numbers."""
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


@cache
def encoder() -> SentenceTransformer:
    """Return a BERT of 6 dimensions."""
    sizes = {"layers": 1, "hidden_size": 6, "heads": 2, "intermediate_size": 8, "vocabulary_size": 300}
    return build_encoder(EncoderOptions(random=RandomBertOptions(**sizes)), ["a b c d e"] * 3)


def build(name: str, **values: Any) -> TrainingMethod[Any]:
    """A method for sentences of 6 numbers and 5 entities of 3."""
    torch.manual_seed(0)
    return get_method(name).build(method_options(name, values), encoder(), floats(0, 5, 3))


def inputs(sentences: Tensor, entities: Entities | None = None, present: Tensor | None = None) -> Inputs:
    """A batch of these views, whose rows have all texts by default."""
    there = torch.ones(sentences.shape[:2], dtype=torch.bool)
    return Inputs(sentences, there if present is None else present, entities, TEXTS)


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
