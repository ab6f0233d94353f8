"""Metrics equal hand-computed values and independent implementations, also from the items kept on disk."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr
from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score, v_measure_score
from sklearn.metrics.pairwise import paired_cosine_distances

from ease.errors import EaseError
from ease.evaluation import metrics
from ease.evaluation.metrics import Items, agreement_items, mean_items, paired_items, pairwise_cosine, spearman
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import cached_scores, items_file, read_items, read_resampled, write_items
from ease.evaluation.tasks import Score


def test_pairwise_cosine_agrees_with_scikit_learn() -> None:
    left, right = np.random.default_rng(1).standard_normal((2, 200, 16))
    expected = 1 - paired_cosine_distances(left, right)
    np.testing.assert_allclose(pairwise_cosine(left, right), expected, atol=1e-12)
    tiny = metrics.normalize_rows(np.array([[3e-200, 4e-200], [3e200, 4e200]]))
    np.testing.assert_allclose(tiny, [[0.6, 0.8], [0.6, 0.8]])


def test_spearman_with_ties_and_without_two_different_scores(caplog: pytest.LogCaptureFixture) -> None:
    generator = np.random.default_rng(3)
    similarities, gold = generator.integers(0, 9, 300), generator.integers(0, 6, 300)
    assert spearman(similarities, gold) == pytest.approx(pearsonr(rankdata(similarities), rankdata(gold)).statistic)
    for same in ([4.0], [4, 4, 4]):
        with pytest.raises(EaseError, match="gold scores are no two different ones: nothing to rank"):
            spearman(range(len(same)), same)
    with caplog.at_level(logging.WARNING):
        assert spearman(pairwise_cosine(np.ones((4, 3)), np.ones((4, 3))), [1, 2, 3, 4]) == 0.0
    assert "equal" in caplog.text


RANDOM = np.random.default_rng(7)
GOLD = np.round(RANDOM.uniform(0, 5, 400), 0)
COSINES = np.round(GOLD + RANDOM.normal(0, 2, 400), 1)
CLASSES = RANDOM.integers(0, 6, 400)
CLUSTERS = np.where(RANDOM.random(400) < 0.6, CLASSES, RANDOM.integers(0, 7, 400))


def test_scores_from_items_equal_scikit_learns_and_scipys() -> None:
    # Ties on both sides
    assert paired_items("spearman", COSINES, GOLD).value() == pytest.approx(100 * spearmanr(COSINES, GOLD).statistic)
    positive = GOLD > 2
    assert paired_items("auc", COSINES, positive).value() == pytest.approx(100 * roc_auc_score(positive, COSINES))
    runs, adjusted = [CLUSTERS, CLUSTERS[::-1]], "adjusted_mutual_information"
    for kind, measure in {"v_measure": v_measure_score, adjusted: adjusted_mutual_info_score}.items():
        expected = 100 * np.mean([measure(CLASSES, run) for run in runs])
        assert agreement_items(kind, CLASSES, runs).value() == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["auc", "v_measure", "adjusted_mutual_information"])
def test_contributions_predict_the_score_of_a_resample(kind: str) -> None:
    def items(rows: np.ndarray) -> Items:
        if kind == "auc":
            return paired_items("auc", COSINES[rows], GOLD[rows] > 2)
        return agreement_items(kind, CLASSES[rows], [CLUSTERS[rows]])

    contributions = items(np.arange(400)).contributions()[0]
    drawn = [RANDOM.integers(0, 400, 400) for _ in range(200)]
    exact = np.array([items(rows).value() for rows in drawn])
    predicted = np.array([100 * contributions[rows].mean() for rows in drawn])
    assert np.corrcoef(exact, predicted)[0, 1] > 0.97
    assert np.std(predicted) == pytest.approx(np.std(exact), rel=0.15)


def test_items_and_resampled_scores_survive_their_file(tmp_path: Path) -> None:
    scored = Score("stsb", "test", "spearman", 1.0, items=paired_items("spearman", COSINES, GOLD))
    scores = [scored, Score("stsb", "average", "spearman", 1.0, parts=(scored,)), Score("stsb", "x", "m", 2.0)]
    _, resampled = with_intervals(scores)
    write_items(tmp_path / "items.parquet", scores, resampled)
    ((place, kept),) = read_items(tmp_path / "items.parquet").items()
    assert (place, kept.value()) == (("test", "spearman"), scored.items.value())  # type: ignore[union-attr]
    found = read_resampled(tmp_path / "items.parquet")
    assert found.keys() == {("test", "spearman"), ("average", "spearman")}
    np.testing.assert_array_equal(found["average", "spearman"], resampled[0])


def test_scores_come_from_the_cache_with_their_intervals_and_items(tmp_path: Path) -> None:
    calls, hits = [], np.random.default_rng(0).random(200) < 0.4

    def compute() -> list[Score]:
        calls.append(1)
        return [Score("xnli", "de-en", "retrieval_accuracy", 100 * float(hits.mean()), items=mean_items(hits))]

    first, second = (cached_scores(tmp_path, "xnli", {"data": 1}, compute) for _ in range(2))
    assert len(calls) == 1
    assert [score.row() for score in first] == [score.row() for score in second]
    low, value, high = second[0].low, second[0].value, second[0].high
    assert low < value < high  # type: ignore[operator]
    file = items_file(tmp_path, "xnli", {"data": 1})
    assert read_items(file)["de-en", "retrieval_accuracy"].value() == second[0].value
    file.unlink()
    cached_scores(tmp_path, "xnli", {"data": 1}, compute)
    assert len(calls) == 2
    assert file.is_file(), "missing items are computed again"
    (score,) = cached_scores(None, "xnli", {}, compute)
    assert score.low is not None, "also without a cache"
