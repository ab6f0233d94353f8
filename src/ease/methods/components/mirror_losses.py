"""Losses of Mirror-BERT between two views of each string, as functions of tensors.

Shapes and `mini_batch_size` are as in `losses`.
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from ease.io.models import StrictModel
from ease.methods.components.losses import mean_over_rows, own_columns, unit


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
    anchors, columns, itself, positive = _mirrored(views, candidates, own)
    excluded = itself if positive_in_denominator else torch.cat([itself, positive], dim=1)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ columns.T / temperature  # (rows, 2m)
        negatives = logits.scatter(1, excluded[rows], -torch.inf)
        return (negatives.logsumexp(dim=1) - logits.gather(1, positive[rows]).squeeze(1)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def _mirrored(
    views: Tensor, candidates: Tensor | None, own: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the anchors, (2n, d), all columns, (2m, d), and each anchor's own and its positive's column, (2n, 1)."""
    candidates = views if candidates is None else candidates
    own = own_columns(views[0], own)
    other = own + candidates.shape[1]  # the column of the pair's second view
    itself, positive = torch.cat([own, other]).unsqueeze(1), torch.cat([other, own]).unsqueeze(1)
    return unit(views.flatten(0, 1)), unit(candidates.flatten(0, 1)), itself, positive


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
    anchors, columns, itself, positive = _mirrored(views, candidates, own)
    excluded = torch.cat([itself, positive], dim=1)

    def summed(rows: slice) -> Tensor:
        cosines = anchors[rows] @ columns.T  # (rows, 2m)
        near = cosines.gather(1, positive[rows])  # (rows, 1)
        with torch.no_grad():
            distances, limit = _distances(cosines), _distances(near) + options.margin
            hard = (distances <= limit).scatter(1, excluded[rows], False)
        pushed = (options.negative_scale * (cosines - options.base)).masked_fill(~hard, -torch.inf)
        # A column of zeros adds the 1 of log(1 + Σ), and keeps rows without a hard negative finite.
        repelled = (
            torch.cat([torch.zeros_like(near), pushed], dim=1).logsumexp(dim=1) / options.negative_scale
        )
        pulled = functional.softplus(options.positive_scale * (options.base - near)) / options.positive_scale
        return (repelled + pulled.squeeze(1) * hard.any(dim=1)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def _distances(cosines: Tensor) -> Tensor:
    """Return the Euclidean distances of vectors of length 1 with these cosines."""
    return (2 - 2 * cosines).clamp(min=0).sqrt()
