"""Gradient accumulation: the gradient of a batch as the mean of its sub-batches' gradients."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from accelerate import Accelerator
from torch import Tensor, nn

from ease.methods.base import TOTAL
from ease.training.batches import Batch
from ease.training.compilation import report_compilation_errors


@report_compilation_errors()
def add_gradients(
    model: nn.Module, sub_batches: Sequence[Batch], accelerator: Accelerator
) -> dict[str, Tensor]:
    """Add the mean gradient of a batch's sub-batches to the parameters.

    Only one sub-batch's activations are in memory at a time. Several processes exchange their gradients once, after
    the last sub-batch.

    Args:
        model: The prepared `TrainingModel`.
        sub_batches: This process's share of each sub-batch; contrasts are within one of them.
        accelerator: Device, precision and processes.

    Returns:
        The loss terms, averaged over the sub-batches.

    Raises:
        EaseError: If the layers are to be compiled, and torch cannot compile them.
    """
    sums: dict[str, Tensor] = {}
    for position, batch in enumerate(sub_batches, start=1):
        last = position == len(sub_batches)
        with nullcontext() if last else accelerator.no_sync(model):
            terms = model(batch)
            accelerator.backward(terms[TOTAL] / len(sub_batches))
        for name, term in terms.items():
            sums[name] = sums[name] + term.detach() if name in sums else term.detach()
    return {name: value / len(sub_batches) for name, value in sums.items()}
