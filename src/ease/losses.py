"""The losses of EASE (section 3) and its companions: tensors in, scalars out, no model and no state.

n is the number of sentences, m that of the candidate pairs in the denominators and d the dimension. m is n
within one process; it is larger, with the same sentences, where candidates are gathered across processes.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

NO_ENTITY = -1
"""Table row of a hard negative that a pair does not have."""


def cosine_logits(anchors: Tensor, candidates: Tensor, temperature: float) -> Tensor:
    """Cosine similarity over the temperature τ: (n, d), (m, d) -> (n, m), at least in single precision."""
    dtype = torch.promote_types(anchors.dtype, torch.float32)
    rows = functional.normalize(anchors.to(dtype), dim=1)  # (n, d)
    columns = functional.normalize(candidates.to(dtype), dim=1)  # (m, d)
    return rows @ columns.T / temperature


def self_supervised_loss(
    first: Tensor, second: Tensor, temperature: float, own: Tensor | None = None
) -> Tensor:
    """Equation 3: a sentence finds its own other dropout view among all second views.

    Args:
        first: (n, d), the first views.
        second: (m, d), the second views.
        temperature: τ of this term.
        own: (n,), the row of `second` that belongs to each sentence; by default row i to sentence i.
    """
    logits = cosine_logits(first, second, temperature)  # (n, m)
    return functional.cross_entropy(logits, _own_columns(logits, own))


def entity_loss(
    sentences: Tensor,
    positives: Tensor,
    hard_negatives: Tensor | None,
    temperature: float,
    *,
    own: Tensor | None = None,
    excluded: Tensor | None = None,
    hard_negative_bonus: float = 0.0,
) -> Tensor:
    """Equation 1, or 2 with hard negatives: a sentence finds its entity among all entities of the batch.

    Args:
        sentences: (n, d).
        positives: (m, d), the projected entities of the candidate pairs.
        hard_negatives: (m, d), their projected hard negatives: every one is in every denominator.
        temperature: τ of this term.
        own: (n,), the candidate row of each sentence's own pair; by default row i of sentence i.
        excluded: (n, m) or (n, 2m), true where a candidate is left out of a sentence's denominator.
        hard_negative_bonus: Added to the logit of a pair's own hard negative: 0 in equation 2, 1 in the
            authors' code.
    """
    logits = cosine_logits(sentences, positives, temperature)  # (n, m)
    own = _own_columns(logits, own)
    if hard_negatives is not None:
        negatives = cosine_logits(sentences, hard_negatives, temperature)  # (n, m)
        if hard_negative_bonus:
            own_places = functional.one_hot(own, negatives.shape[1]).to(negatives.dtype)
            negatives = negatives + hard_negative_bonus * own_places
        logits = torch.cat([logits, negatives], dim=1)  # (n, 2m)
    if excluded is not None:
        logits = logits.masked_fill(excluded, -torch.inf)
    return functional.cross_entropy(logits, own)


def supervised_loss(
    anchors: Tensor,
    positives: Tensor,
    negatives: Tensor,
    temperature: float,
    *,
    present: Tensor,
    own: Tensor | None = None,
    hard_negative_weight: float = 0.0,
) -> Tensor:
    """Supervised SimCSE: an anchor finds its positive among all positives and negatives.

    Gao et al. (2021), equation 5; with a weight, its appendix on hard negatives, whose α is the exponential of it.

    Args:
        anchors: (n, d).
        positives: (m, d).
        negatives: (m, d), the candidates' hard negatives: every one is in every denominator.
        temperature: τ.
        present: (m,), false where a candidate has no hard negative; the one given is left out.
        own: (n,), the candidate row of each anchor's own positive; by default row i of anchor i.
        hard_negative_weight: Added to the logit of an anchor's own hard negative.
    """
    lacking = torch.cat([torch.zeros_like(present), ~present])  # (2m,)
    return entity_loss(
        anchors,
        positives,
        negatives,
        temperature,
        own=own,
        excluded=lacking.expand(len(anchors), -1),
        hard_negative_bonus=hard_negative_weight,
    )


def mirrored_loss(
    views: Tensor,
    temperature: float,
    *,
    candidates: Tensor | None = None,
    own: Tensor | None = None,
    positive_in_denominator: bool = True,
) -> Tensor:
    """Mirror-BERT, equation 1: each of the 2n strings finds its other view among all strings but itself.

    The mean over the 2n anchors, where the equation has their sum.

    Args:
        views: (2, n, d).
        temperature: τ.
        candidates: (2, m, d), the views of the candidate pairs; by default those of the anchors.
        own: (n,), the candidate pair that each string belongs to; by default pair i to string i.
        positive_in_denominator: As in the authors' released code; else, as the equation is printed, the
            denominator has the 2m - 2 negatives alone.
    """
    count = views.shape[1]
    candidates = views if candidates is None else candidates
    logits = cosine_logits(views.flatten(0, 1), candidates.flatten(0, 1), temperature)  # (2n, 2m)
    own = torch.arange(count, device=views.device) if own is None else own
    other = own + candidates.shape[1]  # the column of the pair's second view
    itself, positive = torch.cat([own, other]).unsqueeze(1), torch.cat([other, own]).unsqueeze(1)  # (2n, 1)
    left_out = itself if positive_in_denominator else torch.cat([itself, positive], dim=1)
    negatives = logits.scatter(1, left_out, -torch.inf)
    return (negatives.logsumexp(dim=1) - logits.gather(1, positive).squeeze(1)).mean()


def masked_token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the masked tokens, in nats a token: (k, vocabulary), (k,) -> (); 0 where none is masked."""
    dtype = torch.promote_types(logits.dtype, torch.float32)
    total = functional.cross_entropy(logits.to(dtype), targets, reduction="sum")
    return total / max(1, len(targets))


def excluded_candidates(
    positives: Tensor,
    hard_negatives: Tensor | None,
    *,
    own: Tensor | None = None,
    mask_same_entity: bool = False,
) -> Tensor:
    """Mark what a denominator leaves out: missing hard negatives and, on demand, false negatives.

    Args:
        positives: (m,), entity ids of the candidate pairs.
        hard_negatives: (m,), ids of their hard negatives, `NO_ENTITY` where a pair has none.
        own: (n,), the candidate row of each sentence's own pair; by default n = m and row i.
        mask_same_entity: Also leave out the other candidates that are the sentence's own entity.

    Returns:
        (n, m), or (n, 2m) with hard negatives; a sentence's own positive is never marked.
    """
    if own is None:
        own = torch.arange(len(positives), device=positives.device)
    candidates = positives if hard_negatives is None else torch.cat([positives, hard_negatives])  # (m or 2m,)
    excluded = (candidates == NO_ENTITY).repeat(len(own), 1)
    if mask_same_entity:
        excluded |= positives[own].unsqueeze(1) == candidates
        excluded[torch.arange(len(own), device=own.device), own] = False
    return excluded


def _own_columns(logits: Tensor, own: Tensor | None) -> Tensor:
    """Columns of the own pairs, (n,): the diagonal unless given."""
    return torch.arange(len(logits), device=logits.device) if own is None else own
