"""Losses by finite differences, in shares and mini-batches; distillation against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, rel_entr, softmax
from torch import Tensor

from ease.methods.components.losses import (
    NO_ENTITY,
    cosine_distillation,
    excluded_candidates,
    info_nce,
    similarity_distillation,
)
from ease.methods.mirror_bert import mirrored_loss, multi_similarity_loss
from tests.methods.made import cosines


def vectors(seed: int, width: int = 5) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=(6, width)), requires_grad=True)


EXCLUDED = excluded_candidates(
    torch.tensor([4, 9, 4, 7, 2, 9]), torch.tensor([9, NO_ENTITY, 1, 4, NO_ENTITY, 3]), mask_same_entity=True
)
LOSSES: dict[str, Callable[..., Tensor]] = {
    "equations 1 and 3": lambda first, second, third, **rows: info_nce(first, second, 0.2, **rows),
    "equation 2": lambda first, second, third, **rows: info_nce(
        first, second, 0.2, hard_negatives=third, excluded=EXCLUDED, hard_negative_weight=1.0, **rows
    ),
    "mirrored": lambda first, second, third, **rows: mirrored_loss(torch.stack([first, second]), 0.2, **rows),
    "mirrored as printed": lambda first, second, third, **rows: mirrored_loss(
        torch.stack([first, second]), 0.2, positive_in_denominator=False, **rows
    ),
    "distilled": lambda first, second, third, **rows: similarity_distillation(first, second, 0.1, **rows),
}


def test_losses_of_shares_average_to_the_loss_of_the_whole_batch() -> None:
    """As two processes show for the other losses."""
    views = torch.stack([vectors(0), vectors(1)])
    functions: list[Callable[..., Tensor]] = [
        partial(mirrored_loss, temperature=0.04),
        partial(mirrored_loss, temperature=0.04, positive_in_denominator=False),
        multi_similarity_loss,
    ]
    for function in functions:
        shares = [function(views[:, rows], candidates=views, targets=rows) for rows in torch.arange(6).split(2)]
        assert torch.stack(shares).mean().item() == pytest.approx(function(views).item(), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_gradients_are_those_of_finite_differences_and_of_mini_batches(loss: Callable[..., Tensor]) -> None:
    given = vectors(0), vectors(1), vectors(2)
    if loss is not LOSSES["distilled"]:
        assert torch.autograd.gradcheck(loss, given)
    whole = loss(*given)
    expected = torch.autograd.grad(whole, given, allow_unused=True)
    for size in (1, 4):
        blocks = loss(*given, mini_batch_size=size)
        assert blocks.item() == pytest.approx(whole.item(), rel=1e-12)
        found = torch.autograd.grad(blocks, given, allow_unused=True)
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


STUDENTS, TEACHERS = vectors(0), vectors(1, 3)


def divergences(students: Tensor, teachers: Tensor, temperature: float) -> np.ndarray:
    """KL divergence of each sentence's similarities with the others."""
    others = ~np.eye(len(students), dtype=bool)
    found, wanted = (
        cosines(rows.detach(), rows.detach())[others].reshape(len(students), -1) / temperature
        for rows in (students, teachers)
    )
    return np.asarray(rel_entr(softmax(wanted, axis=1), np.exp(log_softmax(found, axis=1))).sum(axis=1))


def test_cosine_distillation_is_one_less_the_mean_cosine() -> None:
    students = torch.tensor([[3.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    teachers = torch.tensor([[1.0, 0.0], [5.0, 0.0], [0.0, -1.0], [0.0, 0.0]], dtype=torch.float16)
    found = cosine_distillation(students, teachers)
    assert found.item() == pytest.approx(1 - (1 + 0.5**0.5 - 1) / 3), "the last one has no teacher"


def test_similarity_distillation_equals_numpy_also_with_candidates_of_all_processes() -> None:
    expected = divergences(STUDENTS, TEACHERS, 0.3)
    assert similarity_distillation(STUDENTS, TEACHERS, 0.3).item() == pytest.approx(expected.mean())
    share, gathered = slice(2, 4), {"candidates": STUDENTS, "teacher_candidates": TEACHERS}
    found = similarity_distillation(STUDENTS[share], TEACHERS[share], 0.3, targets=torch.tensor([2, 3]), **gathered)
    assert found.item() == pytest.approx(expected[share].mean())


def test_sentences_without_a_teacher_take_no_part() -> None:
    known = torch.tensor([True, False, True, True, False, True])
    teachers, expected = TEACHERS * known[:, None], divergences(STUDENTS[known], TEACHERS[known], 0.3).mean()
    for size in (None, 2):
        found = similarity_distillation(STUDENTS, teachers, 0.3, mini_batch_size=size)
        assert found.item() == pytest.approx(expected)
    loss = similarity_distillation(STUDENTS, teachers * 0, 0.05) + cosine_distillation(STUDENTS, STUDENTS * 0)
    loss = loss + similarity_distillation(STUDENTS[:1], TEACHERS[:1], 0.05)
    (gradient,) = torch.autograd.grad(loss, STUDENTS)
    assert loss.item() == 0
    assert not gradient.any(), "a batch with nothing to match has no loss"
