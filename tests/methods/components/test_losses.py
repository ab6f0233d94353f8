"""The losses against a naive float64 computation written from the equations, term by term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ease.methods.components.losses import (
    NO_ENTITY,
    entity_loss,
    excluded_candidates,
    masked_token_loss,
    mirrored_loss,
    self_supervised_loss,
    supervised_loss,
)


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.sqrt(first @ first) / np.sqrt(second @ second))


def naive_entity_loss(
    sentences: np.ndarray,
    positives: np.ndarray,
    hard_negatives: np.ndarray | None,
    temperature: float,
    bonus: float = 0.0,
    entities: list[int] | None = None,
    negative_entities: list[int] | None = None,
    mask: bool = False,
) -> float:
    """Equations 1 and 2, with loops in the place of matrices."""
    losses = []
    for i, sentence in enumerate(sentences):
        numerator = np.exp(cosine(sentence, positives[i]) / temperature)
        denominator = 0.0
        for j in range(len(sentences)):
            same = mask and entities is not None and i != j and entities[i] == entities[j]
            if not same:
                denominator += np.exp(cosine(sentence, positives[j]) / temperature)
            if hard_negatives is None:
                continue
            negative = NO_ENTITY - 1 if negative_entities is None else negative_entities[j]
            if negative == NO_ENTITY or (mask and entities is not None and entities[i] == negative):
                continue
            own = bonus if i == j else 0.0
            denominator += np.exp(cosine(sentence, hard_negatives[j]) / temperature + own)
        losses.append(-np.log(numerator / denominator))
    return float(np.mean(losses))


def vectors(seed: int) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=(6, 5)), requires_grad=True)


def triples() -> tuple[Tensor, Tensor, Tensor]:
    """Sentences, positives and hard negatives of six pairs."""
    return vectors(0), vectors(1), vectors(2)


def arrays(*tensors: Tensor) -> list[np.ndarray]:
    return [tensor.detach().numpy() for tensor in tensors]


ENTITIES = [4, 9, 4, 7, 2, 9]
NEGATIVES = [9, NO_ENTITY, 1, 4, NO_ENTITY, 3]


@pytest.mark.parametrize("temperature", [0.05, 1.0, 10.0])
def test_entity_loss_without_hard_negatives_is_equation_1(temperature: float) -> None:
    sentences, positives = vectors(0), vectors(1)
    expected = naive_entity_loss(sentences.detach().numpy(), positives.detach().numpy(), None, temperature)
    assert entity_loss(sentences, positives, None, temperature).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bonus", [0.0, 1.0])
@pytest.mark.parametrize("temperature", [0.05, 10.0])
def test_entity_loss_with_hard_negatives_is_equation_2(temperature: float, bonus: float) -> None:
    sentences, positives, negatives = triples()
    first, second, third = arrays(sentences, positives, negatives)
    expected = naive_entity_loss(first, second, third, temperature, bonus)
    loss = entity_loss(sentences, positives, negatives, temperature, hard_negative_bonus=bonus)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("bonus", [0.0, 1.0])
def test_missing_hard_negatives_and_same_entities_leave_the_denominator(mask: bool, bonus: float) -> None:
    sentences, positives, negatives = triples()
    first, second, third = arrays(sentences, positives, negatives)
    expected = naive_entity_loss(first, second, third, 0.5, bonus, ENTITIES, NEGATIVES, mask)
    excluded = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES), mask_same_entity=mask)
    loss = entity_loss(sentences, positives, negatives, 0.5, excluded=excluded, hard_negative_bonus=bonus)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_excluded_candidates_are_those_of_the_definition() -> None:
    positives, negatives = torch.tensor([4, 9, 4]), torch.tensor([9, NO_ENTITY, 4])
    assert excluded_candidates(positives, negatives).tolist() == [[False] * 4 + [True, False]] * 3
    masked = excluded_candidates(positives, negatives, mask_same_entity=True).tolist()
    assert masked == [
        [False, False, True, False, True, True],
        [False, False, False, True, True, False],
        [True, False, False, False, True, True],
    ]


def test_self_supervised_loss_is_equation_3() -> None:
    first, second = vectors(3), vectors(4)
    expected = naive_entity_loss(first.detach().numpy(), second.detach().numpy(), None, 0.05)
    assert self_supervised_loss(first, second, 0.05).item() == pytest.approx(expected, rel=1e-12)


def test_losses_of_shares_average_to_the_loss_of_the_whole_batch() -> None:
    sentences, positives, negatives = triples()
    whole = entity_loss(sentences, positives, negatives, 0.1)
    shares = [
        entity_loss(sentences[rows], positives, negatives, 0.1, own=rows) for rows in torch.arange(6).split(3)
    ]
    assert torch.stack(shares).mean().item() == pytest.approx(whole.item(), rel=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    excluded = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES), mask_same_entity=True)

    def masked(sentences: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        return entity_loss(sentences, positives, negatives, 0.2, excluded=excluded, hard_negative_bonus=1.0)

    def self_supervised(first: Tensor, second: Tensor) -> Tensor:
        return self_supervised_loss(first, second, 0.2)

    assert torch.autograd.gradcheck(masked, triples())
    assert torch.autograd.gradcheck(self_supervised, (vectors(0), vectors(1)))


def test_a_missing_hard_negative_gets_no_gradient() -> None:
    sentences, positives, negatives = triples()
    excluded = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES))
    entity_loss(sentences, positives, negatives, 0.2, excluded=excluded).backward()
    gradient: Any = negatives.grad
    assert not gradient[1].any()
    assert not gradient[4].any()
    assert gradient[0].any()


def naive_supervised_loss(
    anchors: np.ndarray, positives: np.ndarray, negatives: np.ndarray, present: Sequence[bool], weight: float
) -> float:
    """Equation 5 of supervised SimCSE at a temperature of 0.2, and 8 with exp(weight) for its α."""
    losses = []
    for i, anchor in enumerate(anchors):
        denominator = 0.0
        for j in range(len(anchors)):
            denominator += np.exp(cosine(anchor, positives[j]) / 0.2)
            if present[j]:
                alpha = np.exp(weight) if i == j else 1.0
                denominator += alpha * np.exp(cosine(anchor, negatives[j]) / 0.2)
        losses.append(-np.log(np.exp(cosine(anchor, positives[i]) / 0.2) / denominator))
    return float(np.mean(losses))


def slopes(loss: Callable[..., float], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Gradients by central differences."""
    found = []
    for place, values in enumerate(inputs):
        gradient = np.zeros_like(values)
        for index in np.ndindex(values.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [array.copy() for array in inputs]
                moved[place][index] += step
                ends.append(loss(*moved))
            gradient[index] = (ends[0] - ends[1]) / 2e-5
        found.append(gradient)
    return found


@pytest.mark.parametrize("weight", [0.0, 0.7])
@pytest.mark.parametrize("present", [[True] * 6, [True, False, False, True, True, False], [False] * 6])
def test_supervised_loss_is_equation_5_with_its_gradients(present: list[bool], weight: float) -> None:
    inputs = triples()
    loss = supervised_loss(*inputs, 0.2, present=torch.tensor(present), hard_negative_weight=weight)

    def naive(*values: np.ndarray) -> float:
        return naive_supervised_loss(*values, present, weight)

    assert loss.item() == pytest.approx(naive(*arrays(*inputs)), rel=1e-12)
    gradients = torch.autograd.grad(loss, inputs)
    for gradient, expected in zip(arrays(*gradients), slopes(naive, arrays(*inputs)), strict=True):
        assert np.abs(gradient - expected).max() < 1e-8
    assert (gradients[2].abs().sum(1) > 0).tolist() == present


def test_supervised_losses_of_shares_average_to_that_of_the_whole_batch() -> None:
    inputs, present = triples(), torch.tensor([True, False, True, True, False, True])
    whole = supervised_loss(*inputs, 0.1, present=present, hard_negative_weight=0.5)
    shares = [
        supervised_loss(
            inputs[0][rows], *inputs[1:], 0.1, present=present, own=rows, hard_negative_weight=0.5
        )
        for rows in torch.arange(6).split(3)
    ]
    assert torch.stack(shares).mean().item() == pytest.approx(whole.item(), rel=1e-12)


def test_masked_token_loss_is_the_mean_surprise_with_its_gradient() -> None:
    logits, targets = vectors(5), torch.tensor([4, 0, 2, 2, 1, 3])

    def naive(rows: np.ndarray) -> float:
        shares = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
        return float(np.mean([-np.log(share[target]) for share, target in zip(shares, targets, strict=True)]))

    loss = masked_token_loss(logits, targets)
    assert loss.item() == pytest.approx(naive(*arrays(logits)), rel=1e-12)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert np.abs(gradient.numpy() - slopes(naive, arrays(logits))[0]).max() < 1e-8


def test_without_a_masked_token_there_is_no_loss_and_no_gradient() -> None:
    logits = vectors(5)
    loss = masked_token_loss(logits[:0], torch.tensor([], dtype=torch.long))
    assert loss.item() == 0.0
    assert not torch.autograd.grad(loss, logits)[0].any()


def test_half_precision_embeddings_get_a_loss_in_single_precision() -> None:
    first, second = vectors(0).bfloat16(), vectors(1).bfloat16()
    loss = self_supervised_loss(first, second, 0.05)
    assert loss.dtype == torch.float32
    exact = self_supervised_loss(first.double(), second.double(), 0.05)
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)


