"""The losses of EASE (section 3) and its companions: tensors in, scalars out, no model and no state.

n is the number of sentences, m that of the candidate pairs in the denominators and d the dimension. m is n
within one process; it is larger, with the same sentences, where candidates are gathered across processes.

The contrastive losses take `block_rows`: logits are then computed, and computed again for the gradient, for that
many sentences at a time, so that the whole (n, m) of them never exists. Values and gradients stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

NO_ENTITY = -1
"""Table row of a hard negative that a pair does not have."""


def self_supervised_loss(
    first: Tensor,
    second: Tensor,
    temperature: float,
    own: Tensor | None = None,
    *,
    block_rows: int | None = None,
) -> Tensor:
    """Equation 3: a sentence finds its own other dropout view among all second views.

    Args:
        first: (n, d), the first views.
        second: (m, d), the second views.
        temperature: τ of this term.
        own: (n,), the row of `second` that belongs to each sentence; by default row i to sentence i.
        block_rows: Sentences whose logits are held at a time; by default all.
    """
    return entity_loss(first, second, None, temperature, own=own, block_rows=block_rows)


def entity_loss(
    sentences: Tensor,
    positives: Tensor,
    hard_negatives: Tensor | None,
    temperature: float,
    *,
    own: Tensor | None = None,
    excluded: Tensor | None = None,
    hard_negative_bonus: float = 0.0,
    block_rows: int | None = None,
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
        block_rows: Sentences whose logits are held at a time; by default all.
    """
    anchors, columns = _unit(sentences), _unit(positives)  # (n, d), (m, d)
    negatives = None if hard_negatives is None else _unit(hard_negatives)  # (m, d)
    own = _own_columns(sentences, own)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ columns.T / temperature  # (rows, m)
        if negatives is not None:
            others = anchors[rows] @ negatives.T / temperature  # (rows, m)
            if hard_negative_bonus:
                own_places = functional.one_hot(own[rows], others.shape[1]).to(others.dtype)
                others = others + hard_negative_bonus * own_places
            logits = torch.cat([logits, others], dim=1)  # (rows, 2m)
        if excluded is not None:
            logits = logits.masked_fill(excluded[rows], -torch.inf)
        return functional.cross_entropy(logits, own[rows], reduction="sum")

    return _mean_over_rows(summed, len(anchors), block_rows)


def supervised_loss(
    anchors: Tensor,
    positives: Tensor,
    negatives: Tensor,
    temperature: float,
    *,
    present: Tensor,
    own: Tensor | None = None,
    hard_negative_weight: float = 0.0,
    block_rows: int | None = None,
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
        block_rows: Anchors whose logits are held at a time; by default all.
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
        block_rows=block_rows,
    )


def mirrored_loss(
    views: Tensor,
    temperature: float,
    *,
    candidates: Tensor | None = None,
    own: Tensor | None = None,
    positive_in_denominator: bool = True,
    block_rows: int | None = None,
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
        block_rows: Anchors whose logits are held at a time; by default all.
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

    return _mean_over_rows(summed, len(anchors), block_rows)


def masked_token_loss(logits: Tensor, targets: Tensor, count: Tensor | None = None) -> Tensor:
    """Cross-entropy of masked tokens, in nats a token; 0 where none is masked.

    Args:
        logits: (k, vocabulary).
        targets: (k,), the tokens that are masked.
        count: (), how many tokens to divide by, where these are some of several; by default k.
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
    missing = (candidates == NO_ENTITY).expand(len(own), -1)
    if not mask_same_entity:
        return missing
    excluded = missing | (positives[own].unsqueeze(1) == candidates)
    excluded[torch.arange(len(own), device=own.device), own] = False
    return excluded


def _unit(vectors: Tensor) -> Tensor:
    """Scale to length 1, at least in single precision: (n, d) -> (n, d)."""
    return functional.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)), dim=1)


def _own_columns(anchors: Tensor, own: Tensor | None) -> Tensor:
    """Columns of the own pairs, (n,): the diagonal unless given."""
    return torch.arange(len(anchors), device=anchors.device) if own is None else own


def _mean_over_rows(summed: Callable[[slice], Tensor], count: int, block_rows: int | None) -> Tensor:
    """Average a loss over its rows, by its sum over some of them: all at once, or a block at a time."""
    if block_rows is None or block_rows >= count:
        return summed(slice(None)) / count
    blocks = [slice(start, start + block_rows) for start in range(0, count, block_rows)]
    # A checkpoint keeps nothing of its block for the backward pass, which computes it again.
    sums = [checkpoint(summed, block, use_reentrant=False, preserve_rng_state=False) for block in blocks]
    return torch.stack(sums).sum() / count
