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
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


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
    anchors, candidates = unit(anchors), unit(positives[:, :width])  # (n, d), (m, d)
    negatives = None if hard_negatives is None else unit(hard_negatives[:, :width])  # (m, d)
    own = own_columns(anchors, own)

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

    return mean_over_rows(summed, len(anchors), mini_batch_size)


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


def unit(vectors: Tensor) -> Tensor:
    """Normalise to length 1, in single precision or better: (..., d) -> (..., d)."""
    return functional.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)), dim=-1)


def own_columns(anchors: Tensor, own: Tensor | None) -> Tensor:
    """Return the column of each anchor's own candidate, (n,); the diagonal by default."""
    return torch.arange(len(anchors), device=anchors.device) if own is None else own


def mean_over_rows(summed: Callable[[slice], Tensor], count: int, mini_batch_size: int | None) -> Tensor:
    """Average a loss over its rows, computed in mini-batches."""
    if mini_batch_size is None or mini_batch_size >= count:
        return summed(slice(None)) / count
    blocks = [slice(start, start + mini_batch_size) for start in range(0, count, mini_batch_size)]
    # A checkpoint stores no logits: the backward pass computes them again.
    sums = [checkpoint(summed, block, use_reentrant=False, preserve_rng_state=False) for block in blocks]
    return torch.stack(sums).sum() / count