EXCLUDED = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES), mask_same_entity=True)
IN_BLOCKS: dict[str, Callable[..., Tensor]] = {
    "self-supervised": lambda first, second, _, **rows: self_supervised_loss(first, second, 0.2, **rows),
    "equation 1": lambda first, second, _, **rows: entity_loss(first, second, None, 0.2, **rows),
    "equation 2": lambda first, second, third, **rows: entity_loss(
        first, second, third, 0.2, excluded=EXCLUDED, hard_negative_bonus=1.0, **rows
    ),
    "supervised": lambda first, second, third, **rows: supervised_loss(
        first,
        second,
        third,
        0.2,
        present=torch.tensor([True, False, True, True, False, True]),
        hard_negative_weight=0.5,
        **rows,
    ),
    "mirrored": lambda first, second, _, **rows: mirrored_loss(torch.stack([first, second]), 0.2, **rows),
    "mirrored as printed": lambda first, second, _, **rows: mirrored_loss(
        torch.stack([first, second]), 0.2, positive_in_denominator=False, **rows
    ),
}


@pytest.mark.parametrize("loss", IN_BLOCKS.values(), ids=IN_BLOCKS)
@pytest.mark.parametrize("block_rows", [1, 4, 6])
def test_losses_in_blocks_are_those_of_all_rows(loss: Callable[..., Tensor], block_rows: int) -> None:
    inputs = triples()
    whole, blocks = loss(*inputs), loss(*inputs, block_rows=block_rows)
    assert blocks.item() == pytest.approx(whole.item(), rel=1e-12)
    expected, found = (torch.autograd.grad(value, inputs, allow_unused=True) for value in (whole, blocks))
    for one, other in zip(expected, found, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, rtol=1e-10, atol=1e-12)


class Largest(TorchDispatchMode):
    """Knows how many elements the largest new tensor has."""

    elements = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = function(*args, **(kwargs or {}))
        for value in tree_leaves(found):
            if isinstance(value, Tensor):
                self.elements = max(self.elements, value.untyped_storage().nbytes() // value.element_size())
        return found


@pytest.mark.parametrize("loss", [IN_BLOCKS["self-supervised"], IN_BLOCKS["mirrored"]])
def test_in_blocks_the_similarities_of_all_rows_never_exist(loss: Callable[..., Tensor]) -> None:
    views = torch.randn(2, 400, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for block_rows, most in [(None, 400**2), (10, 10 * 800)]:
        with Largest() as largest:
            loss(views[0], views[1], None, block_rows=block_rows).backward()
        assert largest.elements <= most if block_rows else largest.elements >= most


def test_missing_hard_negatives_are_marked_in_one_row_for_all() -> None:
    ids = torch.arange(5000)
    marked = excluded_candidates(ids, ids)
    assert marked.shape == (5000, 10_000)
    assert marked.untyped_storage().nbytes() == 10_000
