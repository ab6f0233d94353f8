"""Logistic regression on frozen embeddings, its regularisation chosen on data apart from the test (SentEval's way).

Conneau and Kiela (2018): the inverse strength C of the L2 penalty is that of the best accuracy in inner folds of the
training data, or on development data; with it a classifier is fitted to all training data and tested. A set without a
test split is divided into folds, each the test of the others. SentEval fitted one classifier against the rest for
each class, with liblinear; here one multinomial model is fitted by L-BFGS, scikit-learn's default.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from ease.errors import EaseError
from ease.evaluation.classifier import LabelledEmbeddings

logger = logging.getLogger(__name__)

MOST_STEPS = 1000
"""Of L-BFGS; embeddings of length 1 take some tens."""

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]
"""Numbers of the rows to fit to, and of those to test on."""


@dataclass(frozen=True)
class Folds:
    """How many folds, each class spread evenly over them, and the seed of their rows."""

    count: int = 10
    seed: int = 1111


@dataclass(frozen=True)
class Outcome:
    """Accuracies (0 to 1) of each test, those on the data that chose C (rounded to 1e-4), and the C chosen."""

    accuracies: tuple[float, ...]
    development: tuple[float, ...]
    strengths: tuple[float, ...]


@dataclass(frozen=True)
class _Trial:
    """A test, and the splits of its training data, all as large, by which C is chosen."""

    test: Split
    choosing: Sequence[Split]


def cross_validate(data: LabelledEmbeddings, strengths: Sequence[float], folds: Folds) -> Outcome:
    """Test on each fold what was fitted to the others, within whose own folds C was chosen.

    Args:
        data: At least two classes.
        strengths: The values of C; of equally good ones the first is chosen.
        folds: The outer ones and the inner ones.

    Raises:
        EaseError: If there is one class only, or one has too few rows for the folds.
    """
    trials = []
    for split in _stratified(data.labels, folds):
        fitted = split[0]
        inner = _stratified(data.labels[fitted], folds)
        trials.append(_Trial(split, [(fitted[train], fitted[held]) for train, held in inner]))
    return _test(data, trials, strengths)


def train_and_test(
    training: LabelledEmbeddings,
    test: LabelledEmbeddings,
    strengths: Sequence[float],
    choosing: LabelledEmbeddings | Folds,
) -> Outcome:
    """Test on test data what was fitted to the training data, with the C that development data or folds chose.

    Args:
        training: At least two classes.
        test: Labelled with the classes of the training data.
        strengths: The values of C; of equally good ones the first is chosen.
        choosing: Development data, which are not fitted to; or the folds of the training data.

    Raises:
        EaseError: If there is one class only, the training data lack a class of the others, or one has too few rows
            for the folds.
    """
    parts = [training, test] if isinstance(choosing, Folds) else [training, test, choosing]
    ends = np.cumsum([0, *(len(part.labels) for part in parts)])
    fitted, tested, *development = (np.arange(*ends[part : part + 2]) for part in range(len(parts)))
    if isinstance(choosing, Folds):
        splits = _stratified(training.labels, choosing)
    else:
        splits = [(fitted, development[0])]
    data = LabelledEmbeddings(
        np.concatenate([part.embeddings for part in parts]),
        np.concatenate([part.labels for part in parts]).tolist(),
    )
    return _test(data, [_Trial((fitted, tested), splits)], strengths)


def fit(data: LabelledEmbeddings, strength: float) -> LogisticRegression:
    """Fit a model: with L2 penalty of inverse strength C, the bias free of it, in double precision on one thread.

    Raises:
        EaseError: If there is one class only.
    """
    _require_classes(data.labels)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below
        model = _fit(data, np.arange(len(data.labels)), strength)
    _tell_unfinished([_unfinished(model)])
    return model


def _test(data: LabelledEmbeddings, trials: Sequence[_Trial], strengths: Sequence[float]) -> Outcome:
    """Choose a C for each trial and test it. As in SentEval, accuracies are compared in points to two decimals."""
    if not strengths:
        raise EaseError("There is no value of C to choose from: give one at least.")
    for trial in trials:
        _require_known(data.labels, [trial.test, *trial.choosing])
    jobs = [(split, strength) for trial in trials for strength in strengths for split in trial.choosing]
    scored = np.reshape(_accuracies(data, jobs, "Choosing C"), (len(trials), len(strengths), -1))
    points = np.round(100 * scored.mean(axis=2), 2)
    chosen = [strengths[best] for best in points.argmax(axis=1)]
    final = [(trial.test, strength) for trial, strength in zip(trials, chosen, strict=True)]
    accuracies = _accuracies(data, final, "Testing")
    return Outcome(tuple(accuracies), tuple((points.max(axis=1) / 100).tolist()), tuple(chosen))


def _accuracies(data: LabelledEmbeddings, jobs: Sequence[tuple[Split, float]], name: str) -> list[float]:
    """The accuracy of each fit, in the order of the jobs. A fit takes one thread; as many run as there are cores."""

    def run(split: Split, strength: float) -> tuple[float, bool]:
        model = _fit(data, split[0], strength)
        correct = model.predict(data.embeddings[split[1]].astype(np.float64)) == data.labels[split[1]]
        return float(correct.mean()), _unfinished(model)

    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below
        parallel = Parallel(n_jobs=min(cpu_count(), len(jobs)), prefer="threads", return_as="generator")
        runs = parallel(delayed(run)(*job) for job in jobs)
        done = list(tqdm(runs, desc=name, total=len(jobs), unit="fit", delay=2, leave=False))
    _tell_unfinished([unfinished for _, unfinished in done])
    return [accuracy for accuracy, _ in done]


def _fit(data: LabelledEmbeddings, rows: Rows, strength: float) -> LogisticRegression:
    model = LogisticRegression(C=strength, max_iter=MOST_STEPS)
    return model.fit(data.embeddings[rows].astype(np.float64), data.labels[rows])


def _unfinished(model: LogisticRegression) -> bool:
    return bool(model.n_iter_.max() >= MOST_STEPS)


def _tell_unfinished(fits: Sequence[bool]) -> None:
    if any(fits):
        logger.warning(
            "%d of %d fits stopped after %d steps, short of the best weights",
            sum(fits),
            len(fits),
            MOST_STEPS,
        )


def _stratified(labels: NDArray[np.str_], folds: Folds) -> list[Split]:
    """Divide rows into folds, shuffled, with as many of each class in each as can be."""
    classes, counts = np.unique(labels, return_counts=True)
    if (least := counts.min()) < folds.count:
        raise EaseError(
            f"Class {classes[counts.argmin()]} has {least} rows to divide into {folds.count} folds: lower `folds`, or "
            "give more rows of it."
        )
    splits = StratifiedKFold(folds.count, shuffle=True, random_state=folds.seed)
    return list(splits.split(np.empty((len(labels), 0)), labels))


def _require_known(labels: NDArray[np.str_], splits: Sequence[Split]) -> None:
    for fitted, held in splits:
        _require_classes(labels[fitted])
        unknown = np.setdiff1d(labels[held], labels[fitted])
        if unknown.size:
            raise EaseError(
                f"No training row is of class {', '.join(unknown)}, which the rows to test on hold."
            )


def _require_classes(labels: NDArray[np.str_]) -> None:
    if np.unique(labels).size < 2:
        raise EaseError(f"All {len(labels)} training rows are of class {labels[0]}: give two at least.")
