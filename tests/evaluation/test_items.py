"""Scores computed again from what each test item contributed, and kept on disk with their items."""

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
    mean_items,
    paired_items,
)
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import cached_scores, items_file, read_items, read_resampled, write_items
from ease.evaluation.tasks import Score

RANDOM = np.random.default_rng(7)
GOLD = np.round(RANDOM.uniform(0, 5, 400), 0)
COSINES = np.round(GOLD + RANDOM.normal(0, 2, 400), 1)
CLASSES = RANDOM.integers(0, 6, 400)
CLUSTERS = np.where(RANDOM.random(400) < 0.6, CLASSES, RANDOM.integers(0, 7, 400))


def test_scores_from_items_equal_scikit_learns_and_scipys() -> None:
    assert paired_items("spearman", COSINES, GOLD).value() == pytest.approx(
        100 * spearmanr(COSINES, GOLD).statistic
    ), "ties on both sides"
    positive = GOLD > 2
    assert paired_items("auc", COSINES, positive).value() == pytest.approx(
        100 * roc_auc_score(positive, COSINES)
    )
    runs = [CLUSTERS, CLUSTERS[::-1]]
    for kind, measure in {
        "v_measure": v_measure_score,
        "adjusted_mutual_information": adjusted_mutual_info_score,
    }.items():
        expected = 100 * np.mean([measure(CLASSES, run) for run in runs])
        assert agreement_items(kind, CLASSES, runs).value() == pytest.approx(expected)


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
            return paired_items("auc", COSINES[rows], GOLD[rows] > 2)
        return agreement_items(kind, CLASSES[rows], [CLUSTERS[rows]])

    check_prediction(items, RANDOM)


def test_some_of_the_items() -> None:
    items = paired_items("spearman", COSINES, GOLD)
    chosen = np.arange(400) % 3 == 0
    expected = 100 * spearmanr(COSINES[chosen], GOLD[chosen]).statistic
    assert items.take(chosen).value() == pytest.approx(expected)
    assert np.isnan(items.take([]).value())
    assert mean_items([1.0, 0.0, 1.0], denominators=[2, 2, 0]).take([0, 2]).value() == 100


def test_items_and_resampled_scores_survive_their_file(tmp_path: Path) -> None:
    scored = Score("stsb", "test", "spearman", 1.0, items=paired_items("spearman", COSINES, GOLD))
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


HITS = np.random.default_rng(0).random(200) < 0.4


def computed() -> list[Score]:
    return [Score("xnli", "de-en", "retrieval_accuracy", 100 * float(HITS.mean()), items=mean_items(HITS))]


def test_scores_come_from_the_cache_with_their_intervals_and_items(tmp_path: Path) -> None:
    calls = []

    def compute() -> list[Score]:
        calls.append(1)
        return computed()

    first, second = (cached_scores(tmp_path, "xnli", {"data": 1}, compute) for _ in range(2))
    assert len(calls) == 1
    assert [score.row() for score in first] == [score.row() for score in second]
    low, high = second[0].low, second[0].high
    assert low is not None
    assert high is not None
    assert low < second[0].value < high
    file = items_file(tmp_path, "xnli", {"data": 1})
    kept = read_items(file)["de-en", "retrieval_accuracy"].items
    assert kept is not None
    assert kept.value() == second[0].value
    file.unlink()
    cached_scores(tmp_path, "xnli", {"data": 1}, compute)
    assert len(calls) == 2
    assert file.is_file(), "missing items are computed again"


def test_without_a_folder_scores_have_intervals_too() -> None:
    (score,) = cached_scores(None, "xnli", {}, computed)
    assert score.low is not None
