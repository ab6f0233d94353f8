"""The losses against float64 loops over the terms of the equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ease.methods.components.entity_losses import NO_ENTITY, excluded_candidates
from ease.methods.components.losses import info_nce, masked_token_loss
from ease.methods.components.mirror_losses import mirrored_loss


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.sqrt(first @ first) / np.sqrt(second @ second))


def naive_entity_loss(
    sentences: np.ndarray,
    positives: np.ndarray,
    hard_negatives: np.ndarray | None,
    temperature: float,
    weight: float = 0.0,
    entities: list[int] | None = None,
    negative_entities: list[int] | None = None,
    mask: bool = False,
) -> float:
    """Compute equations 1 and 2 with loops."""
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
            own = weight if i == j else 0.0
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
def test_info_nce_without_hard_negatives_is_equation_1(temperature: float) -> None:
    sentences, positives = vectors(0), vectors(1)
    expected = naive_entity_loss(sentences.detach().numpy(), positives.detach().numpy(), None, temperature)
    assert info_nce(sentences, positives, temperature).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("temperature", [0.05, 10.0])
def test_info_nce_with_hard_negatives_is_equation_2(temperature: float, weight: float) -> None:
    sentences, positives, negatives = triples()
    first, second, third = arrays(sentences, positives, negatives)
    expected = naive_entity_loss(first, second, third, temperature, weight)
    loss = info_nce(sentences, positives, temperature, hard_negatives=negatives, hard_negative_weight=weight)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_missing_hard_negatives_and_same_entities_are_excluded(mask: bool, weight: float) -> None:
    sentences, positives, negatives = triples()
    first, second, third = arrays(sentences, positives, negatives)
    expected = naive_entity_loss(first, second, third, 0.5, weight, ENTITIES, NEGATIVES, mask)
    excluded = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES), mask_same_entity=mask)
    loss = info_nce(
        sentences, positives, 0.5, hard_negatives=negatives, excluded=excluded, hard_negative_weight=weight
    )
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


def test_losses_of_shares_average_to_the_loss_of_the_whole_batch() -> None:
    sentences, positives, negatives = triples()
    whole = info_nce(sentences, positives, 0.1, hard_negatives=negatives)
    shares = [
        info_nce(sentences[rows], positives, 0.1, hard_negatives=negatives, own=rows)
        for rows in torch.arange(6).split(3)
    ]
    assert torch.stack(shares).mean().item() == pytest.approx(whole.item(), rel=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    excluded = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES), mask_same_entity=True)

    def masked(sentences: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        return info_nce(
            sentences, positives, 0.2, hard_negatives=negatives, excluded=excluded, hard_negative_weight=1.0
        )

    def plain(first: Tensor, second: Tensor) -> Tensor:
        return info_nce(first, second, 0.2)

    assert torch.autograd.gradcheck(masked, triples())
    assert torch.autograd.gradcheck(plain, (vectors(0), vectors(1)))


def test_a_missing_hard_negative_gets_no_gradient() -> None:
    sentences, positives, negatives = triples()
    excluded = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES))
    info_nce(sentences, positives, 0.2, hard_negatives=negatives, excluded=excluded).backward()
    gradient: Any = negatives.grad
    assert not gradient[1].any()
    assert not gradient[4].any()
    assert gradient[0].any()


def absent(present: Sequence[bool]) -> Tensor:
    """Excluded candidates of six anchors, of whose hard negatives some are missing."""
    return torch.tensor([*[False] * 6, *[not there for there in present]]).expand(6, -1)


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
def test_info_nce_is_equation_5_of_supervised_simcse_with_its_gradients(
    present: list[bool], weight: float
) -> None:
    inputs = triples()
    anchors, positives, negatives = inputs
    loss = info_nce(
        anchors,
        positives,
        0.2,
        hard_negatives=negatives,
        excluded=absent(present),
        hard_negative_weight=weight,
    )

    def naive(*values: np.ndarray) -> float:
        return naive_supervised_loss(*values, present, weight)

    assert loss.item() == pytest.approx(naive(*arrays(*inputs)), rel=1e-12)
    gradients = torch.autograd.grad(loss, inputs)
    for gradient, expected in zip(arrays(*gradients), slopes(naive, arrays(*inputs)), strict=True):
        assert np.abs(gradient - expected).max() < 1e-8
    assert (gradients[2].abs().sum(1) > 0).tolist() == present


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
    loss = info_nce(first, second, 0.05)
    assert loss.dtype == torch.float32
    exact = info_nce(first.double(), second.double(), 0.05)
    assert loss.item() == pytest.approx(exact.item(), rel=1e-5)


EXCLUDED = excluded_candidates(torch.tensor(ENTITIES), torch.tensor(NEGATIVES), mask_same_entity=True)
IN_BLOCKS: dict[str, Callable[..., Tensor]] = {
    "equations 1 and 3": lambda first, second, _, **rows: info_nce(first, second, 0.2, **rows),
    "equation 2": lambda first, second, third, **rows: info_nce(
        first, second, 0.2, hard_negatives=third, excluded=EXCLUDED, hard_negative_weight=1.0, **rows
    ),
    "some hard negatives": lambda first, second, third, **rows: info_nce(
        first, second, 0.2, hard_negatives=third, excluded=absent([True, False] * 3), **rows
    ),
    "mirrored": lambda first, second, _, **rows: mirrored_loss(torch.stack([first, second]), 0.2, **rows),
    "mirrored as printed": lambda first, second, _, **rows: mirrored_loss(
        torch.stack([first, second]), 0.2, positive_in_denominator=False, **rows
    ),
}


@pytest.mark.parametrize("loss", IN_BLOCKS.values(), ids=IN_BLOCKS)
@pytest.mark.parametrize("mini_batch_size", [1, 4, 6])
def test_losses_in_mini_batches_equal_those_of_all_rows(
    loss: Callable[..., Tensor], mini_batch_size: int
) -> None:
    inputs = triples()
    whole, blocks = loss(*inputs), loss(*inputs, mini_batch_size=mini_batch_size)
    assert blocks.item() == pytest.approx(whole.item(), rel=1e-12)
    expected, found = (torch.autograd.grad(value, inputs, allow_unused=True) for value in (whole, blocks))
    for one, other in zip(expected, found, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, rtol=1e-10, atol=1e-12)


class Largest(TorchDispatchMode):
    """Records the size of the largest new tensor."""

    elements = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = function(*args, **(kwargs or {}))
        for value in tree_leaves(found):
            if isinstance(value, Tensor):
                self.elements = max(self.elements, value.untyped_storage().nbytes() // value.element_size())
        return found


@pytest.mark.parametrize("loss", [IN_BLOCKS["equations 1 and 3"], IN_BLOCKS["mirrored"]])
def test_in_mini_batches_the_logits_of_all_rows_are_never_in_memory(loss: Callable[..., Tensor]) -> None:
    views = torch.randn(2, 400, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for mini_batch_size, most in [(None, 400**2), (10, 10 * 800)]:
        with Largest() as largest:
            loss(views[0], views[1], None, mini_batch_size=mini_batch_size).backward()
        assert largest.elements <= most if mini_batch_size else largest.elements >= most


def test_missing_hard_negatives_are_marked_in_one_row_for_all() -> None:
    ids = torch.arange(5000)
    marked = excluded_candidates(ids, ids)
    assert marked.shape == (5000, 10_000)
    assert marked.untyped_storage().nbytes() == 10_000
