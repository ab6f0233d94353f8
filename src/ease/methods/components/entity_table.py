"""Entity embeddings with row-sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

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
        self._stays = False
        self._lookups: list[_Lookup] = []

    def stay_on_host(self) -> None:
        """Keep the table in the host's memory when the module moves to a GPU, to which a lookup copies its rows."""
        self._stays = True

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        return self if self._stays else super()._apply(fn, recurse)

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
        lookup = self._look_up(used, wanted.device)
        if lookup.rows.requires_grad:
            self._lookups.append(lookup)
        places = torch.searchsorted(lookup.here, wanted).clamp(max=len(used) - 1)
        found: Tensor = lookup.rows[places]
        return list(found.split([len(part) for part in ids]))

    def _look_up(self, used: Rows, device: torch.device) -> _Lookup:
        numbers = torch.from_numpy(used)
        here = _copy(numbers, device)
        there = numbers if self.weight.device.type == "cpu" else here
        rows = _copy(self.weight[there], device).requires_grad_(torch.is_grad_enabled())
        return _Lookup(used, here, there, rows)

    def reduce_gradient(self) -> Tensor:
        """Add the gradients of a step's lookups, average them over all processes, and return the rows to be clipped."""
        if not self._lookups:
            raise RuntimeError(
                "The entity table has no rows in use: call `forward` before `reduce_gradient`."
            )
        joint, *others = self._lookups
        if others:
            used = np.unique(np.concatenate([lookup.used for lookup in self._lookups]))
            joint = self._look_up(used, joint.rows.device)
        if joint.rows.grad is None:
            joint.rows.grad = torch.zeros_like(joint.rows)
        for lookup in self._lookups if others else ():
            if lookup.rows.grad is not None:
                joint.rows.grad[torch.searchsorted(joint.here, lookup.here)] += lookup.rows.grad
        self._lookups = [joint]
        average(joint.rows.grad)
        return joint.rows

    def set_sparse_gradient(self) -> None:
        """Set the table's sparse gradient from the rows' gradient; a table in the host's memory waits for the GPU."""
        gradients = [lookup.rows.grad for lookup in self._lookups]
        if len(gradients) != 1 or gradients[0] is None:
            raise RuntimeError(
                "The entity table has no gradient: call `reduce_gradient` after the backward pass."
            )
        self.weight.grad = torch.sparse_coo_tensor(
            self._lookups[0].there.unsqueeze(0),
            gradients[0].to(self.weight.device),
            self.weight.shape,
            is_coalesced=True,
            check_invariants=False,
        )
        self._lookups = []

    def forget_gradient(self) -> None:
        """Drop the rows in use with their gradients."""
        self._lookups = []


def _copy(values: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor to a device; a GPU copies it from the host's memory while the host continues."""
    if values.device.type == "cpu" and device.type == "cuda":
        values = values.pin_memory()
    return values.to(device, non_blocking=True)


class _Lookup(NamedTuple):
    """Rows that a forward pass read."""

    used: Rows
    """(u,), sorted rows of the table"""
    here: Tensor
    """The same on the device of the batch"""
    there: Tensor
    """The same on the device of the table"""
    rows: Tensor
    """(u, dimension), a copy of them on the device of the batch"""
