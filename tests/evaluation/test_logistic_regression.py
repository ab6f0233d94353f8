"""Logistic regression equals SciPy's minimum of the objective; the choice of C equals SentEval's nested loops."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from ease.errors import EaseError
from ease.evaluation.classifiers import Folds, LabelledEmbeddings, cross_validate, fit, train_and_test
from ease.evaluation.tasks.senteval import MAX_ITERATIONS
from ease.evaluation.items import mean_items

STRENGTHS = (0.01, 1.0, 100.0)
FOLDS = Folds(count=3, seed=7)


def labelled(seed: int, count: int, classes: int = 3, noise: float = 1.5) -> LabelledEmbeddings:
    """Return overlapping clusters of points, one for each class."""
    generator = np.random.default_rng(seed)
    numbers = np.arange(count) % classes
    rows = np.eye(classes, 5)[numbers] + generator.normal(scale=noise, size=(count, 5))
    return LabelledEmbeddings(rows, [f"c{number}" for number in numbers])


def test_the_fit_minimises_the_penalised_likelihood() -> None:
    data, strength = labelled(0, 60), 0.7
    rows, wanted = data.embeddings.astype(float), np.array([int(label[1]) for label in data.labels])

    def objective(parameters: np.ndarray) -> float:
        weight, bias = parameters[:15].reshape(3, 5), parameters[15:]
        likelihood = log_softmax(rows @ weight.T + bias, axis=1)[np.arange(60), wanted].sum()
        return float(-strength * likelihood + np.square(weight).sum() / 2)

    best = minimize(objective, np.zeros(18), method="BFGS", options={"gtol": 1e-7})
    scores = rows @ best.x[:15].reshape(3, 5).T + best.x[15:]
    model = fit(data, strength)
    assert list(model.classes_) == ["c0", "c1", "c2"]
    assert objective(np.concatenate([model.coef_.ravel(), model.intercept_])) == pytest.approx(
        best.fun, rel=1e-6
    )
    found = model.predict_log_proba(rows)
    assert found == pytest.approx(log_softmax(scores, axis=1), abs=1e-2)
    assert not np.allclose(found, fit(data, 5.0).predict_log_proba(rows), atol=0.1), "C matters"


def loop_accuracy(
    training: LabelledEmbeddings, test: LabelledEmbeddings, chosen: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[float, float, float]:
    """Return test accuracy, validation accuracy and C, computed like SentEval."""
    scores = []
    for strength in STRENGTHS:
        parts = []
        for fitted, held in chosen:
            model = LogisticRegression(C=strength, max_iter=1000)
            model.fit(training.embeddings[fitted].astype(float), training.labels[fitted])
            parts.append(model.score(training.embeddings[held].astype(float), training.labels[held]))
        scores.append(round(100 * float(np.mean(parts)), 2))
    best = STRENGTHS[int(np.argmax(scores))]
    final = LogisticRegression(C=best, max_iter=1000).fit(training.embeddings.astype(float), training.labels)
    return final.score(test.embeddings.astype(float), test.labels), max(scores), best


def test_nested_folds_equal_plain_loops() -> None:
    data = labelled(1, 150)
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    expected = []
    for fitted, held in folds.split(data.embeddings, data.labels):
        training = data.rows(fitted)
        inner = list(folds.split(training.embeddings, training.labels))
        expected.append(loop_accuracy(training, data.rows(held), inner))
    found = cross_validate(data, STRENGTHS, FOLDS)
    accuracies, points, strengths = zip(*expected, strict=True)
    assert found.accuracies == pytest.approx(accuracies)
    assert [100 * share for share in found.development] == pytest.approx(points)
    assert found.strengths == strengths
    assert 0.4 < fmean(found.accuracies) < 0.9
    assert cross_validate(data, STRENGTHS, FOLDS) == found
    assert cross_validate(data, STRENGTHS, Folds(3, seed=8)) != found


def test_some_rows_have_at_most_all_points() -> None:
    """The folds differ in size, so that the weights of their rows do."""
    easy = labelled(0, 31, noise=0.01)
    found = cross_validate(easy, STRENGTHS[:1], FOLDS)
    items = mean_items(found.hits, denominators=found.weights)
    assert len({*found.weights}) > 1
    assert items.value() == pytest.approx(100 * np.mean(found.accuracies))
    assert items.take(np.array(found.hits) > 0).value() == pytest.approx(100)


def test_with_a_test_split_c_is_chosen_by_folds_of_the_training_data() -> None:
    training, test = labelled(2, 90), labelled(3, 60)
    folds = StratifiedKFold(3, shuffle=True, random_state=7).split(training.embeddings, training.labels)
    accuracy, points, strength = loop_accuracy(training, test, list(folds))
    found = train_and_test(training, test, STRENGTHS, FOLDS)
    assert found.accuracies == pytest.approx((accuracy,))
    assert 100 * found.development[0] == pytest.approx(points)
    assert found.strengths == (strength,)


def test_development_data_select_c_and_are_not_used_for_fitting() -> None:
    training, development, test = labelled(4, 60), labelled(5, 60), labelled(6, 60)
    scores = {
        strength: np.mean(
            fit(training, strength).predict(development.embeddings.astype(float)) == development.labels
        )
        for strength in STRENGTHS
    }
    best = max(scores, key=lambda strength: scores[strength])
    found = train_and_test(training, test, STRENGTHS, development)
    assert found.strengths == (best,)
    assert found.development == pytest.approx((scores[best],), abs=1e-4)
    model = fit(training, best)
    assert found.accuracies[0] == pytest.approx(
        np.mean(model.predict(test.embeddings.astype(float)) == test.labels)
    )


def test_the_first_of_equally_good_values_is_chosen() -> None:
    easy = labelled(0, 30, noise=0.01)
    assert train_and_test(easy, easy, (8.0, 4.0), easy).strengths == (8.0,)
    assert train_and_test(easy, easy, (4.0, 8.0), easy).strengths == (4.0,)


def test_a_fit_that_does_not_converge_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    generator = np.random.default_rng(0)
    wild = LabelledEmbeddings(
        generator.normal(size=(300, 40)) * 10.0 ** np.arange(-20, 20), ["a", "b", "c"] * 100
    )
    fit(wild, 1e6)
    assert f"stopped after {MAX_ITERATIONS} iterations" in caplog.text
    caplog.clear()
    train_and_test(wild, wild, (1e6,), wild)
    assert f"stopped after {MAX_ITERATIONS} iterations" in caplog.text


def test_unusable_data_are_refused() -> None:
    data = labelled(0, 30)
    one = LabelledEmbeddings(data.embeddings, ["a"] * 30)
    rare = LabelledEmbeddings(data.embeddings, ["a"] * 14 + ["b"] * 14 + ["c"] * 2)
    with pytest.raises(EaseError, match="All 30 training rows are of class a"):
        fit(one, 1.0)
    with pytest.raises(EaseError, match="All 20 training rows are of class a"):
        cross_validate(one, STRENGTHS, FOLDS)
    with pytest.raises(EaseError, match="Class c has 2 rows to divide into 3 folds: lower `folds`"):
        cross_validate(rare, STRENGTHS, FOLDS)
    strange = LabelledEmbeddings(data.embeddings, ["c0", "c1", "c9"] * 10)
    for choosing in (FOLDS, data):
        with pytest.raises(EaseError, match="No training row is of class c9, which the rows to test on hold"):
            train_and_test(data, strange, STRENGTHS, choosing)
    with pytest.raises(EaseError, match="No training row is of class c9"):
        train_and_test(data, data, STRENGTHS, strange)
    with pytest.raises(EaseError, match="no value of C"):
        train_and_test(data, data, (), FOLDS)
