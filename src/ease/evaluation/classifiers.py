"""Classifiers on frozen embeddings: their data, the choice of a hyperparameter, and a linear one."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.lazy import torch
from ease.similarity.vectors import finite_rows

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

logger = logging.getLogger(__name__)

INITIAL_DEVIATION = 0.02
"""Standard deviation of the linear classifier's first weights, as in the code published with EASE"""

Labels = NDArray[np.str_]


class LabelledEmbeddings:
    """Embeddings (n, dimension) in single precision with their labels (n,)."""

    def __init__(self, embeddings: np.ndarray, labels: Sequence[str], name: str = "embeddings") -> None:
        """Refuse embeddings that are not finite; `name` names them in error messages."""
        self.embeddings = np.asarray(finite_rows(embeddings, name), dtype=np.float32)
        self.labels: Labels = np.asarray(labels, dtype=np.str_)

    def rows(self, rows: NDArray[np.intp]) -> LabelledEmbeddings:
        """Return some of the rows."""
        return LabelledEmbeddings(self.embeddings[rows], self.labels[rows].tolist())


def require_known_classes(
    training: Sequence[str] | Labels, tested: Sequence[str] | Labels = (), where: str = ""
) -> Labels:
    """Return the classes of training labels; refuse a single class, and other classes in the data named `where`."""
    classes = np.unique(training)
    if classes.size < 2:
        raise EaseError(f"All {len(training)} training rows are of class {classes[0]}: give two at least.")
    if (unknown := np.setdiff1d(tested, classes)).size:
        raise EaseError(f"No training row is of class {', '.join(unknown)}, which {where} hold.")
    return classes


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch and linear algebra to one CPU thread, so that results do not depend on the number of threads.

    scikit-learn's warnings of fits that have not converged are suppressed: what they concern is logged.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield
    finally:
        torch.set_num_threads(threads)


def stratified_folds(labels: Labels, count: int, seed: int) -> StratifiedKFold:
    """Return folds with seeded, shuffled rows; refuse a class with fewer rows than there are folds."""
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(labels, return_counts=True)
    if (least := counts.min()) < count:
        raise EaseError(
            f"Class {classes[counts.argmin()]} has {least} rows to divide into {count} folds: lower `folds`, or give "
            "more rows of it."
        )
    return StratifiedKFold(count, shuffle=True, random_state=seed)


def fit_selected(
    model: BaseEstimator,
    grid: Mapping[str, Sequence[float]],
    training: LabelledEmbeddings,
    choosing: LabelledEmbeddings | StratifiedKFold,
) -> tuple[Any, float | None]:
    """Fit a scikit-learn classifier, in double precision, with the hyperparameter of the best accuracy.

    `grid` is one hyperparameter and its candidates; a single candidate is used without a choice. `choosing` are
    development data, to which the classifier is not fitted, or folds of the training data. With the classifier comes
    the accuracy that chose its hyperparameter; None without a choice.
    """
    from joblib import parallel_config
    from sklearn.base import clone

    require_known_classes(training.labels)
    rows = training.embeddings.astype(np.float64)
    ((name, candidates),) = grid.items()
    value = candidates[0]
    accuracy = None
    # Threads share the embeddings and the limits of `one_thread`, which joblib's processes would not.
    with one_thread(), parallel_config("threading"):
        if len(candidates) > 1:
            search = _fit_search(model, {name: list(candidates)}, rows, training.labels, choosing)
            value = search.best_params_[name]
            accuracy = float(search.best_score_)
        fitted = clone(model).set_params(**{name: value}).fit(rows, training.labels)
    if np.max(getattr(fitted, "n_iter_", 0)) >= getattr(model, "max_iter", np.inf):
        logger.warning("%s with %s %g has not converged", type(model).__name__, name, value)
    return fitted, accuracy


def _fit_search(
    model: BaseEstimator,
    grid: Mapping[str, list[float]],
    rows: NDArray[np.float64],
    labels: Labels,
    choosing: LabelledEmbeddings | StratifiedKFold,
) -> GridSearchCV:
    """Fit the candidates, and compare their accuracies on development data or on folds."""
    from sklearn.model_selection import GridSearchCV, PredefinedSplit

    splitter = choosing
    if isinstance(choosing, LabelledEmbeddings):
        # -1 marks rows that are always for training, 0 those of the only test fold.
        splitter = PredefinedSplit([-1] * len(rows) + [0] * len(choosing.labels))
        rows = np.concatenate([rows, choosing.embeddings])
        labels = np.concatenate([labels, choosing.labels])
    search = GridSearchCV(model, grid, scoring="accuracy", n_jobs=-1, refit=False, cv=splitter)
    return search.fit(rows, labels)


class LinearClassifier(NamedTuple):
    """Predicts the largest entry of `weight @ embedding + bias`: weight (classes, dimension), bias (classes,)."""

    classes: Labels
    weight: torch.Tensor
    bias: torch.Tensor

    def hits(self, data: LabelledEmbeddings) -> NDArray[np.bool_]:
        """Whether the class of each embedding is predicted: (n,)."""
        logits = torch.nn.functional.linear(torch.from_numpy(data.embeddings), self.weight, self.bias)
        hits: NDArray[np.bool_] = self.classes[logits.argmax(dim=1).numpy()] == data.labels
        return hits


@one_thread()
def train_classifier(
    training: LabelledEmbeddings,
    development: LabelledEmbeddings,
    seed: int,
    batch_size: int = 32,
    learning_rate: float = 0.001,
    epochs: int = 5,
    weight_decay: float = 0.0,
    clip_norm: float = 1.0,
    evaluation_steps: int = 10,
) -> LinearClassifier:
    """Train a linear classifier by mini-batches; return that of the best step on the development data.

    As in the code published with EASE (section 5.4, appendix D): cross-entropy; AdamW with linear decay of the learning
    rate to 0; normally distributed weights. scikit-learn's solvers would find the same optimum for every learning rate,
    so they cannot reproduce this protocol. The seed determines the first weights and the order of rows.

    Raises:
        EaseError: If the training data have one class, or the development data another one.
    """
    classes = require_known_classes(training.labels, development.labels, "the development data")
    generator = torch.Generator().manual_seed(seed)
    rows = torch.from_numpy(training.embeddings)  # (n, dimension)
    targets = torch.from_numpy(np.searchsorted(classes, training.labels))  # (n,)
    normal = torch.randn(classes.size, rows.shape[1], generator=generator)
    weight = (normal * INITIAL_DEVIATION).requires_grad_()
    bias = torch.zeros(classes.size, requires_grad=True)
    optimizer = torch.optim.AdamW([weight, bias], learning_rate, weight_decay=weight_decay)
    steps = epochs * -(-len(rows) // batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    best = LinearClassifier(classes, weight, bias)
    best_accuracy = -1.0
    batches = (
        batch for _ in range(epochs) for batch in torch.randperm(len(rows), generator=generator).split(batch_size)
    )
    for step, batch in enumerate(batches, start=1):
        optimizer.zero_grad()
        logits = torch.nn.functional.linear(rows[batch], weight, bias)
        torch.nn.functional.cross_entropy(logits, targets[batch]).backward()
        torch.nn.utils.clip_grad_norm_([weight, bias], clip_norm)
        optimizer.step()
        schedule.step()
        if step % evaluation_steps == 0 or step == steps:
            current = LinearClassifier(classes, weight.detach().clone(), bias.detach().clone())
            accuracy = float(np.mean(current.hits(development)))
            if accuracy > best_accuracy:
                best = current
                best_accuracy = accuracy
    return best
