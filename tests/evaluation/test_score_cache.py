"""Scores kept on disk with their items."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ease.evaluation.items import mean_items
from ease.evaluation.score_cache import cached_scores, items_file, read_items
from ease.evaluation.tasks import Score

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
