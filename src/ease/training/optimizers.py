"""The optimizers: AdamW for the encoder, and Adam or AdamW for the rows of the entity table."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW, Optimizer, SparseAdam

from ease.methods.components.entity_table import EntityTable
from ease.training.model import TrainingModel
from ease.training.options import TrainingOptions
from ease.training.row_adam import RowAdam
from ease.training.row_adamw import RowAdamW


def rate_share(step: int, steps: int, warmup: float, schedule: str) -> float:
    """Return the fraction of the peak learning rate at a step, from 1: linear warm-up, then the schedule."""
    rise = round(warmup * steps)
    if schedule == "constant":
        return min(1.0, step / (rise + 1))
    if step <= rise:
        return step / (rise + 1)
    # The last step has a rate above 0, as the first one has.
    return (steps - step + 1) / (steps - rise)


class Optimizers:
    """AdamW for dense gradients, and an optimizer for the rows of the entity table, stepped together."""

    def __init__(self, model: TrainingModel, options: TrainingOptions) -> None:
        """Make the optimizers of a model; weight decay applies to matrices only."""
        self._options = options
        self._parameters = [weights for weights in model.parameters() if weights.requires_grad]
        matrices = [weights for weights in self._parameters if weights.ndim > 1]
        vectors = [weights for weights in self._parameters if weights.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.by_name: dict[str, Optimizer] = {"encoder": AdamW(groups, lr=options.learning_rate, fused=True)}
        self._peaks = {"encoder": options.learning_rate}
        self._table = model.method.table
        if self._table is not None:
            peak = options.entity_learning_rate or options.learning_rate
            self.by_name["entities"] = self._table_optimizer(self._table, options, peak)
            self._peaks["entities"] = peak

    def _table_optimizer(self, table: EntityTable, options: TrainingOptions, rate: float) -> Optimizer:
        moments = torch.float32
        if options.entity_moments == "bf16":
            moments = torch.bfloat16
        if options.entity_optimizer == "dense":
            dense = RowAdamW(table.weight, lr=rate, weight_decay=options.weight_decay, moments=moments)
            table.before_reading = dense.catch_up
            return dense
        if moments == torch.float32 and table.weight.device.type == "cpu":
            return SparseAdam([table.weight], lr=rate)
        return RowAdam([table.weight], lr=rate, moments=moments)

    def set_rates(self, share: float) -> float:
        """Set the learning rates to a fraction of their peaks; return the encoder's."""
        for name, optimizer in self.by_name.items():
            for group in optimizer.param_groups:
                group["lr"] = self._peaks[name] * share
        return self._peaks["encoder"] * share

    def complete_table(self) -> None:
        """Apply the steps that rows of the entity table have missed, before the table is saved."""
        if self._table is not None and self._table.before_reading is not None:
            self._table.before_reading(None)

    def step(self) -> None:
        """Clip and apply the gradients, then clear them."""
        clipped: list[Tensor] = list(self._parameters)
        if self._table is not None:
            clipped.append(self._table.reduce_gradient())
        clip_grad_norm_(clipped, self._options.max_grad_norm or torch.inf)
        if self._table is not None:
            self._table.set_sparse_gradient()
        for optimizer in self.by_name.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
