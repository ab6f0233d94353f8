"""Losses between an encoder's embeddings and a teacher's, as functions of tensors.

n is the number of sentences, m the number of candidates, d and t the dimensions of the student and the teacher. A
sentence whose teacher embedding is zero is skipped: it neither contributes to the loss nor is a candidate.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ease.methods.components.losses import mean_over_rows, own_columns, unit


def cosine_distillation(students: Tensor, teachers: Tensor) -> Tensor:
    """Pull each embedding towards the teacher's embedding of the same sentence.

    Args:
        students: Shape (n, d).
        teachers: Shape (n, d).

    Returns:
        Scalar, 1 − cosine averaged over the taught sentences; 0 without any.

    References:
        Reimers & Gurevych 2020, equation 1: their squared error is proportional to this loss if both embeddings have
        length 1.
    """
    taught = _taught(teachers)
    distances = 1 - (unit(students) * unit(teachers)).sum(dim=1)
    return (distances * taught).sum() / taught.sum().clamp(min=1)


def similarity_distillation(
    students: Tensor,
    teachers: Tensor,
    temperature: float,
    *,
    candidates: Tensor | None = None,
    teacher_candidates: Tensor | None = None,
    own: Tensor | None = None,
    mini_batch_size: int | None = None,
) -> Tensor:
    """Match each sentence's similarities with the other sentences of the batch to the teacher's.

    For each sentence the KL divergence KL(q ‖ p), where q and p are the softmax over the other sentences of the
    teacher's and the student's cosines over τ. The dimensions of student and teacher may differ.

    Args:
        students: Shape (n, d).
        teachers: Shape (n, t).
        temperature: τ of both.
        candidates: The student's embeddings of the candidates, shape (m, d). Default: `students`.
        teacher_candidates: The teacher's, shape (m, t). Default: `teachers`.
        own: The excluded candidate of each sentence, itself, shape (n,). Default: candidate i for sentence i.
        mini_batch_size: Sentences whose similarities are in memory at a time. Default: all.

    Returns:
        Scalar in nats, averaged over the taught sentences; 0 without any.

    References:
        Fang et al. 2021 (SEED), equations 2 to 5, with the batch as the queue and without the sentence itself; Tung and
        Mori 2019 (similarity-preserving distillation).
    """
    students, teachers = unit(students), unit(teachers)
    columns = students if candidates is None else unit(candidates)  # (m, d)
    teacher_columns = teachers if teacher_candidates is None else unit(teacher_candidates)  # (m, t)
    itself = own_columns(students, own)

    taught, absent = _taught(teachers), ~_taught(teacher_columns)

    def log_shares(rows: Tensor, columns: Tensor, excluded: Tensor) -> Tensor:
        logits = rows @ columns.T / temperature
        # Finite: a sentence may be the only candidate.
        return logits.masked_fill(excluded, torch.finfo(logits.dtype).min).log_softmax(dim=1)

    def summed(rows: slice) -> Tensor:
        excluded = absent.expand(len(itself[rows]), -1).scatter(1, itself[rows].unsqueeze(1), True)
        found = log_shares(students[rows], columns, excluded)
        wanted = log_shares(teachers[rows], teacher_columns, excluded)
        divergences = functional.kl_div(found, wanted, reduction="none", log_target=True).sum(dim=1)
        return (divergences * taught[rows]).sum()

    share = taught.sum().clamp(min=1) / len(taught)
    return mean_over_rows(summed, len(students), mini_batch_size) / share


def _taught(teachers: Tensor) -> Tensor:
    """Return which sentences have a teacher, (n,)."""
    return teachers.any(dim=1)
