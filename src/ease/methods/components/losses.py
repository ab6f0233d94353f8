"""Losses as functions of tensors, without a model or state.

n is the number of anchors, m the number of candidates and d the dimension. m equals n in one process; it is larger if
the candidates are gathered across processes.

With `mini_batch_size`, the contrastive losses compute the logits of that many anchors at a time, and again for the
gradient, so that the (n, m) logits are never in memory together. Values and gradients stay the same.

Positives, candidates and negatives may have more dimensions than the anchors: the first d are used (Matryoshka).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ease.io.models import StrictModel

NO_ENTITY = -1
"""Entity row of a missing hard negative."""


def info_nce(
    anchors: Tensor,
    positives: Tensor,
    temperature: float,
    *,
    hard_negatives: Tensor | None = None,
    own: Tensor | None = None,
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
        temperature: τ, which divides the cosines.
        hard_negatives: Shape (m, d); every anchor has all of them as negatives.
        own: The row of `positives` that belongs to each anchor, shape (n,). Default: row i to anchor i.
        excluded: True where a candidate is not in an anchor's denominator, shape (n, m); (n, 2m) with hard negatives.
        hard_negative_weight: Added to the logit of an anchor's own hard negative: log α in supervised SimCSE.
        mini_batch_size: Anchors whose logits are in memory at a time. Default: all.

    Returns:
        Scalar loss in nats, averaged over the anchors.

    References:
        van den Oord et al. 2018, equation 4; Gao et al. 2021 (SimCSE), equations 4, 5 and 8; Nishikawa et al. 2022
        (EASE), equations 1 to 3.
    """
    width = anchors.shape[1]
    anchors, candidates = _unit(anchors), _unit(positives[:, :width])  # (n, d), (m, d)
    negatives = None if hard_negatives is None else _unit(hard_negatives[:, :width])  # (m, d)
    own = _own_columns(anchors, own)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        if negatives is not None:
            others = anchors[rows] @ negatives.T / temperature  # (rows, m)
            if hard_negative_weight:
                own_places = functional.one_hot(own[rows], others.shape[1]).to(others.dtype)
                others = others + hard_negative_weight * own_places
            logits = torch.cat([logits, others], dim=1)  # (rows, 2m)
        if excluded is not None:
            logits = logits.masked_fill(excluded[rows], -torch.inf)
        return functional.cross_entropy(logits, own[rows], reduction="sum")

    return _mean_over_rows(summed, len(anchors), mini_batch_size)


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
        _unit(vectors[..., :width]) for vectors in (anchors, positives, candidates)
    )
    shares = weights * (positive_ids != NO_ENTITY)  # (n, p)
    shares = shares / shares.sum(dim=1, keepdim=True)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        left_out = (candidate_ids == NO_ENTITY).expand_as(logits)
        if excluded is not None:
            left_out = left_out | excluded[rows]
        for ids in positive_ids[rows].T:
            left_out = left_out | (ids.unsqueeze(1) == candidate_ids)
        # Finite: all candidates of an anchor may be excluded.
        lowest = torch.finfo(logits.dtype).min
        negatives = logits.masked_fill(left_out, lowest).logsumexp(dim=1, keepdim=True)  # (rows, 1)
        own = (positives[rows] @ anchors[rows].unsqueeze(2)).squeeze(2) / temperature  # (rows, p)
        return (shares[rows] * functional.softplus(negatives - own)).sum()

    return _mean_over_rows(summed, len(anchors), mini_batch_size)


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
    anchors, candidates = _unit(anchors), _unit(candidates)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ candidates.T / temperature  # (rows, m)
        same = entities[rows].unsqueeze(1) == candidate_entities
        lowest = torch.finfo(logits.dtype).min
        negatives = logits.masked_fill(same, lowest).logsumexp(dim=1, keepdim=True)
        others = same.scatter(1, own[rows].unsqueeze(1), False)
        losses = functional.softplus(negatives - logits).masked_fill(~others, 0)
        return (losses.sum(dim=1) / others.sum(dim=1).clamp(min=1)).sum()

    return _mean_over_rows(summed, len(anchors), mini_batch_size)


def mirrored_loss(
    views: Tensor,
    temperature: float,
    *,
    candidates: Tensor | None = None,
    own: Tensor | None = None,
    positive_in_denominator: bool = True,
    mini_batch_size: int | None = None,
) -> Tensor:
    """Mirror-BERT's loss: identify each view's other view among all 2n views of the batch.

    Args:
        views: Shape (2, n, d).
        temperature: τ, which divides the cosines.
        candidates: Both views of the candidates, shape (2, m, d). Default: `views`.
        own: The candidate that is each string itself, shape (n,). Default: candidate i for string i.
        positive_in_denominator: As in the authors' released code; false: only the 2m - 2 negatives, as printed.
        mini_batch_size: Anchors whose logits are in memory at a time. Default: all.

    Returns:
        Scalar loss in nats, averaged over the 2n anchors; the equation has the sum.

    References:
        Liu et al. 2021 (Mirror-BERT), equation 1.
    """
    candidates = views if candidates is None else candidates
    anchors, columns = _unit(views.flatten(0, 1)), _unit(candidates.flatten(0, 1))  # (2n, d), (2m, d)
    own = _own_columns(views[0], own)
    other = own + candidates.shape[1]  # the column of the pair's second view
    itself, positive = torch.cat([own, other]).unsqueeze(1), torch.cat([other, own]).unsqueeze(1)  # (2n, 1)
    left_out = itself if positive_in_denominator else torch.cat([itself, positive], dim=1)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ columns.T / temperature  # (rows, 2m)
        negatives = logits.scatter(1, left_out[rows], -torch.inf)
        return (negatives.logsumexp(dim=1) - logits.gather(1, positive[rows]).squeeze(1)).sum()

    return _mean_over_rows(summed, len(anchors), mini_batch_size)


