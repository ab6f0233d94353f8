"""EASE+'s loss against a computation with scalars."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ease.methods.base import TOTAL, Entities, TrainingMethod
from ease.methods.components.entity_losses import several_positives_loss
from tests.methods.made import ENTITIES, build, cosine, floats, inputs, self_loss

FURTHER = torch.tensor([[4, 0, -1], [-1, -1, -1], [1, -1, -1], [2, 3, 0]])
SUBJECTS = torch.tensor([3, 4, -1, 1])
SENTENCES = floats(1, 2, 4, 6)


def entity_loss(
    method: TrainingMethod[Any],
    sentences: Tensor,
    entities: Entities,
    temperature: float,
    subject_weight: float = 0.0,
    *,
    hard_negatives: bool = True,
) -> float:
    """For each sentence, the weighted mean over its positives of the loss of each against all negatives."""
    linear: Any = method.projection
    matrix = linear.weight.tolist()
    projected = [
        [sum(weight * value for weight, value in zip(line, entity, strict=True)) for line in matrix]
        for entity in floats(0, 5, 3).tolist()
    ]
    candidates = entities.positives.tolist()
    candidates += [entity for entity in entities.hard_negatives.tolist() if entity >= 0 and hard_negatives]
    further = [[]] * 4 if entities.further is None else entities.further.tolist()
    subjects = [-1] * 4 if entities.subjects is None else entities.subjects.tolist()
    total = 0.0
    for index, sentence in enumerate(sentences.tolist()):
        exponentials = [math.exp(cosine(sentence, row) / temperature) for row in projected]
        weighted: list[tuple[int, float]] = [(int(entities.positives[index]), 1.0)]
        weighted += [(entity, 1.0) for entity in further[index] if entity >= 0]
        weighted += [(subjects[index], subject_weight)] if subjects[index] >= 0 else []
        own = {entity for entity, _ in weighted}
        negatives = sum(exponentials[entity] for entity in candidates if entity not in own)
        losses = [
            weight * -math.log(exponentials[entity] / (exponentials[entity] + negatives))
            for entity, weight in weighted
        ]
        total += sum(losses) / sum(weight for _, weight in weighted)
    return total / len(sentences)


@pytest.mark.parametrize("hard_negatives", [True, False])
def test_the_total_has_every_positive_and_the_self_supervised_term(hard_negatives: bool) -> None:
    method = build(
        "ease_plus", entity_weight=0.25, temperature=0.5, self_temperature=0.2, hard_negatives=hard_negatives
    )
    entities = ENTITIES._replace(further=FURTHER)
    terms = method(inputs(SENTENCES, entities))
    entity = entity_loss(method, SENTENCES[0], entities, 0.5, hard_negatives=hard_negatives)
    assert terms["entity_loss"].item() == pytest.approx(entity, rel=1e-5)
    assert terms[TOTAL].item() == pytest.approx(0.25 * entity + self_loss(SENTENCES, 0.2), rel=1e-5)


def test_the_subject_has_its_own_weight() -> None:
    method = build("ease_plus", temperature=0.5, subject_weight=0.2)
    entities = ENTITIES._replace(further=FURTHER, subjects=SUBJECTS)
    terms = method(inputs(SENTENCES, entities))
    expected = entity_loss(method, SENTENCES[0], entities, 0.5, 0.2)
    assert terms["entity_loss"].item() == pytest.approx(expected, rel=1e-5)


def test_one_positive_is_ease_without_other_pairs_of_its_entity() -> None:
    plus, ease = build("ease_plus", positives=1), build("ease", mask_same_entity=True)
    ease.projection.load_state_dict(plus.projection.state_dict())  # type: ignore[operator, union-attr]
    given = inputs(SENTENCES, ENTITIES)
    assert plus(given)[TOTAL].item() == pytest.approx(ease(given)[TOTAL].item(), rel=1e-5)


def test_sentences_of_one_entity_attract_each_other() -> None:
    entities = Entities(torch.tensor([2, 0, 2, 2]), torch.tensor([1, -1, 3, 2]), FURTHER)
    method = build("ease_plus", attraction=0.5, temperature=0.5)
    terms = method(inputs(SENTENCES, entities))
    first, total = SENTENCES[0].tolist(), 0.0
    for index in (0, 2, 3):
        other = math.exp(cosine(first[index], first[1]) / 0.5)
        own = [math.exp(cosine(first[index], first[place]) / 0.5) for place in (0, 2, 3) if place != index]
        total += sum(-math.log(value / (value + other)) for value in own) / 2
    assert terms["attraction_loss"].item() == pytest.approx(total / 4, rel=1e-5)
    expected = terms["entity_loss"] + terms["self_loss"] + 0.5 * terms["attraction_loss"]
    assert terms[TOTAL].item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_sentence_without_negatives_has_no_loss() -> None:
    ids = torch.tensor([[1, 2]])
    anchors = floats(1, 1, 6).requires_grad_()
    loss = several_positives_loss(
        anchors,
        floats(2, 1, 2, 6),
        floats(3, 3, 6),
        0.05,
        positive_ids=ids,
        candidate_ids=torch.tensor([1, 2, -1]),
        weights=torch.ones(2),
    )
    loss.backward()
    assert loss.item() == 0
    assert anchors.grad is not None
    assert torch.isfinite(anchors.grad).all()
