"""SimCSE's loss against a computation with scalars."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ease.methods.base import TOTAL, Entities
from ease.methods.components.entity_losses import NO_ENTITY
from ease.training.job import run_job
from tests.methods.made import ENTITIES, build, floats, inputs, self_loss
from tests.training.tiny_training import MakeJob


@pytest.mark.parametrize("temperature", [0.05, 0.7])
def test_the_loss_is_equation_3(temperature: float) -> None:
    sentences = floats(1, 2, 4, 6)
    terms = build("simcse", self_temperature=temperature)(inputs(sentences))
    assert terms[TOTAL].item() == pytest.approx(self_loss(sentences, temperature), rel=1e-5)


def test_entities_make_no_difference() -> None:
    sentences, method = floats(1, 2, 4, 6), build("simcse")
    others = Entities(ENTITIES.positives, ENTITIES.hard_negatives.clone().fill_(NO_ENTITY))
    assert (
        method(inputs(sentences, ENTITIES))[TOTAL]
        == method(inputs(sentences, others))[TOTAL]
        == method(inputs(sentences))[TOTAL]
    )
    assert not list(method.parameters())


def test_the_mlm_loss_is_added_by_its_weight_and_draws_nothing_without_one() -> None:
    sentences = floats(1, 2, 4, 6)
    with_mlm = build("simcse", mlm_weight=0.1, mlm_probability=0.5)
    terms = with_mlm(inputs(sentences))
    own = self_loss(sentences, 0.05)
    assert with_mlm.token_columns == ("sentence",)
    assert terms["mlm_loss"].item() > 1
    assert terms[TOTAL].item() == pytest.approx(own + 0.1 * terms["mlm_loss"].item(), rel=1e-5)
    without = build("simcse")
    state = torch.get_rng_state()
    assert set(without(inputs(sentences))) == {TOTAL, "self_loss"}
    assert torch.equal(torch.get_rng_state(), state)
    assert without.token_columns == ()


def test_both_losses_fall_together(make_job: MakeJob) -> None:
    changes: dict[str, Any] = {"method": "simcse", "method_options": {"mlm_weight": 0.1}, "development": {}}
    job = make_job(training={"max_steps": 60, "report_every": 10, "learning_rate": 3e-3}, **changes)
    history = run_job(job).history
    for name in ("self_loss", "mlm_loss"):
        assert history[-1][name] < 0.9 * history[0][name]
        assert history[-1]["loss"] == pytest.approx(
            history[-1]["self_loss"] + 0.1 * history[-1]["mlm_loss"], rel=1e-5
        )
