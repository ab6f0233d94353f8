"""Scores computed again from what each test item contributed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score, v_measure_score

from ease.errors import EaseError
from ease.evaluation.items import (
    Items,
    agreement_items,
    auc_items,
    correlation_items,
    mean_items,
)
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import read_items, read_resampled, write_items
from ease.evaluation.tasks import Score

RANDOM = np.random.default_rng(7)
GOLD = np.round(RANDOM.uniform(0, 5, 400), 0)
COSINES = np.round(GOLD + RANDOM.normal(0, 2, 400), 1)
CLASSES = RANDOM.integers(0, 6, 400)
CLUSTERS = np.where(RANDOM.random(400) < 0.6, CLASSES, RANDOM.integers(0, 7, 400))


def test_a_correlation_with_ties_on_both_sides() -> None:
    assert correlation_items(COSINES, GOLD).value() == pytest.approx(100 * spearmanr(COSINES, GOLD).statistic)


def test_the_area_under_the_roc_curve_with_ties() -> None:
    positive = GOLD > 2
    assert auc_items(COSINES, positive).value() == pytest.approx(100 * roc_auc_score(positive, COSINES))


def test_the_v_measure_of_several_runs() -> None:
    runs = [CLUSTERS, CLUSTERS[::-1]]
    expected = 100 * np.mean([v_measure_score(CLASSES, run) for run in runs])
    assert agreement_items("v_measure", CLASSES, runs).value() == pytest.approx(expected)


def check_prediction(items: Callable[[np.ndarray], Items], random: np.random.Generator) -> None:
    """Check that the contributions of 400 items predict the scores of drawn ones."""
    contributions = items(np.arange(400)).contributions()[0]
    drawn = [random.integers(0, 400, 400) for _ in range(200)]
    exact = np.array([items(rows).value() for rows in drawn])
    predicted = np.array([100 * contributions[rows].mean() for rows in drawn])
    assert np.corrcoef(exact, predicted)[0, 1] > 0.97
    assert np.std(predicted) == pytest.approx(np.std(exact), rel=0.15)


@pytest.mark.parametrize("kind", ["auc", "v_measure", "adjusted_mutual_information"])
def test_contributions_predict_the_score_of_a_resample(kind: str) -> None:
    def items(rows: np.ndarray) -> Items:
        if kind == "auc":
            return auc_items(COSINES[rows], GOLD[rows] > 2)
        return agreement_items(kind, CLASSES[rows], [CLUSTERS[rows]])

    check_prediction(items, RANDOM)


def test_contributions_predict_the_area_of_a_resample_with_few_positive_items() -> None:
    random = np.random.default_rng(7)
    positive = random.random(400) < 0.15
    cosines = positive + random.normal(size=400)
    check_prediction(lambda rows: auc_items(cosines[rows], positive[rows]), random)


def test_some_of_the_items() -> None:
    items = correlation_items(COSINES, GOLD)
    chosen = np.arange(400) % 3 == 0
    expected = 100 * spearmanr(COSINES[chosen], GOLD[chosen]).statistic
    assert items.take(chosen).value() == pytest.approx(expected)
    assert np.isnan(items.take([]).value())
    assert mean_items([1.0, 0.0, 1.0], denominators=[2, 2, 0]).take([0, 2]).value() == 100


def test_texts_of_another_number_than_the_items_are_refused() -> None:
    with pytest.raises(EaseError, match="give one each"):
        mean_items([1.0, 0.0], [("one",)])


def test_items_and_resampled_scores_survive_their_file(tmp_path: Path) -> None:
    scored = Score("stsb", "test", "spearman", 1.0, items=correlation_items(COSINES, GOLD))
    scores = [
        scored,
        Score("stsb", "average", "spearman", 1.0, parts=(scored,)),
        Score("stsb", "x", "m", 2.0),
    ]
    _, resampled = with_intervals(scores)
    write_items(tmp_path / "items.parquet", scores, resampled)
    kept = read_items(tmp_path / "items.parquet")
    assert kept["test", "spearman"].items is not None
    assert kept["test", "spearman"].items.value() == scored.items.value()  # type: ignore[union-attr]
    np.testing.assert_array_equal(kept["average", "spearman"].resampled, resampled[0])
    assert kept["x", "m"] == (None, None)
    assert read_resampled(tmp_path / "items.parquet").keys() == {
        ("test", "spearman"),
        ("average", "spearman"),
    }


def test_a_broken_file_of_items_is_named(tmp_path: Path) -> None:
    file = tmp_path / "items.parquet"
    file.write_text("no Parquet")
    with pytest.raises(
        EaseError, match="items.parquet: not a file of test items .*; delete it and evaluate again"
    ):
        read_items(file)


def test_the_adjusted_mutual_information_of_several_runs() -> None:
    runs = [CLUSTERS, CLUSTERS[::-1]]
    expected = 100 * np.mean([adjusted_mutual_info_score(CLASSES, run) for run in runs])
    found = agreement_items("adjusted_mutual_information", CLASSES, runs).value()
    assert found == pytest.approx(expected)
