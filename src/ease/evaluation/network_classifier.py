"""A small network that classifies frozen embeddings, with the interface of scikit-learn.

Only importing it imports torch and scikit-learn, whose base classes it extends; options of tasks are read without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import nn
from torch.nn import functional

from ease.evaluation.classifiers import Labels, require_known_classes


@dataclass(eq=False)
class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """A hidden layer, dropout, a sigmoid and an output layer, trained by Adam on mini-batches (SentEval's MLP).

    The seed determines the weights, the order of rows and the dropout.
    """

    hidden: int = 50
    dropout: float = 0.2
    epochs: int = 10
    batch_size: int = 64
    weight_decay: float = 0.0
    seed: int = 1111

    def fit(self, embeddings: ArrayLike, labels: ArrayLike) -> Self:
        """Train on embeddings (n, dimension) and labels (n,) of at least two classes."""
        rows = torch.from_numpy(np.asarray(embeddings, dtype=np.float32))
        self.classes_ = require_known_classes(np.asarray(labels))
        targets = torch.from_numpy(np.searchsorted(self.classes_, np.asarray(labels)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network_ = nn.Sequential(
                nn.Linear(rows.shape[1], self.hidden),
                nn.Dropout(self.dropout),
                nn.Sigmoid(),
                nn.Linear(self.hidden, len(self.classes_)),
            )
            optimizer = torch.optim.Adam(self.network_.parameters(), weight_decay=self.weight_decay)
            for _ in range(self.epochs):
                for batch in torch.randperm(len(rows)).split(self.batch_size):
                    optimizer.zero_grad()
                    functional.cross_entropy(self.network_(rows[batch]), targets[batch]).backward()
                    optimizer.step()
        self.network_.eval()
        return self

    def predict(self, embeddings: ArrayLike) -> Labels:
        """Return the class of each embedding: (n, dimension) -> (n,)."""
        with torch.no_grad():
            logits = self.network_(torch.from_numpy(np.asarray(embeddings, dtype=np.float32)))
        predicted: Labels = self.classes_[logits.argmax(dim=1).numpy()]
        return predicted