class MultiSimilarity(StrictModel):
    """Parameters of the multi-similarity loss on mined triplets; the defaults are those of SapBERT's released code."""

    margin: float = Field(
        0.2, ge=0, description="a negative counts if it is at most this much farther than the positive"
    )
    positive_scale: float = Field(1.0, gt=0, description="α, which multiplies the cosines of positives")
    negative_scale: float = Field(60.0, gt=0, description="β, which multiplies the cosines of negatives")
    base: float = Field(0.5, description="λ, subtracted from all cosines")


def multi_similarity_loss(
    views: Tensor,
    options: MultiSimilarity,
    *,
    candidates: Tensor | None = None,
    own: Tensor | None = None,
    mini_batch_size: int | None = None,
) -> Tensor:
    """Multi-similarity loss of the hard triplets of a batch (SapBERT; footnote 2 of Mirror-BERT).

    A negative is hard if its distance from the anchor, of vectors of length 1, is below that of the positive plus the
    margin. The positive counts if the anchor has a hard negative.

    Args:
        views: Shape (2, n, d).
        options: The parameters.
        candidates: Both views of the candidates, shape (2, m, d). Default: `views`.
        own: The candidate that is each string itself, shape (n,). Default: candidate i for string i.
        mini_batch_size: Anchors whose cosines are in memory at a time. Default: all.

    Returns:
        Scalar loss, averaged over the 2n anchors.

    References:
        Wang et al. 2019 (multi-similarity loss); Liu et al. 2021 (SapBERT), section 2.
    """
    candidates = views if candidates is None else candidates
    anchors, columns = _unit(views.flatten(0, 1)), _unit(candidates.flatten(0, 1))  # (2n, d), (2m, d)
    own = _own_columns(views[0], own)
    other = own + candidates.shape[1]  # the column of the pair's second view
    itself, positive = torch.cat([own, other]).unsqueeze(1), torch.cat([other, own]).unsqueeze(1)  # (2n, 1)
    left_out = torch.cat([itself, positive], dim=1)

    def summed(rows: slice) -> Tensor:
        cosines = anchors[rows] @ columns.T  # (rows, 2m)
        near = cosines.gather(1, positive[rows])  # (rows, 1)
        with torch.no_grad():
            distances, limit = _distances(cosines), _distances(near) + options.margin
            hard = (distances <= limit).scatter(1, left_out[rows], False)
        pushed = (options.negative_scale * (cosines - options.base)).masked_fill(~hard, -torch.inf)
        # A column of zeros adds the 1 of log(1 + Σ), and keeps rows without a hard negative finite.
        repelled = (
            torch.cat([torch.zeros_like(near), pushed], dim=1).logsumexp(dim=1) / options.negative_scale
        )
        pulled = functional.softplus(options.positive_scale * (options.base - near)) / options.positive_scale
        return (repelled + pulled.squeeze(1) * hard.any(dim=1)).sum()

    return _mean_over_rows(summed, len(anchors), mini_batch_size)


def masked_token_loss(logits: Tensor, targets: Tensor, count: Tensor | None = None) -> Tensor:
    """Return the cross-entropy of masked tokens in nats per token; 0 without masked tokens.

    Args:
        logits: (k, vocabulary).
        targets: (k,), the masked tokens.
        count: (), number of masked tokens in the complete batch, if `targets` are a part. Default: k.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    total = functional.cross_entropy(logits.to(dtype), targets, reduction="sum")
    return total / (max(1, len(targets)) if count is None else count.clamp(min=1))


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
    if own is None:
        own = torch.arange(len(positives), device=positives.device)
    candidates = positives if hard_negatives is None else torch.cat([positives, hard_negatives])  # (m or 2m,)
    missing = (candidates == NO_ENTITY).expand(len(own), -1)
    if not mask_same_entity:
        return missing
    excluded = missing | (positives[own].unsqueeze(1) == candidates)
    excluded[torch.arange(len(own), device=own.device), own] = False
    return excluded


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
    anchors, positives, candidates = _unit(anchors), _unit(positives), _unit(candidates)
    return anchors @ candidates.T > (anchors * positives).sum(dim=1, keepdim=True)


def _distances(cosines: Tensor) -> Tensor:
    """Return the Euclidean distances of vectors of length 1 with these cosines."""
    return (2 - 2 * cosines).clamp(min=0).sqrt()


def _unit(vectors: Tensor) -> Tensor:
    """Normalise to length 1, in single precision or better: (..., d) -> (..., d)."""
    return functional.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)), dim=-1)


def _own_columns(anchors: Tensor, own: Tensor | None) -> Tensor:
    """Return the column of each anchor's own candidate, (n,); the diagonal by default."""
    return torch.arange(len(anchors), device=anchors.device) if own is None else own


def _mean_over_rows(summed: Callable[[slice], Tensor], count: int, mini_batch_size: int | None) -> Tensor:
    """Average a loss over its rows, computed in mini-batches."""
    if mini_batch_size is None or mini_batch_size >= count:
        return summed(slice(None)) / count
    blocks = [slice(start, start + mini_batch_size) for start in range(0, count, mini_batch_size)]
    # A checkpoint stores no logits: the backward pass computes them again.
    sums = [checkpoint(summed, block, use_reentrant=False, preserve_rng_state=False) for block in blocks]
    return torch.stack(sums).sum() / count
