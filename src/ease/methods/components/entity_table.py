"""Entity embeddings with row-sparse gradients."""

from __future__ import annotations

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
    `reduce_gradient` adds the copies' gradients and averages them over the processes, and `set_sparse_gradient` makes
    the result the sparse gradient of the table, for `torch.optim.SparseAdam`.
    """

    def __init__(self, embeddings: Tensor) -> None:
        """Use the given embeddings, (entities, dimension) in single precision, without copying them."""
        super().__init__()
        self.weight = nn.Parameter(embeddings, requires_grad=False)
        self._lookups: list[_Lookup] = []

    def forward(self, *ids: Tensor, used: Rows | None = None) -> list[Tensor]:
        """Look up ids, each (n,) -> (n, dimension); the embedding of `NO_ENTITY` is undefined.

        Args:
            ids: Rows of the table, or `NO_ENTITY`.
            used: (u,), the sorted different rows among the ids of all processes. Default: found on the device, for
                which the host has to wait.
        """
        wanted = torch.cat(ids)
        if used is None:
            different = gather(wanted).unique()
            used = different[different != NO_ENTITY].cpu().numpy()
        lookup = self._look_up(used)
        if lookup.rows.requires_grad:
            self._lookups.append(lookup)
        places = torch.searchsorted(lookup.here, wanted).clamp(max=len(used) - 1)
        found: Tensor = lookup.rows[places]
        return list(found.split([len(part) for part in ids]))

    def _look_up(self, used: Rows) -> _Lookup:
        here = torch.from_numpy(used)
        if self.weight.device.type == "cuda":
            # The GPU copies pinned memory while the host continues.
            here = here.pin_memory().to(self.weight.device, non_blocking=True)
        rows = self.weight[here].requires_grad_(torch.is_grad_enabled())
        return _Lookup(used, here, rows)

    def reduce_gradient(self) -> Tensor:
        """Add the gradients of a step's lookups, average them over all processes, and return the rows to be clipped."""
        joint, *others = self._lookups
        if others:
            used = np.unique(np.concatenate([lookup.used for lookup in self._lookups]))
            joint = self._look_up(used)
        if joint.rows.grad is None:
            joint.rows.grad = torch.zeros_like(joint.rows)
        for lookup in self._lookups if others else ():
            if lookup.rows.grad is not None:
                joint.rows.grad[torch.searchsorted(joint.here, lookup.here)] += lookup.rows.grad
        self._lookups = [joint]
        average(joint.rows.grad)
        return joint.rows

    def set_sparse_gradient(self) -> None:
        """Set the table's sparse gradient from the rows' gradient."""
        (joint,) = self._lookups  # which `reduce_gradient` has left
        assert joint.rows.grad is not None
        self.weight.grad = torch.sparse_coo_tensor(
            joint.here.unsqueeze(0), joint.rows.grad, self.weight.shape, is_coalesced=True, check_invariants=False
        )
        self._lookups = []

    def forget_gradient(self) -> None:
        """Drop the rows in use with their gradients."""
        self._lookups = []


class _Lookup(NamedTuple):
    """Rows that a forward pass read."""

    used: Rows
    """(u,), sorted rows of the table"""
    here: Tensor
    """The same on the device of the table"""
    rows: Tensor
    """(u, dimension), a copy of them"""
