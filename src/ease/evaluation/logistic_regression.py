"""Logistic regression on frozen embeddings, with the regularisation strength chosen by cross-validation (SentEval).

Conneau and Kiela (2018): the inverse strength C of the L2 penalty is the one of the best accuracy in inner folds of the
training data, or on development data. A classifier with that C is fitted to all training data and tested. A set without
a test split is tested in outer folds. SentEval fits one classifier against the rest for each class with liblinear; here
one multinomial model is fitted by L-BFGS, scikit-learn's default.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, GridSearchCV, PredefinedSplit, StratifiedKFold
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from ease.errors import EaseError
from ease.evaluation.classifier import LabelledEmbeddings, one_thread, require_known_classes

logger = logging.getLogger(__name__)

MAX_ITERATIONS = 1000
"""Of L-BFGS; embeddings of length 1 take some tens."""


@dataclass(frozen=True)
class Folds:
    """Number of stratified folds and the seed that shuffles their rows."""

    count: int = 10
    seed: int = 1111

    def splitter(self, labels: NDArray[np.str_]) -> StratifiedKFold:
        """Return scikit-learn's folds.

        Raises:
            EaseError: If a class has fewer rows than there are folds.
        """
        classes, counts = np.unique(labels, return_counts=True)
        if (least := counts.min()) < self.count:
            raise EaseError(
                f"Class {classes[counts.argmin()]} has {least} rows to divide into {self.count} folds: lower `folds`, "
                "or give more rows of it."
            )
        return StratifiedKFold(self.count, shuffle=True, random_state=self.seed)


class Family(NamedTuple):
    """Classifiers that differ in the strength of their penalty: a scikit-learn classifier, and the name of C in it."""

    model: BaseEstimator
    parameter: str


LOGISTIC_REGRESSION = Family(LogisticRegression(max_iter=MAX_ITERATIONS), "C")


class Outcome(NamedTuple):
    """Test accuracies (0 to 1), accuracies on the data that selected C (rounded to 1e-4), and each test's C.

    `hits` has the contribution of each tested row to the mean accuracy, in the order of the rows: 1 if its class is
    predicted, else 0, times its weight. `weights` are the mean fold size divided by the size of the row's fold. With a
    single value of C there is nothing to select, and `development` is empty.
    """

    accuracies: tuple[float, ...]
    development: tuple[float, ...]
    strengths: tuple[float, ...]
    hits: tuple[float, ...]
    weights: tuple[float, ...]


def cross_validate(
    data: LabelledEmbeddings, strengths: Sequence[float], folds: Folds, family: Family = LOGISTIC_REGRESSION
) -> Outcome:
    """Test on each fold a model fitted to the other folds, with C chosen in inner folds of those.

    Args:
        data: At least two classes.
        strengths: Values of C; the first of equally good ones is chosen.
        folds: Outer and inner folds.
        family: Classifiers to choose from.

    Raises:
        EaseError: If there is only one class, or a class has fewer rows than there are folds.
    """
    splits = list(folds.splitter(data.labels).split(data.embeddings, data.labels))
    outcomes = [
        train_and_test(data.rows(fitted), data.rows(held), strengths, folds, family)
        for fitted, held in tqdm(splits, desc="Folds", delay=2, leave=False)
    ]
    hits, weights = np.zeros(len(data.labels)), np.zeros(len(data.labels))
    for (_, held), outcome in zip(splits, outcomes, strict=True):
        weights[held] = len(hits) / len(splits) / len(held)
        hits[held] = np.multiply(outcome.hits, weights[held])
    accuracies, development, chosen, _, _ = zip(*outcomes, strict=True)
    selected = sum(accuracies, ()), sum(development, ()), sum(chosen, ())
    return Outcome(*selected, tuple(hits.tolist()), tuple(weights.tolist()))


def train_and_test(
    training: LabelledEmbeddings,
    test: LabelledEmbeddings,
    strengths: Sequence[float],
    choosing: LabelledEmbeddings | Folds,
    family: Family = LOGISTIC_REGRESSION,
) -> Outcome:
    """Test a model fitted to the training data, with C chosen on development data or in folds of the training data.

    Args:
        training: At least two classes.
        test: Labelled with classes of the training data.
        strengths: Values of C; the first of equally good ones is chosen.
        choosing: Development data, to which no model is fitted, or folds of the training data.
        family: Classifiers to choose from.

    Raises:
        EaseError: If there is only one class, a test class is missing in the training data, or a class has fewer rows
            than there are folds.
    """
    if not strengths:
        raise EaseError("There is no value of C to choose from: give one at least.")
    for held in (test,) if isinstance(choosing, Folds) else (test, choosing):
        require_known_classes(training.labels, held.labels, "the rows to test on")
    points = _points(training, strengths, choosing, family) if len(strengths) > 1 else None
    chosen = strengths[0 if points is None else int(points.argmax())]
    fitted = _fit(family, training, chosen)
    hits = fitted.predict(test.embeddings.astype(np.float64)) == test.labels
    development = () if points is None else (float(points.max()) / 100,)
    return Outcome(
        (float(np.mean(hits)),), development, (chosen,), tuple(map(float, hits)), (1.0,) * len(hits)
    )


def _points(
    training: LabelledEmbeddings,
    strengths: Sequence[float],
    choosing: LabelledEmbeddings | Folds,
    family: Family,
) -> NDArray[np.float64]:
    """Return the accuracy of each strength on the data that choose it, in points."""
    rows, labels = training.embeddings.astype(np.float64), training.labels
    splitter: BaseCrossValidator
    if isinstance(choosing, Folds):
        splitter = choosing.splitter(labels)
    else:
        splitter = PredefinedSplit([-1] * len(rows) + [0] * len(choosing.labels))
        rows = np.concatenate([rows, choosing.embeddings])
        labels = np.concatenate([labels, choosing.labels])
    grid = {family.parameter: list(strengths)}
    search = GridSearchCV(family.model, grid, scoring="accuracy", n_jobs=-1, refit=False, cv=splitter)
    # Each fit uses one thread; the fits of a search run side by side.
    with threadpool_limits(limits=1), one_thread(), parallel_config("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(rows, labels)
    # As in SentEval, accuracies are compared in points to two decimals.
    points: NDArray[np.float64] = np.round(100 * search.cv_results_["mean_test_score"], 2)
    return points


def fit(data: LabelledEmbeddings, strength: float) -> LogisticRegression:
    """Fit a model with an L2 penalty of inverse strength C (not on the bias), in double precision on one thread."""
    fitted: LogisticRegression = _fit(LOGISTIC_REGRESSION, data, strength)
    return fitted


def _fit(family: Family, data: LabelledEmbeddings, strength: float) -> Any:
    require_known_classes(data.labels)
    with threadpool_limits(limits=1), one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # logged below
        model = clone(family.model).set_params(**{family.parameter: strength})
        fitted = model.fit(data.embeddings.astype(np.float64), data.labels)
    if np.max(getattr(fitted, "n_iter_", 0)) >= MAX_ITERATIONS:
        logger.warning("Logistic regression with C %g stopped after %d iterations", strength, MAX_ITERATIONS)
    return fitted
