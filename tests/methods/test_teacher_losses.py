"""Distillation losses against NumPy, with gathered candidates and in mini-batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from torch import Tensor

from ease.methods.components.teacher_losses import cosine_distillation, similarity_distillation

RANDOM = np.random.default_rng(0)
STUDENTS, TEACHERS = RANDOM.normal(size=(6, 5)), RANDOM.normal(size=(6, 3))


def tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def without_diagonal(square: np.ndarray) -> np.ndarray:
    return square[~np.eye(len(square), dtype=bool)].reshape(len(square), -1)


def divergence(students: np.ndarray, teachers: np.ndarray, temperature: float) -> np.ndarray:
    """KL divergence of each sentence's similarities with the others."""
    found = log_softmax(without_diagonal(cosines(students)) / temperature, axis=1)
    wanted = softmax(without_diagonal(cosines(teachers)) / temperature, axis=1)
    return np.asarray((wanted * (np.log(wanted) - found)).sum(axis=1))


def test_cosine_distillation_is_one_less_the_mean_cosine() -> None:
    students = torch.tensor([[3.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    teachers = torch.tensor([[1.0, 0.0], [5.0, 0.0], [0.0, -1.0]], dtype=torch.float16)
    found = cosine_distillation(students, teachers)
    assert found.item() == pytest.approx(1 - (1 + math.sqrt(0.5) - 1) / 3)


def test_similarity_distillation_equals_numpy() -> None:
    found = similarity_distillation(tensor(STUDENTS), tensor(TEACHERS), 0.3)
    assert found.item() == pytest.approx(divergence(STUDENTS, TEACHERS, 0.3).mean())


def test_gathered_candidates_are_those_of_all_processes() -> None:
    share = slice(2, 4)
    found = similarity_distillation(
        tensor(STUDENTS[share]),
        tensor(TEACHERS[share]),
        0.3,
        candidates=tensor(STUDENTS),
        teacher_candidates=tensor(TEACHERS),
        own=torch.tensor([2, 3]),
    )
    assert found.item() == pytest.approx(divergence(STUDENTS, TEACHERS, 0.3)[share].mean())


@pytest.mark.parametrize("size", [1, 4])
def test_mini_batches_leave_loss_and_gradient_unchanged(size: int) -> None:
    results = []
    for mini_batch_size in (None, size):
        students = tensor(STUDENTS)
        loss = similarity_distillation(students, tensor(TEACHERS), 0.1, mini_batch_size=mini_batch_size)
        loss.backward()
        results.append((loss, students.grad))
    torch.testing.assert_close(results[0], results[1])


def test_sentences_without_a_teacher_take_no_part() -> None:
    known = np.array([True, False, True, True, False, True])
    teachers = TEACHERS * known[:, None]
    found = similarity_distillation(tensor(STUDENTS), tensor(teachers), 0.3)
    assert found.item() == pytest.approx(divergence(STUDENTS[known], TEACHERS[known], 0.3).mean())
    blocks = similarity_distillation(tensor(STUDENTS), tensor(teachers), 0.3, mini_batch_size=2)
    assert blocks.item() == pytest.approx(found.item())
    wide = np.concatenate([teachers, teachers[:, :2]], axis=1)
    near = cosine_distillation(tensor(STUDENTS), tensor(wide))
    assert near.item() == pytest.approx(
        cosine_distillation(tensor(STUDENTS[known]), tensor(wide[known])).item()
    )


def test_a_batch_with_nothing_to_match_has_no_loss() -> None:
    students, none = tensor(STUDENTS), tensor(np.zeros((6, 5)))
    loss = similarity_distillation(students, none, 0.05) + cosine_distillation(students, none)
    loss = loss + similarity_distillation(students[:1], tensor(TEACHERS[:1]), 0.05)
    loss.backward()
    assert loss.item() == 0
    assert students.grad is not None
    assert not students.grad.any()
