"""The losses' gradients, shares and mini-batches; their values are compared with scalars in the methods' tests."""

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


def vectors(seed: int) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=(6, 5)), requires_grad=True)


def triples() -> tuple[Tensor, Tensor, Tensor]:
    """Sentences, positives and hard negatives of six pairs."""
    return vectors(0), vectors(1), vectors(2)


ENTITIES = [4, 9, 4, 7, 2, 9]
NEGATIVES = [9, NO_ENTITY, 1, 4, NO_ENTITY, 3]


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


def absent(present: Sequence[bool]) -> Tensor:
    """Excluded candidates of six anchors, of whose hard negatives some are missing."""
    return torch.tensor([*[False] * 6, *[not there for there in present]]).expand(6, -1)


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
@pytest.mark.parametrize("mini_batch_size", [1, 4])
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
