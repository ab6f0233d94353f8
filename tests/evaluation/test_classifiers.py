"""Classifiers agree with scikit-learn's and torch's own; hyperparameters are chosen on the right data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from torch.nn import functional

from ease.errors import EaseError
from ease.evaluation import classifiers
from ease.evaluation.classifiers import LabelledEmbeddings, fit_selected, train_classifier
from ease.evaluation.network_classifier import NetworkClassifier

NAMES = np.array(["MCAT", "CCAT", "GCAT"])


def blobs(seed: int, count: int = 300, spread: float = 0.5) -> LabelledEmbeddings:
    """Return three clusters of points, one for each class."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(3, size=count)
    rows = 3 * np.eye(3, 8)[classes] + spread * generator.normal(size=(count, 8))
    return LabelledEmbeddings(rows, list(NAMES[classes]))


def test_linear_training_converges_to_the_optimum_of_logistic_regression() -> None:
    training = blobs(0, spread=3)
    settings: dict[str, Any] = {"epochs": 1500, "clip_norm": 1e6, "evaluation_steps": 10_000}
    learnt = train_classifier(training, training, 1, 300, 0.05, **settings)
    known = LogisticRegression(C=np.inf, tol=1e-8, max_iter=5000).fit(training.embeddings, training.labels)
    weight, bias = learnt.weight.numpy(), learnt.bias.numpy()
    # Adding one vector to all classes does not change the predictions.
    np.testing.assert_allclose(weight - weight.mean(0), known.coef_ - known.coef_.mean(0), atol=2e-3)
    np.testing.assert_allclose(bias - bias.mean(), known.intercept_ - known.intercept_.mean(), atol=2e-3)


def test_the_learning_rate_decays_linearly() -> None:
    data = LabelledEmbeddings(np.random.default_rng(0).normal(size=(8, 3)), list("abababab"))
    held = LabelledEmbeddings(data.embeddings, list("babababa"))
    learnt = train_classifier(data, held, 3, 8, 0.1, epochs=2, clip_norm=1e6)
    weight = (torch.randn(2, 3, generator=torch.Generator().manual_seed(3)) * 0.02).requires_grad_()
    bias = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.AdamW([weight, bias], weight_decay=0.0)
    for rate in (0.1, 0.05):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        logits = torch.from_numpy(data.embeddings) @ weight.T + bias
        functional.cross_entropy(logits, torch.tensor([0, 1] * 4)).backward()
        optimizer.step()
    torch.testing.assert_close(learnt.weight, weight.detach(), rtol=1e-4, atol=1e-6)


def test_the_step_is_chosen_on_the_development_data() -> None:
    training = blobs(0)
    # With permuted labels, a better fit gives a lower accuracy.
    following = dict(zip(NAMES, np.roll(NAMES, 1), strict=True))
    held = LabelledEmbeddings(training.embeddings, [following[label] for label in training.labels])
    often, last = (train_classifier(training, held, 42, 32, 0.1, evaluation_steps=steps) for steps in (1, 10_000))
    assert last.hits(training).all()
    assert often.hits(held).mean() > last.hits(held).mean()


def test_a_hyperparameter_is_chosen_by_folds_or_by_development_data() -> None:
    data, test = blobs(3, 90, spread=4), blobs(4, 90, spread=4)
    rows = data.embeddings.astype(float)
    folds = classifiers.stratified_folds(data.labels, 3, 7)
    model, grid = LogisticRegression(max_iter=1000), {"C": (0.001, 1.0, 100.0)}
    models = [LogisticRegression(C=c, max_iter=1000).fit(rows, data.labels) for c in grid["C"]]
    means = [cross_val_score(one, rows, data.labels, cv=folds).mean() for one in models]
    fitted, found = fit_selected(model, grid, data, folds)
    assert found == pytest.approx(max(means))
    assert np.allclose(fitted.coef_, models[int(np.argmax(means))].coef_, atol=1e-4)
    shares = [one.score(test.embeddings, test.labels) for one in models]
    fitted, found = fit_selected(model, grid, data, test)
    assert found == pytest.approx(max(shares))
    assert fitted.C == grid["C"][int(np.argmax(shares))]
    assert fit_selected(model, {"C": (8.0,)}, data, folds)[1] is None, "no choice"


def ring(seed: int, count: int) -> LabelledEmbeddings:
    """Points inside and outside a circle, which no linear classifier separates."""
    rows = np.random.default_rng(seed).normal(scale=3, size=(count, 2))
    return LabelledEmbeddings(rows, np.where((rows**2).sum(axis=1) < 10.8, "in", "out").tolist())


def test_a_network_separates_what_a_linear_classifier_does_not() -> None:
    training, test = ring(0, 400), ring(1, 600)
    state = torch.random.get_rng_state()
    network = NetworkClassifier(epochs=30, dropout=0.0, batch_size=8)
    network.fit(training.embeddings, training.labels)
    assert torch.equal(torch.random.get_rng_state(), state), "the generator of others is left as it was"
    assert network.score(test.embeddings, test.labels) > 0.88
    linear, _ = fit_selected(LogisticRegression(), {"C": (1.0,)}, training, training)
    assert linear.score(test.embeddings, test.labels) < 0.8
    few = training.rows(np.arange(200))
    chosen, _ = fit_selected(network, {"weight_decay": (10.0, 0.0)}, few, test)
    assert chosen.weight_decay == 0, "the other one leaves nothing of the weights"
    short = NetworkClassifier(epochs=1)
    first, again = (short.fit(training.embeddings, training.labels).network_[0].weight for _ in range(2))
    assert torch.equal(first, again), "the seed decides"


def test_unusable_data_are_refused() -> None:
    one, two = (LabelledEmbeddings(np.ones((2, 3)), labels) for labels in (["a", "a"], ["a", "b"]))
    with pytest.raises(EaseError, match="All 2 training rows are of class a"):
        train_classifier(one, one, 0)
    with pytest.raises(EaseError, match="No training row is of class c, which the development data hold"):
        train_classifier(two, LabelledEmbeddings(np.ones((1, 3)), ["c"]), 0)
    with pytest.raises(EaseError, match="Class b has 1 rows to divide into 2 folds: lower `folds`"):
        classifiers.stratified_folds(np.array(["a", "a", "b"]), 2, 0)
