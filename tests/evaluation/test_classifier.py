"""The linear classifier agrees with scikit-learn's; its settings are chosen on development data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from ease.errors import EaseError
from ease.evaluation.classifiers import (
    ClassifierSettings,
    LabelledEmbeddings,
    select_classifiers,
    train_classifier,
)

NAMES = np.array(["MCAT", "CCAT", "GCAT"])


def blobs(seed: int, count: int = 300, spread: float = 0.5) -> LabelledEmbeddings:
    """Return three clusters of points, one for each class."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(3, size=count)
    return LabelledEmbeddings(
        3 * np.eye(3, 8)[classes] + spread * generator.normal(size=(count, 8)), list(NAMES[classes])
    )


def test_separable_classes_are_learned_like_by_logistic_regression() -> None:
    training, test = blobs(0), blobs(1)
    learnt = train_classifier(training, ClassifierSettings(learning_rate=0.1), seed=42)
    known = LogisticRegression().fit(training.embeddings, training.labels)
    assert learnt.accuracy(test) == 1
    assert (learnt.predict(test.embeddings) == known.predict(test.embeddings)).all()


def test_training_converges_to_the_optimum_of_logistic_regression() -> None:
    training = blobs(0, spread=3)
    settings = ClassifierSettings(batch_size=300, learning_rate=0.05, epochs=1500, clip_norm=1e6)
    learnt = train_classifier(training, settings, seed=1)
    known = LogisticRegression(C=np.inf, tol=1e-8, max_iter=5000).fit(training.embeddings, training.labels)
    assert list(learnt.classes) == list(known.classes_)
    weight, bias = learnt.weight.numpy(), learnt.bias.numpy()
    # Adding one vector to all classes does not change the predictions.
    np.testing.assert_allclose(weight - weight.mean(0), known.coef_ - known.coef_.mean(0), atol=2e-3)
    np.testing.assert_allclose(bias - bias.mean(), known.intercept_ - known.intercept_.mean(), atol=2e-3)
    assert 0.4 < learnt.accuracy(training) < 0.95, "classes overlap"


def test_two_classes_and_weight_decay() -> None:
    rows, labels = np.array([[1.0], [2.0], [-1.0], [-2.0]]), ["1", "1", "0", "0"]
    data = LabelledEmbeddings(rows, labels)
    free, decayed = (
        train_classifier(data, ClassifierSettings(4, 0.1, epochs=100, weight_decay=decay), seed=0)
        for decay in (0, 1)
    )
    assert list(free.predict(np.array([[5.0], [-5.0]]))) == ["1", "0"]
    assert decayed.weight.abs().max() < free.weight.abs().max()


def inverted(data: LabelledEmbeddings) -> LabelledEmbeddings:
    """Return the data with permuted labels: a better fit gives a lower accuracy here."""
    following = dict(zip(NAMES, np.roll(NAMES, 1), strict=True))
    return LabelledEmbeddings(data.embeddings, [following[label] for label in data.labels])


def test_the_best_step_on_the_development_data_is_kept() -> None:
    training = blobs(0)
    often, last = (
        train_classifier(
            training, ClassifierSettings(learning_rate=0.1, evaluation_steps=steps), 42, inverted(training)
        )
        for steps in (1, 10_000)
    )
    assert last.accuracy(training) == 1
    assert often.accuracy(inverted(training)) > last.accuracy(inverted(training))


def test_the_first_of_equally_good_steps_is_kept() -> None:
    data = LabelledEmbeddings(np.array([[1.0], [2.0], [-1.0], [-2.0]]), ["1", "1", "0", "0"])
    often = ClassifierSettings(4, 0.1, epochs=50, evaluation_steps=1)
    first, last = train_classifier(data, often, 0, data), train_classifier(data, often, 0)
    assert first.accuracy(data) == last.accuracy(data) == 1
    assert first.weight.abs().max() < last.weight.abs().max()


def test_the_learning_rate_decays_linearly() -> None:
    random = np.random.default_rng(0)
    data = LabelledEmbeddings(random.normal(size=(8, 3)), list("abababab"))
    learnt = train_classifier(data, ClassifierSettings(8, 0.1, epochs=2, clip_norm=1e6), seed=3)
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


def test_settings_are_chosen_on_the_development_data() -> None:
    training = blobs(0)
    still, quick = ClassifierSettings(learning_rate=1e-9), ClassifierSettings(learning_rate=0.1)
    chosen = select_classifiers(training, blobs(1), [still, quick], seeds=[1, 2, 3])
    assert chosen.settings is quick
    assert chosen.accuracies == (1.0, 1.0, 1.0)
    assert [classifier.accuracy(blobs(2)) for classifier in chosen.classifiers] == [1.0] * 3
    assert select_classifiers(training, inverted(blobs(1)), [quick, still], [1]).settings is still


def test_the_first_of_equally_good_settings_is_chosen() -> None:
    first, second = ClassifierSettings(32, 0.1), ClassifierSettings(64, 0.1)
    for grid in ([first, second], [second, first]):
        assert select_classifiers(blobs(0), blobs(1), grid, seeds=[1]).settings is grid[0]


@pytest.fixture
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_threads")
def test_training_is_seeded_and_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()
    cross_entropy = functional.cross_entropy

    def watched(logits: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        seen.add(torch.get_num_threads())
        return cross_entropy(logits, classes)

    monkeypatch.setattr(functional, "cross_entropy", watched)
    generator = np.random.default_rng(0)
    data = LabelledEmbeddings(generator.normal(size=(400, 30)), list(generator.choice(NAMES, 400)))
    settings = ClassifierSettings(batch_size=400, learning_rate=0.1)
    weights = []
    for threads, seed in [(1, 5), (2, 5), (2, 6)]:
        torch.set_num_threads(threads)
        weights.append(train_classifier(data, settings, seed).weight)
        assert torch.get_num_threads() == threads
    assert seen == {1}
    assert torch.equal(weights[0], weights[1])
    assert not torch.allclose(weights[1], weights[2])


def test_invalid_training_data_are_refused() -> None:
    one = LabelledEmbeddings(np.ones((2, 3)), ["a", "a"])
    two = LabelledEmbeddings(np.ones((2, 3)), ["a", "b"])
    settings = ClassifierSettings()
    with pytest.raises(EaseError, match="All 2 training rows are of class a"):
        train_classifier(one, settings, 0)
    with pytest.raises(EaseError, match="No training row is of class c"):
        train_classifier(two, settings, 0, LabelledEmbeddings(np.ones((1, 3)), ["c"]))
    with pytest.raises(EaseError, match=r"training have shape \(2, 3\), those for development \(1, 4\)"):
        train_classifier(two, settings, 0, LabelledEmbeddings(np.ones((1, 4)), ["a"]))
    with pytest.raises(EaseError, match="grid of settings is empty"):
        select_classifiers(two, two, [], [0])


def test_bad_embeddings_are_refused() -> None:
    with pytest.raises(EaseError, match="2 embeddings against 1 labels"):
        LabelledEmbeddings(np.ones((2, 3)), ["a"])
    with pytest.raises(EaseError, match="1 of 1 rows of the test embeddings contain NaN or infinity"):
        LabelledEmbeddings(np.array([[np.inf]]), ["a"], "test embeddings")
