"""Metrics and clusters equal hand-computed values and independent implementations, also from items kept on disk."""

from __future__ import annotations

import logging
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score, v_measure_score

from ease.evaluation.items import Items, agreement_items, mean_items, paired_items
from ease.evaluation.resampling import with_intervals
from ease.evaluation.score_cache import cached_scores, items_file, read_items, read_resampled, write_items
from ease.evaluation.scores import Score
from ease.evaluation.tasks import labelled_texts
from ease.evaluation.tasks.labelled_texts import accuracy_of_clusters, cluster

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


BLOBS = np.repeat(10 * np.eye(4, 6), 25, axis=0) + np.random.default_rng(0).normal(size=(100, 6))


def test_blobs_are_separated_also_by_vector_length() -> None:
    assert accuracy_of_clusters(np.repeat(range(4), 25), cluster(BLOBS, 4, seed=1)).all()
    by_length = cluster([[1, 0.1], [1, -0.1], [9, 0.9], [9, -0.9]], 2, seed=1)
    assert by_length[0] == by_length[1] != by_length[2] == by_length[3], "normalised, signs would decide"


def test_zero_vectors_are_clustered_and_identical_vectors_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert set(cluster(np.vstack([np.zeros((2, 6)), BLOBS[:3]]), 2, seed=0)) == {0, 1}
    with caplog.at_level(logging.WARNING):
        assert set(cluster(np.ones((5, 3)), 2, seed=0)) == {0}
    assert "Only 1 of 2 clusters found" in caplog.text


@pytest.mark.parametrize(("classes", "clusters"), [(4, 4), (5, 3), (2, 5)])
def test_accuracy_is_that_of_the_best_of_all_assignments(classes: int, clusters: int) -> None:
    generator = np.random.default_rng(classes)
    true, found = generator.integers(classes, size=30), generator.integers(clusters, size=30)
    every = (np.array(names)[found] for names in permutations(range(max(classes, clusters))))
    assert accuracy_of_clusters(true, found).mean() == pytest.approx(max(np.mean(named == true) for named in every))


def test_purities_and_each_texts_contribution_to_the_mean_by_hand() -> None:
    # Most frequent class: three of four in cluster 0, both in cluster 1, two of three in cluster 2.
    true, found = list("aaabbbaab"), [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert labelled_texts.purity_of_clusters(true, found).mean() == pytest.approx((3 + 2 + 2) / 9)
    contributions = labelled_texts.mean_purity_of_clusters(true, found)
    assert contributions.mean() == pytest.approx((3 / 4 + 1 + 2 / 3) / 3)
    above = contributions - (3 / 4 + 1 + 2 / 3) / 3
    own = [1 / 4, 1 / 4, 1 / 4, -3 / 4, 0, 0, 1 / 3, 1 / 3, -2 / 3]
    sizes = [4, 4, 4, 4, 2, 2, 3, 3, 3]
    assert above == pytest.approx([9 / 3 * part / size for part, size in zip(own, sizes, strict=True)])
