"""A network of one hidden layer with dropout, as a scikit-learn classifier (SentEval's MLP; Table 6 of DuEAM)."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor
from torch.nn import functional

from ease.evaluation.classifier import require_known_classes
from ease.io.models import StrictModel

LEARNING_RATE = 1e-3
"""Adam's default, which SentEval uses."""


class NetworkOptions(StrictModel):
    """Hyperparameters; the defaults are those of DuEAM's appendix A, which does not give the number of hidden units."""

    hidden: int = Field(50, ge=1, description="hidden units, with sigmoid activation")
    dropout: float = Field(
        0.2, ge=0, lt=1, description="share of the hidden units that are dropped in a step"
    )
    epochs: int = Field(10, ge=1, description="passes over the training data")
    batch_size: int = Field(64, ge=1, description="rows per step")
    weight_decays: tuple[float, ...] = Field(
        (0.0,),
        min_length=1,
        description="candidates for the L2 penalty, chosen like C of logistic regression; one is used without a choice",
    )


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """Predicts by a hidden layer, dropout, a sigmoid and an output layer, trained by Adam on mini-batches.

    The seed determines the weights, the order of rows and the dropout.
    """

    def __init__(
        self,
        hidden: int = 50,
        dropout: float = 0.2,
        epochs: int = 10,
        batch_size: int = 64,
        weight_decay: float = 0.0,
        seed: int = 1111,
    ) -> None:
        """Keep the hyperparameters, as scikit-learn requires."""
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.seed = seed

    def fit(self, embeddings: ArrayLike, labels: ArrayLike) -> Self:
        """Train on embeddings (n, dimension) and labels (n,).

        Raises:
            EaseError: If all rows are of one class.
        """
        self.classes_ = require_known_classes(np.asarray(labels))
        wanted = torch.from_numpy(np.searchsorted(self.classes_, np.asarray(labels)))
        self.layers_ = self._train(torch.from_numpy(np.asarray(embeddings, dtype=np.float32)), wanted)
        return self

    def predict(self, embeddings: ArrayLike) -> NDArray[np.str_]:
        """Return the class of each embedding: (n, dimension) -> (n,)."""
        rows = torch.from_numpy(np.asarray(embeddings, dtype=np.float32))
        with torch.no_grad():
            predicted = _logits(rows, self.layers_, None).argmax(dim=1).numpy()
        chosen: NDArray[np.str_] = self.classes_[predicted]
        return chosen

    def _train(self, rows: Tensor, wanted: Tensor) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(self.seed)
        sizes = (rows.shape[1], self.hidden, len(self.classes_))
        layers = tuple(tensor for size, count in pairwise(sizes) for tensor in _layer(size, count, generator))
        optimizer = torch.optim.Adam(layers, LEARNING_RATE, weight_decay=self.weight_decay)
        for _ in range(self.epochs):
            for batch in torch.randperm(len(rows), generator=generator).split(self.batch_size):
                kept = torch.rand(len(batch), self.hidden, generator=generator) >= self.dropout
                optimizer.zero_grad()
                logits = _logits(rows[batch], layers, kept / (1 - self.dropout))
                functional.cross_entropy(logits, wanted[batch]).backward()
                optimizer.step()
        return tuple(tensor.detach() for tensor in layers)


def _layer(size: int, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw weights (count, size) and biases (count,) uniformly within 1/√size, as torch's linear layers do."""
    bound = size**-0.5
    weight, bias = (
        ((torch.rand(shape, generator=generator) * 2 - 1) * bound).requires_grad_()
        for shape in ((count, size), (count,))
    )
    return weight, bias


def _logits(rows: Tensor, layers: tuple[Tensor, ...], kept: Tensor | None) -> Tensor:
    """Compute (n, dimension) -> (n, classes); `kept`, (n, hidden), scales the hidden units before their activation."""
    first, first_bias, second, second_bias = layers
    hidden = functional.linear(rows, first, first_bias)
    return functional.linear(torch.sigmoid(hidden if kept is None else hidden * kept), second, second_bias)
