"""Batches with several sentences of an entity, of one language, and drawn by powers of frequencies."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.training.sampling import BatchOptions, pair_indices

SIZE = 32


def make_pairs(count: int = 4000, seed: int = 0) -> NDArray[np.void]:
    """Pairs of 4 languages and 200 entities, both of very different frequencies."""
    random = np.random.default_rng(seed)
    pairs = np.zeros(count, [("entity", "<i8"), ("language", "<i2")])
    pairs["language"] = random.choice(4, count, p=[0.6, 0.3, 0.08, 0.02])
    pairs["entity"] = (random.random(count) ** 2 * 200).astype(int)
    return pairs


PAIRS = make_pairs()


def batches(steps: int, start: int = 0, seed: int = 1, **options: Any) -> list[NDArray[np.int64]]:
    found = pair_indices(PAIRS, SIZE, seed, start, BatchOptions(**options))
    return list(islice(found, steps))


def test_sentences_of_an_entity_come_together_and_from_different_languages() -> None:
    epoch = batches(80, sentences_per_entity=2)
    rows = np.concatenate(epoch)
    assert len(set(rows)) == len(rows), "an epoch has each pair at most once"
    alone = sum(count == 1 for batch in epoch for count in Counter(PAIRS["entity"][batch]).values())
    assert alone < 0.02 * len(rows), "only a group cut by a batch's end is alone"
    assert translations(rows) > 0.49 * len(rows)


def test_sentences_of_one_language_stay_where_others_fill_no_batch() -> None:
    pairs = PAIRS.copy()
    pairs["language"] = np.arange(len(pairs)) < 10
    epoch = list(islice(pair_indices(pairs, SIZE, 1, 0, BatchOptions(sentences_per_entity=2)), 125))
    assert sorted(np.concatenate(epoch)) == list(range(4000))


def translations(rows: NDArray[np.int64]) -> int:
    """Count the neighbours that share their entity but not their language."""
    pairs = PAIRS[rows]
    return sum(
        one["entity"] == other["entity"] and one["language"] != other["language"]
        for one, other in pairwise(pairs)
    )


@pytest.mark.parametrize(
    "options", [{"sentences_per_entity": 4}, {"languages": "single"}, {"language_exponent": 0.5}]
)
def test_a_training_resumes_at_any_step(options: dict[str, Any]) -> None:
    whole = batches(300, **options)
    for start in (1, 124, 130, 260):
        resumed = batches(5, start, **options)
        assert [rows.tolist() for rows in resumed] == [rows.tolist() for rows in whole[start : start + 5]]
    assert batches(3, **options)[0].tolist() != batches(3, seed=2, **options)[0].tolist()


def test_batches_of_one_language_hold_one_language_each() -> None:
    epoch = batches(100, languages="single")
    assert all(len(set(PAIRS["language"][rows])) == 1 for rows in epoch)
    assert {int(PAIRS["language"][rows[0]]) for rows in epoch} == {0, 1, 2, 3}


@pytest.mark.parametrize("exponent", [0.0, 0.5])
def test_languages_are_drawn_in_proportion_to_the_powers_of_frequencies(exponent: float) -> None:
    rows = np.concatenate(batches(1500, language_exponent=exponent))
    counts = np.bincount(PAIRS["language"])
    expected = counts**exponent * (counts > 0)
    found = np.bincount(PAIRS["language"][rows], minlength=len(counts)) / len(rows)
    assert np.abs(found - expected / expected.sum()).max() < 0.03


def test_a_language_of_one_pair_may_not_be_drawn() -> None:
    pairs = PAIRS.copy()
    pairs["language"][0] = 4
    options = BatchOptions(languages="single", sentences_per_entity=2, language_exponent=0.9)
    for seed in range(20):
        for batch in islice(pair_indices(pairs, SIZE, seed, options=options), 3):
            assert len(np.unique(pairs["language"][batch])) == 1


def test_a_batch_that_no_language_fills_is_refused() -> None:
    few = PAIRS[PAIRS["language"] == 3]
    with pytest.raises(EaseError, match="No language has the 100 pairs of a batch: lower `batch_size`"):
        next(pair_indices(few, 100, 1, options=BatchOptions(languages="single")))
