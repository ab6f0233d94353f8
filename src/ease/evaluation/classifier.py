"""A linear classifier on frozen embeddings, trained by mini-batches (section 5.4 and appendix D of EASE).

Accuracy on development data selects its settings from a grid. The rest follows the code published with EASE:
cross-entropy; AdamW with linear decay of the learning rate to 0; weights drawn from a normal distribution of standard
deviation 0.02, biases 0; the step of the best development accuracy is kept. scikit-learn's solvers would find the same
optimum for every learning rate, so they cannot reproduce this protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from tqdm.auto import tqdm

from ease.errors import EaseError
from ease.evaluation.metrics import finite_rows

INITIAL_DEVIATION = 0.02


@dataclass(frozen=True)
class ClassifierSettings:
    """Hyperparameters; `evaluation_steps` is the number of steps between two evaluations on the development data."""

    batch_size: int = 32
    learning_rate: float = 0.001
    epochs: int = 5
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    evaluation_steps: int = 10


class LabelledEmbeddings:
    """Embeddings (n, dimension) in single precision with their labels (n,)."""

    def __init__(self, embeddings: np.ndarray, labels: Sequence[str], name: str = "embeddings") -> None:
        """Check both; `name` names the embeddings in error messages.

        Raises:
            EaseError: If the lengths differ or are 0, or an embedding is not finite.
        """
        self.embeddings = np.asarray(finite_rows(embeddings, name), dtype=np.float32)
        self.labels: NDArray[np.str_] = np.asarray(labels, dtype=np.str_)
        if len(self.embeddings) != len(self.labels) or not len(self.labels):
            raise EaseError(
                f"{len(self.embeddings)} {name} against {len(self.labels)} labels: give one of each."
            )

    def rows(self, rows: NDArray[np.intp]) -> LabelledEmbeddings:
        """Return some of the rows."""
        return LabelledEmbeddings(self.embeddings[rows], self.labels[rows].tolist())


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """Predicts the largest entry of `weight @ embedding + bias`: weight (classes, dimension), bias (classes,)."""

    classes: NDArray[np.str_]
    weight: Tensor
    bias: Tensor

    def predict(self, embeddings: np.ndarray) -> NDArray[np.str_]:
        """Return the class of each embedding: (n, dimension) -> (n,)."""
        rows = torch.from_numpy(np.asarray(embeddings, dtype=np.float32))
        return self.classes[functional.linear(rows, self.weight, self.bias).argmax(dim=1).numpy()]

    def accuracy(self, data: LabelledEmbeddings) -> float:
        """Share (0 to 1) of embeddings whose class is predicted."""
        return float(np.mean(self.hits(data)))

    def hits(self, data: LabelledEmbeddings) -> NDArray[np.bool_]:
        """Whether the class of each embedding is predicted: (n,)."""
        return self.predict(data.embeddings) == data.labels


@dataclass(frozen=True)
class Selection:
    """The best settings on the development data, with each seed's classifier and its accuracy there."""

    settings: ClassifierSettings
    classifiers: tuple[LinearClassifier, ...]
    accuracies: tuple[float, ...]


def select_classifiers(
    training: LabelledEmbeddings,
    development: LabelledEmbeddings,
    grid: Sequence[ClassifierSettings],
    seeds: Sequence[int],
) -> Selection:
    """Train with all settings and seeds; select the first settings of the best mean development accuracy."""
    best: Selection | None = None
    with tqdm(total=len(grid) * len(seeds), desc="Classifiers", delay=2, leave=False) as bar:
        for settings in grid:
            trained = []
            for seed in seeds:
                trained.append(train_classifier(training, settings, seed, development))
                bar.update()
            accuracies = tuple(classifier.accuracy(development) for classifier in trained)
            if best is None or fmean(accuracies) > fmean(best.accuracies):
                best = Selection(settings, tuple(trained), accuracies)
    if best is None:
        raise EaseError("The grid of settings is empty: give at least one batch size and one learning rate.")
    return best


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one CPU thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_thread()
def train_classifier(
    training: LabelledEmbeddings,
    settings: ClassifierSettings,
    seed: int,
    development: LabelledEmbeddings | None = None,
) -> LinearClassifier:
    """Train a classifier; with development data, return the classifier of the best step there.

    The seed determines the initial weights and the order of rows. One thread computes, so that the weights do not
    depend on the number of threads.

    Args:
        training: At least two classes.
        settings: Hyperparameters.
        seed: Random seed.
        development: Labelled with classes of the training data.

    Raises:
        EaseError: If there is only one class, or the development data have an unknown class or another dimension.
    """
    classes = require_known_classes(training.labels)
    if development is not None:
        require_known_classes(training.labels, development.labels, "the development data")
        if training.embeddings.shape[1] != development.embeddings.shape[1]:
            raise EaseError(
                f"Embeddings for training have shape {training.embeddings.shape}, those for development "
                f"{development.embeddings.shape}: encode both with one encoder."
            )
    generator = torch.Generator().manual_seed(seed)
    rows = torch.from_numpy(training.embeddings)  # (n, dimension)
    wanted = torch.from_numpy(np.searchsorted(classes, training.labels))  # (n,)
    weight = (
        torch.randn(classes.size, rows.shape[1], generator=generator) * INITIAL_DEVIATION
    ).requires_grad_()
    bias = torch.zeros(classes.size, requires_grad=True)
    optimizer = torch.optim.AdamW([weight, bias], settings.learning_rate, weight_decay=settings.weight_decay)
    steps = settings.epochs * -(-len(rows) // settings.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    best, best_accuracy = None, -1.0
    batches = (
        batch
        for _ in range(settings.epochs)
        for batch in torch.randperm(len(rows), generator=generator).split(settings.batch_size)
    )
    for step, batch in enumerate(batches, start=1):
        optimizer.zero_grad()
        functional.cross_entropy(functional.linear(rows[batch], weight, bias), wanted[batch]).backward()
        torch.nn.utils.clip_grad_norm_([weight, bias], settings.clip_norm)
        optimizer.step()
        schedule.step()
        if development is not None and (step % settings.evaluation_steps == 0 or step == steps):
            now = LinearClassifier(classes, weight.detach().clone(), bias.detach().clone())
            accuracy = now.accuracy(development)
            if accuracy > best_accuracy:
                best, best_accuracy = now, accuracy
    return best or LinearClassifier(classes, weight.detach(), bias.detach())


def require_known_classes(
    training: Sequence[str] | NDArray[np.str_], tested: Sequence[str] | NDArray[np.str_] = (), where: str = ""
) -> NDArray[np.str_]:
    """Return the classes of training labels; refuse a single class, and other classes in the data named `where`."""
    classes = np.unique(training)
    if classes.size < 2:
        raise EaseError(f"All {len(training)} training rows are of class {classes[0]}: give two at least.")
    if (unknown := np.setdiff1d(tested, classes)).size:
        raise EaseError(f"No training row is of class {', '.join(unknown)}, which {where} hold.")
    return classes
