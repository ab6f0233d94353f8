"""Gradient caching (Gao et al. 2021, section 3): a large batch with the encoder's activations of a small part of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor
from torch.utils.checkpoint import checkpoint


def cached_gradients(encode: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Let a function that encodes a part of a batch keep its embeddings, and no activations.

    A contrastive loss wants the embeddings of all parts together, its gradient reaches each part alone. So the parts
    are encoded one after the other without a trace; the backward pass of the loss yields the gradients of all
    embeddings, and then encodes each part once more, with the random state that it had, to pass its gradients on.
    Being one backward pass, this is for autocast, gradients of several processes and clipping what it was without.

    Args:
        encode: Takes tensors, whose device's random state is kept; returns (..., rows, dimension).
    """
    return partial(checkpoint, encode, use_reentrant=False)
