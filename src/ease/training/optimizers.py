"""The optimizers: AdamW for the encoder, lazy Adam for the entity table."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW, Optimizer, SparseAdam

from ease.training.model import TrainingModel
from ease.training.options import TrainingOptions
from ease.training.row_adam import RowAdam


def rate_share(step: int, steps: int, warmup: float, schedule: str = "linear") -> float:
    """Return the fraction of the peak learning rate at a step, from 1: linear warm-up, then the schedule."""
    rise = round(warmup * steps)
    if schedule == "constant":
        return min(1.0, step / (rise + 1))
    return step / (rise + 1) if step <= rise else (steps - step + 1) / (steps - rise)


class Optimizers:
    """AdamW for dense gradients and `SparseAdam` for rows of the entity table, stepped together."""

    def __init__(self, model: TrainingModel, options: TrainingOptions) -> None:
        """Make the optimizers of a model; weight decay applies to matrices only."""
        self._options = options
        self._parameters = [weights for weights in model.parameters() if weights.requires_grad]
        matrices = [weights for weights in self._parameters if weights.ndim > 1]
        vectors = [weights for weights in self._parameters if weights.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": options.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self.by_name: dict[str, Optimizer] = {"encoder": AdamW(groups, lr=options.learning_rate, fused=True)}
        self._peaks = {"encoder": options.learning_rate}
        self._table = model.method.table
        if self._table is not None:
            peak = options.entity_learning_rate or options.learning_rate
            weight, half = self._table.weight, options.entity_moments == "bf16"
            if half or weight.device.type == "cuda":
                moments = torch.bfloat16 if half else torch.float32
                self.by_name["entities"] = RowAdam([weight], lr=peak, moments=moments)
            else:
                self.by_name["entities"] = SparseAdam([weight], lr=peak)
            self._peaks["entities"] = peak

    def set_rates(self, share: float) -> float:
        """Set the learning rates to a fraction of their peaks; return the encoder's."""
        for name, optimizer in self.by_name.items():
            for group in optimizer.param_groups:
                group["lr"] = self._peaks[name] * share
        return self._peaks["encoder"] * share

    def step(self) -> Tensor:
        """Clip and apply the gradients, then clear them; return their norm before clipping."""
        clipped: list[Tensor] = list(self._parameters)
        if self._table is not None:
            clipped.append(self._table.reduce_gradient())
        norm = clip_grad_norm_(clipped, self._options.max_grad_norm or torch.inf)
        self.by_name["encoder"].step()
        if self._table is not None:
            # Last, since a table in the host's memory waits here for the GPU.
            self._table.set_sparse_gradient()
            self.by_name["entities"].step()
        for optimizer in self.by_name.values():
            optimizer.zero_grad(set_to_none=True)
        return norm
