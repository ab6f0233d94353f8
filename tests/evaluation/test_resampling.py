"""Intervals over test items, and comparisons of encoders on the same items."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np
import pytest
from scipy.stats import spearmanr

from ease.evaluation import resampling
from ease.evaluation.items import Items, agreement_items, mean_items, paired_items
from ease.evaluation.resampling import RESAMPLES, holm, interval, paired_p, resample, seed_interval, with_intervals
from ease.evaluation.scores import Score, averages

Draw = Callable[[np.random.Generator, int], Items]
SIMULATIONS, ITEMS, SIMULATED_RESAMPLES = 500, 250, 500


def graded(random: np.random.Generator, rows: int) -> Items:
    gold = np.round(random.uniform(0, 5, rows), 1)
    return paired_items("spearman", gold + random.normal(0, 2.5, rows), gold)


def retrieved(random: np.random.Generator, rows: int) -> Items:
    difficulty = random.random(rows)
    return mean_items(((random.random(rows) < difficulty) + (random.random(rows) < difficulty)) / 2)


def mined(random: np.random.Generator, rows: int) -> Items:
    found, gold = random.random(rows) < 0.4, random.random(rows) < 0.5
    return mean_items(2.0 * (found & gold), denominators=found.astype(float) + gold)


def answered(random: np.random.Generator, rows: int) -> Items:
    positive = random.random(rows) < 0.4
    return paired_items("auc", random.normal(0, 1, rows) + positive, positive)


def clustered(random: np.random.Generator, rows: int) -> Items:
    classes, others = random.integers(0, 4, (2, rows))
    return agreement_items("v_measure", classes, [np.where(random.random(rows) < 0.7, classes, others)])


@pytest.mark.slow
@pytest.mark.parametrize("draw", [graded, mined, answered, clustered])
def test_95_per_cent_of_the_intervals_contain_the_score_of_the_population(draw: Draw) -> None:
    random = np.random.default_rng(16)
    truth = draw(random, 400_000).value()
    held = 0
    for simulation in range(SIMULATIONS):
        limits = interval(resample(draw(random, ITEMS), f"made/{simulation}", SIMULATED_RESAMPLES))
        held += limits.low <= truth <= limits.high
    assert 0.93 <= held / SIMULATIONS <= 0.97


def test_each_resample_of_a_correlation_is_the_correlation_of_the_drawn_rows() -> None:
    items = graded(np.random.default_rng(0), 50)
    cosines, gold = np.round(items.columns["cosine"], 0), items.columns["gold"]
    found = resample(paired_items("spearman", cosines, gold), "made", 5)
    # The same draws, made one by one.
    generator = np.random.default_rng([resampling.RESAMPLING_SEED, crc32(b"made"), 50])
    drawn = generator.integers(0, 50, size=(5, 50), dtype=np.int32)
    by_gold = np.argsort(gold, kind="stable")
    expected = [100 * spearmanr(cosines[by_gold[rows]], gold[by_gold[rows]]).statistic for rows in drawn]
    assert found == pytest.approx(expected, abs=1e-3)


def test_random_groups_of_many_items_give_the_interval_of_a_mean() -> None:
    hits = np.sort(np.random.default_rng(1).random(50_000) < 0.3)  # groups must not keep this order
    error = 100 * np.std(hits) / np.sqrt(len(hits))
    limits = interval(resample(mean_items(hits), "made"))
    assert limits.high - limits.low == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_a_small_steady_gain_is_significant_though_the_intervals_overlap() -> None:
    random = np.random.default_rng(3)
    worse = random.random(1000) < 0.6
    better = worse | (random.random(1000) < 0.03)
    first, second = (resample(mean_items(hits), "made") for hits in (better, worse))
    assert interval(second).high > interval(first).low
    assert paired_p(first, second) < 0.01
    shuffled = resample(mean_items(random.permutation(worse)), "made")
    assert paired_p(first, shuffled) > 0.05
    assert paired_p(first, first) == 1


def test_holm_multiplies_the_smallest_by_the_number_of_comparisons() -> None:
    corrected = holm({"a": 0.01, "b": 0.04, "c": 0.03})
    assert corrected == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}
    assert holm({}) == {}


def test_the_interval_over_seeds_is_students() -> None:
    limits = seed_interval([70.0, 71.0, 72.0])
    assert limits == pytest.approx((71 - 4.3027 / 3**0.5, 71 + 4.3027 / 3**0.5), abs=1e-3)


def test_an_average_is_resampled_with_its_subsets_independently() -> None:
    random = np.random.default_rng(4)
    drawn = [retrieved(random, 200) for _ in range(4)]
    parts = [Score("t", str(n), "m", items.value(), items=items) for n, items in enumerate(drawn)]
    scores, resampled = with_intervals([*parts, *averages(parts, 4)])
    width = scores[-1].high - scores[-1].low  # type: ignore[operator]
    widths = [score.high - score.low for score in scores[:-1]]  # type: ignore[operator]
    assert width == pytest.approx(np.mean(widths) / 2, rel=0.1)
    np.testing.assert_allclose(resampled[4], np.mean([resampled[n] for n in range(4)], axis=0), rtol=1e-5)
    assert len(resampled[4]) == RESAMPLES


def test_fewer_than_30_items_are_marked_and_have_no_interval() -> None:
    small, large = (
        Score("t", str(rows), "m", 1.0, note="n", items=retrieved(np.random.default_rng(5), rows)) for rows in (29, 30)
    )
    scores, resampled = with_intervals([small, large, *averages([small, large], 2)])
    assert (scores[0].low, scores[0].note) == (None, f"n; {resampling.TOO_FEW}")
    assert scores[1].low is not None
    assert (scores[2].low, scores[2].high, scores[2].note) == (None, None, "")
    assert resampled.keys() == {1}
