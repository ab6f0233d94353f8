"""Losses of EASE and EASE+ over the entities of sentences, as functions of tensors.

Shapes, `mini_batch_size` and Matryoshka are as in `losses`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ease.methods.components.losses import mean_over_rows, own_columns, unit

NO_ENTITY = -1
"""Entity row of a missing hard negative."""


def excluded_candidates(
    positives: Tensor,
    hard_negatives: Tensor | None,
    *,
    own: Tensor | None = None,
    mask_same_entity: bool = False,
) -> Tensor:
    """Return the candidates to exclude: missing hard negatives and, optionally, false negatives.

    Args:
        positives: (m,), entity rows of the candidates.
        hard_negatives: (m,), rows of their hard negatives, `NO_ENTITY` if missing.
        own: (n,), the candidate of each sentence. Default: candidate i for sentence i.
        mask_same_entity: Also exclude other candidates with the sentence's own entity.

    Returns:
        (n, m), or (n, 2m) with hard negatives; true for excluded candidates, never for a sentence's own positive.
    """
    own = own_columns(positives, own)
    candidates = positives if hard_negatives is None else torch.cat([positives, hard_negatives])  # (m or 2m,)
    missing = (candidates == NO_ENTITY).expand(len(own), -1)
    if not mask_same_entity:
        return missing
    excluded = missing | (positives[own].unsqueeze(1) == candidates)
    return excluded.scatter(1, own.unsqueeze(1), False)


def false_negatives(anchors: Tensor, positives: Tensor, candidates: Tensor) -> Tensor:
    """Return which candidates a guide finds more similar to an anchor than the anchor's positive.

    Args:
        anchors: The guide's embeddings, shape (n, g).
        positives: Shape (n, g).
        candidates: Shape (m, g).

    Returns:
        Shape (n, m).

    References:
        Solatorio 2024 (GISTEmbed), section 3.2.
    """
    anchors, positives, candidates = unit(anchors), unit(positives), unit(candidates)
    return anchors @ candidates.T > (anchors * positives).sum(dim=1, keepdim=True)


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
    """InfoNCE with several positives per anchor, none of which is a negative of that anchor.

    For each anchor the weighted mean over its positives p of −log exp(s_p) / (exp(s_p) + Σ exp(s_c)), where s is the
    cosine over τ and c are the candidates that are not among its positives. The positives of an anchor do not compete
    with each other.

    Args:
        anchors: Sentence embeddings, shape (n, d).
        positives: Shape (n, p, d).
        candidates: Shape (m, d); the negatives of every anchor, except its own positives.
        temperature: τ.
        positive_ids: Shape (n, p), `NO_ENTITY` in unused places.
        candidate_ids: Shape (m,), `NO_ENTITY` for missing candidates.
        weights: Weight of each place, shape (p,).
        excluded: True where a candidate is no negative of an anchor, shape (n, m). Default: none.
        mini_batch_size: Anchors whose logits are in memory at a time. Default: all.

    Returns:
        Scalar loss in nats, averaged over the anchors.

    References:
        Khosla et al. 2020 (supervised contrastive learning), equation 2, without the other positives in the
        denominator.
    """
    width = anchors.shape[1]
    anchors, positives, candidates = (
        unit(vectors[..., :width]) for vectors in (anchors, positives, candidates)
    )
    shares = weights * (positive_ids != NO_ENTITY)  # (n, p)
    shares = shares / shares.sum(dim=1, keepdim=True)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        skipped = (candidate_ids == NO_ENTITY).expand_as(logits)
        if excluded is not None:
            skipped = skipped | excluded[rows]
        for ids in positive_ids[rows].T:
            skipped = skipped | (ids.unsqueeze(1) == candidate_ids)
        # Finite: all candidates of an anchor may be excluded.
        lowest = torch.finfo(logits.dtype).min
        negatives = logits.masked_fill(skipped, lowest).logsumexp(dim=1, keepdim=True)  # (rows, 1)
        own = (positives[rows] @ anchors[rows].unsqueeze(2)).squeeze(2) / temperature  # (rows, p)
        return (shares[rows] * functional.softplus(negatives - own)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def same_entity_loss(
    anchors: Tensor,
    candidates: Tensor,
    temperature: float,
    *,
    entities: Tensor,
    candidate_entities: Tensor,
    own: Tensor,
    mini_batch_size: int | None = None,
) -> Tensor:
    """InfoNCE between sentences: sentences of the same entity are positives, sentences of other entities negatives.

    For each anchor the mean over the others of its entity of −log exp(s_j) / (exp(s_j) + Σ exp(s_k)), where s is the
    cosine over τ and k are the sentences of other entities.

    Args:
        anchors: Sentence embeddings, shape (n, d).
        candidates: Sentence embeddings, the anchors among them, shape (m, d).
        temperature: τ.
        entities: The entity of each anchor, shape (n,).
        candidate_entities: The entity of each candidate, shape (m,).
        own: The candidate that is each anchor itself, shape (n,).
        mini_batch_size: Anchors whose logits are in memory at a time. Default: all.

    Returns:
        Scalar loss in nats, averaged over all anchors; those whose entity has no other sentence count as 0.

    References:
        Khosla et al. 2020 (supervised contrastive learning), equation 2, without the other positives in the
        denominator.
    """
    anchors, candidates = unit(anchors), unit(candidates)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        same = entities[rows].unsqueeze(1) == candidate_entities
        lowest = torch.finfo(logits.dtype).min
        negatives = logits.masked_fill(same, lowest).logsumexp(dim=1, keepdim=True)
        others = same.scatter(1, own[rows].unsqueeze(1), False)
        losses = functional.softplus(negatives - logits).masked_fill(~others, 0)
        return (losses.sum(dim=1) / others.sum(dim=1).clamp(min=1)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)
