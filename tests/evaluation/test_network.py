"""The network with dropout: plain modules of torch as reference, seeds, and its place in cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from ease.errors import EaseError
from ease.evaluation.classifiers import (
    LEARNING_RATE,
    Family,
    Folds,
    LabelledEmbeddings,
    NetworkClassifier,
    cross_validate,
    fit,
    train_and_test,
)


def ring(seed: int, count: int = 600) -> LabelledEmbeddings:
    """Points inside and outside a circle, which no linear classifier separates."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, 2))
    return LabelledEmbeddings(rows, np.where((rows**2).sum(axis=1) < 1.2, "in", "out").tolist())


def test_training_equals_plain_modules_of_torch() -> None:
    data = ring(0, 100)
    classifier = NetworkClassifier(hidden=7, dropout=0.0, epochs=3, batch_size=32, weight_decay=0.01, seed=5)
    classifier.fit(data.embeddings, data.labels)
    layers = nn.Linear(2, 7), nn.Linear(7, 2)
    network = nn.Sequential(layers[0], nn.Sigmoid(), layers[1])
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():  # the same draws, in the same order
        for layer in layers:
            for values in (layer.weight, layer.bias):
                values.copy_(
                    (torch.rand(values.shape, generator=generator) * 2 - 1) * layer.in_features**-0.5
                )
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE, weight_decay=0.01)
    rows, wanted = torch.tensor(data.embeddings), torch.tensor(data.labels == "out").long()
    for _ in range(3):
        for batch in torch.randperm(100, generator=generator).split(32):
            torch.rand(len(batch), 7, generator=generator)  # of the dropout
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(rows[batch]), wanted[batch]).backward()
            optimizer.step()
    for ours, plain in zip(classifier.layers_, network.parameters(), strict=True):
        assert torch.allclose(ours, plain, atol=1e-6)
    expected = np.array(["in", "out"])[network(rows).argmax(dim=1).numpy()]
    assert classifier.predict(data.embeddings).tolist() == expected.tolist()


@pytest.mark.slow
def test_a_hidden_layer_separates_what_a_linear_classifier_does_not() -> None:
    training, test = ring(0, 2000), ring(1)
    network = NetworkClassifier(epochs=40, dropout=0.0, batch_size=16).fit(
        training.embeddings, training.labels
    )
    assert network.score(test.embeddings, test.labels) > 0.9
    assert fit(training, 1.0).score(test.embeddings, test.labels) < 0.8


def test_dropout_and_seed_change_the_weights_and_nothing_else_does() -> None:
    data = ring(0)
    plain = NetworkClassifier(epochs=2)

    def trained(**changed: object) -> torch.Tensor:
        torch.rand(3)  # the global generator is not used
        layers: tuple[torch.Tensor, ...] = (
            clone(plain).set_params(**changed).fit(data.embeddings, data.labels).layers_
        )
        return torch.cat([layer.flatten() for layer in layers])

    first = trained()
    assert torch.equal(trained(), first)
    assert not torch.allclose(trained(seed=3), first)
    assert not torch.allclose(trained(dropout=0.0), first)
    assert not torch.allclose(trained(weight_decay=0.1), first)


def test_dropout_keeps_the_mean_of_the_hidden_units() -> None:
    seen: list[torch.Tensor] = []
    inner = torch.sigmoid

    def watch(values: torch.Tensor) -> torch.Tensor:
        seen.append(values.detach())
        return inner(values)

    rows = np.ones((4000, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "sigmoid", watch)
        NetworkClassifier(hidden=20, dropout=0.2, epochs=1, batch_size=4000).fit(rows, ["a", "b"] * 2000)
        NetworkClassifier(hidden=20, dropout=0.0, epochs=1, batch_size=4000).fit(rows, ["a", "b"] * 2000)
    dropped, kept = seen
    assert (dropped == 0).float().mean().item() == pytest.approx(0.2, abs=0.01)
    assert dropped.mean(dim=0).numpy() == pytest.approx(kept.mean(dim=0).numpy(), abs=0.03)


@pytest.mark.slow
def test_weight_decay_is_chosen_like_c_and_a_single_one_is_not() -> None:
    training, development, test = ring(0, 1000), ring(2), ring(1)
    family = Family(NetworkClassifier(epochs=60, dropout=0.0, batch_size=16), "weight_decay")
    chosen = train_and_test(training, test, (10.0, 0.0), development, family)
    assert chosen.strengths == (0.0,), "the other one leaves nothing of the weights"
    assert chosen.development[0] > 0.8
    single = train_and_test(training, test, (0.0,), development, family)
    assert (single.accuracies, single.development) == (chosen.accuracies, ())
    quick = Family(NetworkClassifier(epochs=1), "weight_decay")
    assert len(cross_validate(training, (0.0,), Folds(3), quick).accuracies) == 3


def test_one_class_is_refused() -> None:
    with pytest.raises(EaseError, match="All 3 training rows are of class a"):
        NetworkClassifier().fit(np.eye(3), ["a"] * 3)
