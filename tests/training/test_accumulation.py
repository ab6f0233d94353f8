"""Gradient accumulation: contrasts within sub-batches, one step for a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ease.errors import EaseError
from ease.training.job import run_job
from tests.training.tiny_training import MakeJob, losses, same, weights

STILL: dict[str, Any] = {"encoder": "encoder_without_dropout", "development": {}}


def test_a_single_sub_batch_is_the_batch(make_job: MakeJob) -> None:
    training = {"max_steps": 3}
    whole = run_job(make_job("whole", training=training))
    single = run_job(make_job("single", training={**training, "sub_batch_size": 16}))
    assert losses(single) == losses(whole)
    assert same(weights(single), weights(whole))


def test_sentences_contrast_within_their_sub_batch(make_job: MakeJob) -> None:
    training = {"max_steps": 1}
    whole = run_job(make_job("whole", training=training, **STILL))
    parts = run_job(make_job("parts", training={**training, "sub_batch_size": 4}, **STILL))
    # A quarter of the candidates in each of two denominators.
    assert losses(parts)[1] < losses(whole)[1] - 2


@pytest.mark.parametrize("changed", [{"packed": True}, {"mini_batch_size": 3}])
def test_packing_and_gradient_caching_change_nothing(make_job: MakeJob, changed: dict[str, Any]) -> None:
    training = {"sub_batch_size": 8}
    plain = run_job(make_job("plain", training=training, **STILL))
    other = run_job(make_job("other", training={**training, **changed}, **STILL))
    assert list(losses(other).values()) == pytest.approx(list(losses(plain).values()), rel=1e-5)
    found = weights(other)
    assert all(np.allclose(found[name], value, atol=2e-5) for name, value in weights(plain).items())


def test_a_batch_that_other_options_choose_is_cut_in_order(make_job: MakeJob) -> None:
    still = {"batches": {"sentences_per_entity": 2}, "learning_rate": 1e-12}
    parts = losses(
        run_job(make_job("parts", training={**still, "max_steps": 1, "sub_batch_size": 8}, **STILL))
    )
    steps = losses(run_job(make_job("steps", training={**still, "max_steps": 2, "batch_size": 8}, **STILL)))
    assert parts[1] == pytest.approx((steps[1] + steps[2]) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("training", "fault"),
    [
        ({"sub_batch_size": 5}, "`batch_size` 16 is not a multiple of `sub_batch_size` 5"),
        (
            {"sub_batch_size": 4, "batch_size": 12, "processes": 3},
            "`sub_batch_size` 4 is not a multiple of 3 `processes`",
        ),
        (
            {"sub_batch_size": 2, "processes": 2},
            "one pair, which has nothing to contrast with: raise it to at least 4",
        ),
        (
            {"sub_batch_size": 4, "batches": {"sentences_per_entity": 4}},
            "`sub_batch_size` 4 does not hold two entities of 4 sentences .*raise it to at least 8, or lower",
        ),
        (
            {"batches": {"sentences_per_entity": 16}},
            "`batch_size` 16 does not hold two entities of 16 sentences .*raise it to at least 32, or lower",
        ),
    ],
)
def test_sizes_that_do_not_divide_are_refused(
    make_job: MakeJob, training: dict[str, Any], fault: str
) -> None:
    with pytest.raises((ValueError, EaseError), match=fault):
        make_job(training=training)
