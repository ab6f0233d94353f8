"""Methods and batches for tests, and losses computed with NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.methods import get_method, method_options
from ease.methods.base import Entities, Inputs, Texts, TrainingMethod
from tests.encoders.tiny import tiny_encoder

ENTITIES = Entities(torch.tensor([2, 0, 2, 4]), torch.tensor([1, -1, 3, 2]))
"""Two pairs of one entity, one pair without a hard negative, one whose hard negative is the others' entity."""

TEXTS = {
    column: Texts(torch.randint(5, 10, (4, 8), generator=torch.Generator().manual_seed(seed)), torch.ones(4, 8))
    for seed, column in enumerate(("sentence", "positive"))
}
"""Tokens of four sentences, and of four others."""


def floats(seed: int, *shape: int) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


@cache
def encoder() -> SentenceTransformer:
    """Return a BERT of 6 dimensions."""
    return tiny_encoder(["a b c d e"] * 3, hidden_size=6, intermediate_size=8)


def build(name: str, start: SentenceTransformer | None = None, **values: Any) -> TrainingMethod[Any]:
    """A method for sentences of 6 numbers and 5 entities of 3."""
    torch.manual_seed(0)
    return get_method(name).build(method_options(name, values), start or encoder(), floats(0, 5, 3))


def without_mask_token() -> SentenceTransformer:
    """An encoder whose tokenizer has no mask token."""
    made = tiny_encoder(["a b c d e"] * 3)
    made.tokenizer.mask_token = None
    return made


def inputs(sentences: Tensor, entities: Entities | None = None, present: Tensor | None = None) -> Inputs:
    """A batch of these views, whose rows have all texts by default."""
    there = torch.ones(sentences.shape[:2], dtype=torch.bool)
    return Inputs(sentences, there if present is None else present, entities, TEXTS)


def cosines(left: Any, right: Any) -> np.ndarray:
    """Cosines of rows, (n, d) and (m, d) -> (n, m)."""
    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    lengths = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    return np.asarray(left @ right.T / lengths)


def self_loss(sentences: Tensor, temperature: float) -> float:
    """Equation 3 of two views, (2, n, dimension)."""
    logits = cosines(*sentences) / temperature
    return float((logsumexp(logits, axis=1) - logits.diagonal()).mean())
