"""EASE's loss against a computation with scalars."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ease.methods.base import TOTAL, Entities, TrainingMethod
from tests.methods.made import ENTITIES, build, cosine, floats, inputs, mean_loss, self_loss


def entity_loss(
    method: TrainingMethod[Any],
    sentences: Tensor,
    entities: Entities,
    temperature: float,
    *,
    hard_negatives: bool = True,
    weight: float = 0.0,
    mask_same_entity: bool = False,
) -> float:
    """Compute equations 1 and 2 and their options for the first view, (n, dimension)."""
    linear: Any = method.projection
    matrix, bias = linear.weight.tolist(), None if linear.bias is None else linear.bias.tolist()
    projected = []
    for entity in floats(0, 5, 3).tolist():
        row = [sum(weight * value for weight, value in zip(line, entity, strict=True)) for line in matrix]
        projected.append(row if bias is None else [math.tanh(a + b) for a, b in zip(row, bias, strict=True)])
    own, denominators = [], []
    positives, negatives = entities.positives.tolist(), entities.hard_negatives.tolist()
    for index, sentence in enumerate(sentences.tolist()):
        logits = [cosine(sentence, row) / temperature for row in projected]
        mine = positives[index]
        others = [entity for place, entity in enumerate(positives) if place != index]
        others += [entity for entity in negatives if entity >= 0 and hard_negatives]
        if mask_same_entity:
            others = [entity for entity in others if entity != mine]
        denominator = [logits[entity] for entity in [mine, *others]]
        if weight and negatives[index] >= 0:
            denominator.remove(logits[negatives[index]])
            denominator.append(logits[negatives[index]] + weight)
        own.append(logits[mine])
        denominators.append(denominator)
    return mean_loss(own, denominators)


@pytest.mark.parametrize("projection", ["linear", "tanh"])
def test_the_total_is_the_weighted_sum_of_equation_4(projection: str) -> None:
    method = build("ease", entity_weight=0.25, temperature=0.5, self_temperature=0.2, projection=projection)
    sentences = floats(1, 2, 4, 6)
    terms = method(inputs(sentences, ENTITIES))
    entity, own = entity_loss(method, sentences[0], ENTITIES, 0.5), self_loss(sentences, 0.2)
    assert terms["entity_loss"].item() == pytest.approx(entity, rel=1e-5)
    assert terms["self_loss"].item() == pytest.approx(own, rel=1e-5)
    assert terms[TOTAL].item() == pytest.approx(0.25 * entity + own, rel=1e-5)


def test_the_default_temperatures_are_0_05() -> None:
    sentences, method = floats(1, 2, 4, 6), build("ease")
    entity, own = entity_loss(method, sentences[0], ENTITIES, 0.05), self_loss(sentences, 0.05)
    assert method(inputs(sentences, ENTITIES))[TOTAL].item() == pytest.approx(entity + own, rel=1e-5)


@pytest.mark.parametrize(
    ("option", "by_hand"),
    [
        ({"hard_negatives": False}, {"hard_negatives": False}),
        ({"hard_negative_weight": 1.0}, {"weight": 1.0}),
        ({"mask_same_entity": True}, {"mask_same_entity": True}),
        (
            {"mask_same_entity": True, "hard_negatives": False},
            {"mask_same_entity": True, "hard_negatives": False},
        ),
    ],
)
def test_options_change_the_denominators(option: dict[str, Any], by_hand: dict[str, Any]) -> None:
    sentences = floats(1, 2, 4, 6)
    method = build("ease", temperature=0.5, **option)
    found = method(inputs(sentences, ENTITIES))["entity_loss"].item()
    assert found == pytest.approx(entity_loss(method, sentences[0], ENTITIES, 0.5, **by_hand), rel=1e-5)
    assert found != pytest.approx(entity_loss(method, sentences[0], ENTITIES, 0.5), rel=1e-3)


def test_without_hard_negatives_the_loss_is_equation_1() -> None:
    sentences, method = floats(1, 2, 4, 6), build("ease", temperature=0.5)
    lacking = Entities(ENTITIES.positives, torch.full((4,), -1))
    expected = entity_loss(method, sentences[0], lacking, 0.5, hard_negatives=False)
    assert method(inputs(sentences, lacking))["entity_loss"].item() == pytest.approx(expected, rel=1e-5)


def test_one_view_suffices_without_the_self_supervised_term() -> None:
    method = build("ease", self_supervised=False, entity_weight=0.5, temperature=0.5)
    assert method.views == ("sentence",)
    sentences = floats(1, 1, 4, 6)
    terms = method(inputs(sentences, ENTITIES))
    assert set(terms) == {TOTAL, "entity_loss"}
    expected = 0.5 * entity_loss(method, sentences[0], ENTITIES, 0.5)
    assert terms[TOTAL].item() == pytest.approx(expected, rel=1e-5)
