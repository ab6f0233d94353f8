"""The losses of EASE and EASE+ against a computation sentence by sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from torch import Tensor

from ease.methods.base import TOTAL, Entities, TrainingMethod
from tests.methods.made import ENTITIES, build, cosines, floats, inputs, self_loss

FURTHER = torch.tensor([[4, 0, -1], [-1, -1, -1], [1, -1, -1], [2, 3, 0]])
SUBJECTS = torch.tensor([3, 4, -1, 1])
SENTENCES = floats(1, 2, 4, 6)


def projected(method: TrainingMethod[Any]) -> np.ndarray:
    """The entities in the space of the sentences: W e, or tanh(W e + b) with a bias."""
    linear: Any = method.projection
    rows = floats(0, 5, 3).numpy().astype(np.float64) @ linear.weight.detach().numpy().T
    return rows if linear.bias is None else np.tanh(rows + linear.bias.detach().numpy())


def ease_loss(
    method: TrainingMethod[Any],
    temperature: float,
    entities: Entities = ENTITIES,
    *,
    hard_negatives: bool = True,
    hard_negative_weight: float = 0.0,
    mask_same_entity: bool = False,
) -> float:
    """Equations 1 and 2 and their options."""
    logits = cosines(SENTENCES[0], projected(method)) / temperature
    positives, negatives = entities.positives.tolist(), entities.hard_negatives.tolist()
    losses = []
    for index, own in enumerate(positives):
        candidates = [(entity, 0.0) for place, entity in enumerate(positives) if place != index]
        for place, entity in enumerate(negatives if hard_negatives else ()):
            candidates += [(entity, hard_negative_weight * (place == index))] if entity >= 0 else []
        others = [
            logits[index, entity] + extra for entity, extra in candidates if not (mask_same_entity and entity == own)
        ]
        losses.append(logsumexp([logits[index, own], *others]) - logits[index, own])
    return float(np.mean(losses))


def ease_plus_loss(
    method: TrainingMethod[Any],
    temperature: float,
    entities: Entities,
    subject_weight: float = 0.0,
    *,
    hard_negatives: bool = True,
) -> float:
    """For each sentence, the weighted mean over its positives of the loss of each against all negatives."""
    assert entities.further is not None
    subjects = torch.full((4,), -1) if entities.subjects is None else entities.subjects
    places = torch.cat([entities.positives[:, None], entities.further, subjects[:, None]], dim=1)
    candidates = [entities.positives, *([entities.hard_negatives] if hard_negatives else [])]
    losses = []
    for logits, row in zip(cosines(SENTENCES[0], projected(method)) / temperature, places.tolist(), strict=True):
        negatives = logsumexp([logits[c] for c in torch.cat(candidates).tolist() if c >= 0 and c not in row])
        own = [(entity, 1.0 if place < 4 else subject_weight) for place, entity in enumerate(row) if entity >= 0]
        each = [np.logaddexp(logits[entity], negatives) - logits[entity] for entity, _ in own]
        losses.append(np.average(each, weights=[weight for _, weight in own]))
    return float(np.mean(losses))


@pytest.mark.parametrize("projection", ["linear", "tanh"])
def test_the_total_is_the_weighted_sum_of_equation_4(projection: str) -> None:
    method = build("ease", entity_weight=0.25, temperature=0.5, self_temperature=0.2, projection=projection)
    terms = method(inputs(SENTENCES, ENTITIES))
    entity, own = ease_loss(method, 0.5), self_loss(SENTENCES, 0.2)
    assert terms["entity_loss"].item() == pytest.approx(entity, rel=1e-5)
    assert terms["self_loss"].item() == pytest.approx(own, rel=1e-5)
    assert terms[TOTAL].item() == pytest.approx(0.25 * entity + own, rel=1e-5)
    method = build("ease")
    total = ease_loss(method, 0.05) + self_loss(SENTENCES, 0.05)
    assert method(inputs(SENTENCES, ENTITIES))[TOTAL].item() == pytest.approx(total, rel=1e-5), "the defaults"


@pytest.mark.parametrize(
    "options",
    [
        {"hard_negatives": False},
        {"hard_negative_weight": 1.0},
        {"mask_same_entity": True},
        {"mask_same_entity": True, "hard_negatives": False},
    ],
)
def test_options_change_the_denominators(options: dict[str, Any]) -> None:
    method = build("ease", temperature=0.5, **options)
    found = method(inputs(SENTENCES, ENTITIES))["entity_loss"].item()
    assert found == pytest.approx(ease_loss(method, 0.5, **options), rel=1e-5)
    assert found != pytest.approx(ease_loss(method, 0.5), rel=1e-3)


def test_terms_and_hard_negatives_may_be_missing() -> None:
    method = build("ease", self_supervised=False, entity_weight=0.5, temperature=0.5)
    assert method.reads(method.options).views == ("sentence",)
    lacking = Entities(ENTITIES.positives, torch.full((4,), -1))
    terms = method(inputs(SENTENCES[:1], lacking))
    assert set(terms) == {TOTAL, "entity_loss"}
    assert terms[TOTAL].item() == pytest.approx(0.5 * ease_loss(method, 0.5, lacking), rel=1e-5)


@pytest.mark.parametrize(
    ("options", "subjects"), [({}, None), ({"hard_negatives": False}, None), ({"subject_weight": 0.2}, SUBJECTS)]
)
def test_ease_plus_has_every_positive_and_the_self_supervised_term(
    options: dict[str, Any], subjects: Tensor | None
) -> None:
    method = build("ease_plus", entity_weight=0.25, temperature=0.5, self_temperature=0.2, **options)
    entities = ENTITIES._replace(further=FURTHER, subjects=subjects)
    terms = method(inputs(SENTENCES, entities))
    entity = ease_plus_loss(method, 0.5, entities, **options)
    assert terms["entity_loss"].item() == pytest.approx(entity, rel=1e-5)
    assert terms[TOTAL].item() == pytest.approx(0.25 * entity + self_loss(SENTENCES, 0.2), rel=1e-5)


def test_sentences_of_one_entity_attract_each_other() -> None:
    entities = Entities(torch.tensor([2, 0, 2, 2]), torch.tensor([1, -1, 3, 2]), FURTHER)
    terms = build("ease_plus", attraction=0.5, temperature=0.5)(inputs(SENTENCES, entities))
    logits = cosines(SENTENCES[0], SENTENCES[0]) / 0.5
    same = [(one, other) for one in (0, 2, 3) for other in (0, 2, 3) if one != other]
    losses = [np.logaddexp(logits[one, other], logits[one, 1]) - logits[one, other] for one, other in same]
    assert terms["attraction_loss"].item() == pytest.approx(sum(losses) / 2 / 4, rel=1e-5)
    expected = terms["entity_loss"] + terms["self_loss"] + 0.5 * terms["attraction_loss"]
    assert terms[TOTAL].item() == pytest.approx(expected.item(), rel=1e-5)
