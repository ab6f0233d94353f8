"""Losses as functions of tensors, without a model or state.

n is the number of anchors, m the number of candidates and d the dimension. m equals n in one process; it is larger if
the candidates are gathered across processes. Candidates may have more dimensions than the anchors: the first d are used
(Matryoshka). Losses are scalars in nats, averaged over the anchors. Several of them share these arguments:

- `temperature`: τ, which divides the cosines.
- `targets`: The row of each anchor's positive, or of the anchor itself, among the candidates, shape (n,). Default: row
  i for anchor i.
- `mini_batch_size`: Anchors whose logits are in memory at a time; they are computed again for the gradient. Values and
  gradients stay the same. Default: all.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

NO_ENTITY = -1
"""Entity row of a missing hard negative, and of unused places."""


def info_nce(
    anchors: Tensor,
    positives: Tensor,
    temperature: float,
    *,
    hard_negatives: Tensor | None = None,
    targets: Tensor | None = None,
    excluded: Tensor | None = None,
    hard_negative_weight: float = 0.0,
    mini_batch_size: int | None = None,
) -> Tensor:
    """InfoNCE over cosines: identify each anchor's positive among all positives and hard negatives of the batch.

    The positives decide which published loss this is:

    - SimCSE (EASE, equation 3): the anchors under a second dropout mask.
    - EASE's entity loss (equation 1; equation 2 with hard negatives): the projected entities.
    - Supervised SimCSE: entailed sentences, with contradicting sentences as hard negatives.

    Args:
        anchors: Sentence embeddings, shape (n, d).
        positives: Candidates, shape (m, d).
        hard_negatives: Shape (m, d); every anchor has all of them as negatives.
        excluded: True where a candidate is not in an anchor's denominator, shape (n, m); (n, 2m) with hard negatives.
        hard_negative_weight: Added to the logit of an anchor's own hard negative: log α in supervised SimCSE.

    References:
        van den Oord et al. 2018, equation 4; Gao et al. 2021 (SimCSE), equations 4, 5 and 8; Nishikawa et al. 2022
        (EASE), equations 1 to 3.
    """
    width = anchors.shape[1]
    anchors = unit(anchors)  # (n, d)
    candidates = unit(positives[:, :width])  # (m, d)
    negatives = None
    if hard_negatives is not None:
        negatives = unit(hard_negatives[:, :width])  # (m, d)
    targets = target_columns(anchors, targets)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        if negatives is not None:
            negative_logits = anchors[rows] @ negatives.T / temperature  # (rows, m)
            if hard_negative_weight:
                # The hard negatives have the order of the positives: an anchor's own one stands in the same column.
                own_negatives = functional.one_hot(targets[rows], negative_logits.shape[1])
                negative_logits = negative_logits + hard_negative_weight * own_negatives.to(negative_logits.dtype)
            logits = torch.cat([logits, negative_logits], dim=1)  # (rows, 2m)
        if excluded is not None:
            logits = logits.masked_fill(excluded[rows], -torch.inf)
        return functional.cross_entropy(logits, targets[rows], reduction="sum")

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def excluded_candidates(
    positives: Tensor,
    hard_negatives: Tensor | None = None,
    *,
    targets: Tensor | None = None,
    mask_same_entity: bool = False,
) -> Tensor:
    """Return the candidates to exclude: missing hard negatives and, optionally, the sentence's own entity elsewhere.

    Args:
        positives: Entity rows of the candidates, shape (m,).
        hard_negatives: Rows of their hard negatives, shape (m,), `NO_ENTITY` if missing.
        mask_same_entity: Also exclude other candidates with the sentence's own entity.

    Returns:
        (n, m), or (n, 2m) with hard negatives; never true for a sentence's own positive.
    """
    targets = target_columns(positives, targets)
    candidates = positives  # (m,)
    if hard_negatives is not None:
        candidates = torch.cat([positives, hard_negatives])  # (2m,)
    missing = (candidates == NO_ENTITY).expand(len(targets), -1)
    if not mask_same_entity:
        return missing
    excluded = missing | (positives[targets].unsqueeze(1) == candidates)
    # The sentence's own positive must stay: cross-entropy needs it in the denominator.
    return excluded.scatter(1, targets.unsqueeze(1), False)


def false_negatives(anchors: Tensor, positives: Tensor, candidates: Tensor) -> Tensor:
    """Return which candidates a guide finds more similar to an anchor than the anchor's positive, shape (n, m).

    Args:
        anchors: The guide's embeddings, shape (n, g).
        positives: Shape (n, g).
        candidates: Shape (m, g).

    References:
        Solatorio 2024 (GISTEmbed), section 3.2.
    """
    anchors = unit(anchors)
    positive_cosines = (anchors * unit(positives)).sum(dim=1, keepdim=True)  # (n, 1)
    return anchors @ unit(candidates).T > positive_cosines


def several_positives_loss(
    anchors: Tensor,
    positives: Tensor,
    candidates: Tensor,
    temperature: float,
    *,
    positive_ids: Tensor,
    candidate_ids: Tensor,
    weights: Tensor,
    excluded: Tensor | None = None,
    mini_batch_size: int | None = None,
) -> Tensor:
    """InfoNCE with several positives per anchor, none of which is a negative of that anchor (EASE+).

    For each anchor the weighted mean over its positives p of −log exp(s_p) / (exp(s_p) + Σ exp(s_c)), where s is the
    cosine over τ and c are the candidates that are not among its positives. The positives of an anchor do not compete
    with each other.

    Args:
        anchors: Sentence embeddings, shape (n, d).
        positives: Shape (n, p, d).
        candidates: Shape (m, d); the negatives of every anchor, except its own positives.
        positive_ids: Shape (n, p), `NO_ENTITY` in unused places.
        candidate_ids: Shape (m,), `NO_ENTITY` for missing candidates.
        weights: Weight of each place, shape (p,).
        excluded: True where a candidate is no negative of an anchor, shape (n, m). Default: none.

    References:
        Khosla et al. 2020 (supervised contrastive learning), equation 2, without the other positives in the
        denominator.
    """
    width = anchors.shape[1]
    anchors, positives, candidates = (unit(vectors[..., :width]) for vectors in (anchors, positives, candidates))
    shares = weights * (positive_ids != NO_ENTITY)  # (n, p)
    shares = shares / shares.sum(dim=1, keepdim=True)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        skipped = (candidate_ids == NO_ENTITY).expand_as(logits)
        if excluded is not None:
            skipped = skipped | excluded[rows]
        # One place at a time: a comparison of all places at once would need (rows, p, m) values.
        for ids in positive_ids[rows].T:
            skipped = skipped | (ids.unsqueeze(1) == candidate_ids)
        # Finite: all candidates of an anchor may be excluded.
        lowest = torch.finfo(logits.dtype).min
        negatives = logits.masked_fill(skipped, lowest).logsumexp(dim=1, keepdim=True)  # (rows, 1)
        positive_logits = (positives[rows] @ anchors[rows].unsqueeze(2)).squeeze(2) / temperature  # (rows, p)
        # −log(exp s_p / (exp s_p + Σ exp s_c)) = log(1 + exp(log Σ exp s_c − s_p)), which softplus computes stably.
        return (shares[rows] * functional.softplus(negatives - positive_logits)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def same_entity_loss(
    anchors: Tensor,
    candidates: Tensor,
    temperature: float,
    *,
    entities: Tensor,
    candidate_entities: Tensor,
    targets: Tensor,
    mini_batch_size: int | None = None,
) -> Tensor:
    """Attract sentences of the same entity; sentences of other entities are negatives (EASE+'s attraction).

    As `several_positives_loss`, where the positives of an anchor are the other sentences of its entity, with equal
    weights. An anchor whose entity has no other sentence counts as 0.

    Args:
        anchors: Sentence embeddings, shape (n, d).
        candidates: Sentence embeddings, the anchors among them, shape (m, d).
        entities: The entity of each anchor, shape (n,).
        candidate_entities: The entity of each candidate, shape (m,).
        targets: The row of each anchor itself among the candidates, shape (n,).
    """
    anchors = unit(anchors)
    candidates = unit(candidates)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        same_entity = entities[rows].unsqueeze(1) == candidate_entities
        # Finite: all sentences of a batch may have one entity.
        lowest = torch.finfo(logits.dtype).min
        negatives = logits.masked_fill(same_entity, lowest).logsumexp(dim=1, keepdim=True)
        positives = same_entity.scatter(1, targets[rows].unsqueeze(1), False)
        losses = functional.softplus(negatives - logits).masked_fill(~positives, 0)
        return (losses.sum(dim=1) / positives.sum(dim=1).clamp(min=1)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def cosine_distillation(students: Tensor, teachers: Tensor) -> Tensor:
    """Pull each embedding towards the teacher's: 1 − cosine, averaged over the taught sentences; 0 without any.

    Both have the shape (n, d). A sentence whose teacher embedding is zero is not taught.

    References:
        Reimers & Gurevych 2020, equation 1: their squared error is proportional to this loss if both embeddings have
        length 1.
    """
    has_teacher = teachers.any(dim=1)
    distances = 1 - (unit(students) * unit(teachers)).sum(dim=1)
    return (distances * has_teacher).sum() / has_teacher.sum().clamp(min=1)


def similarity_distillation(
    students: Tensor,
    teachers: Tensor,
    temperature: float,
    *,
    candidates: Tensor | None = None,
    teacher_candidates: Tensor | None = None,
    targets: Tensor | None = None,
    mini_batch_size: int | None = None,
) -> Tensor:
    """Match each sentence's similarities with the other sentences of the batch to the teacher's.

    For each sentence the KL divergence KL(q ‖ p), where q and p are the softmax over the other sentences of the
    teacher's and the student's cosines over τ, averaged over the taught sentences; 0 without any. A sentence whose
    teacher embedding is zero is neither taught nor a candidate.

    Args:
        students: Shape (n, d).
        teachers: Shape (n, t); t may differ from d.
        candidates: The student's embeddings of the candidates, shape (m, d). Default: `students`.
        teacher_candidates: The teacher's, shape (m, t). Default: `teachers`.

    References:
        Fang et al. 2021 (SEED), equations 2 to 5, with the batch as the queue and without the sentence itself; Tung and
        Mori 2019 (similarity-preserving distillation).
    """
    students = unit(students)
    teachers = unit(teachers)
    columns = students  # (m, d)
    if candidates is not None:
        columns = unit(candidates)
    teacher_columns = teachers  # (m, t)
    if teacher_candidates is not None:
        teacher_columns = unit(teacher_candidates)
    itself = target_columns(students, targets).unsqueeze(1)  # (n, 1)
    has_teacher = teachers.any(dim=1)
    without_teacher = ~teacher_columns.any(dim=1)

    def log_shares(rows: Tensor, columns: Tensor, excluded: Tensor) -> Tensor:
        logits = rows @ columns.T / temperature
        # Finite: a sentence may be the only candidate.
        return logits.masked_fill(excluded, torch.finfo(logits.dtype).min).log_softmax(dim=1)

    def summed(rows: slice) -> Tensor:
        excluded = without_teacher.expand(len(itself[rows]), -1).scatter(1, itself[rows], True)
        student_shares = log_shares(students[rows], columns, excluded)
        teacher_shares = log_shares(teachers[rows], teacher_columns, excluded)
        divergences = functional.kl_div(student_shares, teacher_shares, reduction="none", log_target=True).sum(dim=1)
        return (divergences * has_teacher[rows]).sum()

    # `mean_over_rows` divides by all sentences; the loss is the mean over those that are taught.
    share = has_teacher.sum().clamp(min=1) / len(has_teacher)
    return mean_over_rows(summed, len(students), mini_batch_size) / share


def unit(vectors: Tensor) -> Tensor:
    """Normalise to length 1, in single precision or better: (..., d) -> (..., d)."""
    # Cosines over a small temperature lose too much in half precision.
    return functional.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)), dim=-1)


def target_columns(anchors: Tensor, targets: Tensor | None) -> Tensor:
    """Return the column of each anchor's target among the candidates, (n,); the diagonal by default."""
    if targets is not None:
        return targets
    return torch.arange(len(anchors), device=anchors.device)


def mean_over_rows(summed: Callable[[slice], Tensor], count: int, mini_batch_size: int | None) -> Tensor:
    """Average a loss over its rows, computed in mini-batches."""
    if mini_batch_size is None or mini_batch_size >= count:
        return summed(slice(None)) / count
    blocks = [slice(start, start + mini_batch_size) for start in range(0, count, mini_batch_size)]
    # A checkpoint stores no logits: the backward pass computes them again.
    sums = [checkpoint(summed, block, use_reentrant=False, preserve_rng_state=False) for block in blocks]
    return torch.stack(sums).sum() / count
