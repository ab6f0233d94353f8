"""The optimizers: AdamW for the encoder, and Adam or AdamW for the rows of large tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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


class RowTable(Protocol):
    """A table of which a step reads and updates some rows."""

    before_reading: Callable[[Tensor | None], None] | None
    """Brings distinct rows, (u,), or all of them (None) up to date; set by an optimizer that defers steps"""

    @property
    def weight(self) -> Tensor:
        """The table, (n, dimension)."""

    def reduce_gradient(self) -> Tensor:
        """Complete the table's sparse gradient; return rows, (u, dimension), whose gradient has its values."""


class Optimizers:
    """AdamW for dense gradients, and an optimizer for the rows of each large table, stepped together."""

    def __init__(self, model: TrainingModel, options: TrainingOptions) -> None:
        """Make the optimizers of a model; weight decay applies to matrices only."""
        self._options = options
        self._tables: list[RowTable] = list(model.token_tables.values())
        in_tables = {id(table.weight) for table in self._tables}
        self._parameters = [
            weights for weights in model.parameters() if weights.requires_grad and id(weights) not in in_tables
        ]
        matrices = [weights for weights in self._parameters if weights.ndim > 1]
        vectors = [weights for weights in self._parameters if weights.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.by_name: dict[str, Optimizer] = {"encoder": AdamW(groups, lr=options.learning_rate, fused=True)}
        for name, table in model.token_tables.items():
            self.by_name[name] = _row_adamw(table, options.learning_rate, options.weight_decay)
        self._peaks = dict.fromkeys(self.by_name, options.learning_rate)
        if model.method.table is not None:
            peak = options.entity_learning_rate or options.learning_rate
            self.by_name["entities"] = _entity_optimizer(model.method.table, options, peak)
            self._peaks["entities"] = peak
            self._tables.append(model.method.table)

    def set_rates(self, share: float) -> float:
        """Set the learning rates to a fraction of their peaks; return the encoder's."""
        for name, optimizer in self.by_name.items():
            for group in optimizer.param_groups:
                group["lr"] = self._peaks[name] * share
        return self._peaks["encoder"] * share

    def complete_tables(self) -> None:
        """Apply the steps that rows of tables have missed, before the tables are saved."""
        for table in self._tables:
            if table.before_reading is not None:
                table.before_reading(None)

    def close(self) -> None:
        """Detach from the tables, which would keep the moments in memory after the training."""
        for table in self._tables:
            table.before_reading = None

    def step(self) -> None:
        """Clip and apply the gradients, then clear them."""
        rows_in_use = [table.reduce_gradient() for table in self._tables]
        clip_grad_norm_([*self._parameters, *rows_in_use], self._options.max_grad_norm or torch.inf)
        for optimizer in self.by_name.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


def _entity_optimizer(table: EntityTable, options: TrainingOptions, rate: float) -> Optimizer:
    moments = torch.float32
    if options.entity_moments == "bf16":
        moments = torch.bfloat16
    if options.entity_optimizer == "dense":
        return _row_adamw(table, rate, options.weight_decay, moments)
    if moments == torch.float32 and table.weight.device.type == "cpu":
        return SparseAdam([table.weight], lr=rate)
    return RowAdam([table.weight], lr=rate, moments=moments)


def _row_adamw(table: RowTable, rate: float, weight_decay: float, moments: torch.dtype = torch.float32) -> RowAdamW:
    """Return an optimizer that gives the result of dense steps, and let it complete rows before they are read."""
    optimizer = RowAdamW(table.weight, lr=rate, weight_decay=weight_decay, moments=moments)
    table.before_reading = optimizer.catch_up
    return optimizer
