"""Entity embeddings with row-sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ease.methods.components.distributed import average, gather
from ease.methods.components.losses import NO_ENTITY

Rows = NDArray[np.int64]


class EntityTable(nn.Module):
    """A table of millions of rows; a step reads and updates only the rows of its batch.

    `forward` returns a copy of the rows in use, the same ones in every process. After the backward passes of a step,
    `reduce_gradient` adds the copies' gradients, averages them over the processes, and makes the result the sparse
    gradient of the table, for `torch.optim.SparseAdam` and others.
    """

    def __init__(self, embeddings: Tensor) -> None:
        """Use embeddings, (entities, dimension) in single precision, without copying them."""
        super().__init__()
        self.weight = nn.Parameter(embeddings, requires_grad=False)
        self._lookups: list[_Lookup] = []
        self.before_reading: Callable[[Tensor | None], None] | None = None
        """Brings rows, or all of them, up to date; set by an optimizer that defers steps"""

    def forward(self, *ids: Tensor, distinct_rows: Rows | None = None) -> list[Tensor]:
        """Look up ids, each (n,) -> (n, dimension); the embedding of `NO_ENTITY` is undefined.

        Args:
            ids: Rows of the table, or `NO_ENTITY`.
            distinct_rows: (u,), the sorted different rows among the ids of all processes. Default: computed on the
                device, for which the host has to wait.
        """
        joined_ids = torch.cat(ids)
        if distinct_rows is None:
            distinct_ids = gather(joined_ids).unique()
            distinct_rows = distinct_ids[distinct_ids != NO_ENTITY].cpu().numpy()
        lookup = self._look_up(distinct_rows)
        # Without gradients, as in an evaluation, there is nothing to reduce.
        if lookup.rows.requires_grad:
            self._lookups.append(lookup)
        # `NO_ENTITY` is below all rows: it gets the first one, and the losses exclude it.
        places = torch.searchsorted(lookup.device_rows, joined_ids).clamp(max=len(distinct_rows) - 1)
        embeddings: Tensor = lookup.rows[places]
        return list(embeddings.split([len(part) for part in ids]))

    def _look_up(self, distinct_rows: Rows) -> _Lookup:
        device_rows = torch.from_numpy(distinct_rows)
        if self.weight.device.type == "cuda":
            # The GPU copies pinned memory while the host continues.
            device_rows = device_rows.pin_memory().to(self.weight.device, non_blocking=True)
        if self.before_reading is not None:
            self.before_reading(device_rows)
        # The table itself needs no gradient: a dense one would be as large as the table.
        rows = self.weight[device_rows].requires_grad_(torch.is_grad_enabled())
        return _Lookup(distinct_rows, device_rows, rows)

    def reduce_gradient(self) -> Tensor:
        """Set the table's sparse gradient: that of a step's lookups, averaged over all processes.

        Returns:
            (u, dimension), rows whose gradient has the values of the sparse one, to be clipped.
        """
        joint = self._lookups[0]
        # A step with sub-batches looks up several times, and each lookup has a gradient of its own.
        has_several = len(self._lookups) > 1
        if has_several:
            distinct_rows = np.unique(np.concatenate([lookup.distinct_rows for lookup in self._lookups]))
            joint = self._look_up(distinct_rows)
        # Every process takes part in the average, even if none of its sentences has an entity loss.
        if joint.rows.grad is None:
            joint.rows.grad = torch.zeros_like(joint.rows)
        if has_several:
            for lookup in self._lookups:
                if lookup.rows.grad is not None:
                    joint.rows.grad[torch.searchsorted(joint.device_rows, lookup.device_rows)] += lookup.rows.grad
        average(joint.rows.grad)
        indices = joint.device_rows.unsqueeze(0)
        # Sorted distinct rows are coalesced; a check would make the host wait for the GPU.
        self.weight.grad = torch.sparse_coo_tensor(
            indices, joint.rows.grad, self.weight.shape, is_coalesced=True, check_invariants=False
        )
        self._lookups = []
        return joint.rows

    def forget_gradient(self) -> None:
        """Drop the rows in use with their gradients."""
        self._lookups = []


class _Lookup(NamedTuple):
    """Rows that a forward pass read."""

    distinct_rows: Rows
    """(u,), sorted rows of the table"""
    device_rows: Tensor
    """The same on the device of the table"""
    rows: Tensor
    """(u, dimension), a copy of them"""
