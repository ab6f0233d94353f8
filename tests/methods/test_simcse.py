"""SimCSE's loss, by hand."""

from __future__ import annotations

import pytest

from ease.errors import EaseError
from ease.losses import NO_ENTITY
from ease.methods import TOTAL, Entities, get_method, method_options
from tests.methods.made import ENTITIES, build, encoder, floats, inputs, self_loss


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
    assert not get_method("simcse").needs_entities(method_options("simcse", {}))


def test_options_of_another_method_are_refused() -> None:
    with pytest.raises(EaseError, match="SimCSE takes SimcseOptions, not EaseOptions"):
        get_method("simcse").build(method_options("ease", {}), encoder(), None)
    with pytest.raises(EaseError, match="EASE takes EaseOptions, not SimcseOptions"):
        get_method("ease").build(method_options("simcse", {}), encoder(), None)
