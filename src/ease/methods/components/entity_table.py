"""Entity embeddings with row-sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from ease.methods.components.distributed import average, gather
from ease.methods.components.entity_losses import NO_ENTITY


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
        """Keep the table in the host's memory when the module moves to a GPU; a lookup copies its rows there."""
        self._stays = True

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or convert the table, as torch does with all modules."""
        return self if self._stays else super()._apply(fn, recurse)

    def forward(self, *ids: Tensor, used: Tensor | None = None) -> list[Tensor]:
        """Look up ids, each (n,) -> (n, dimension); the embedding of `NO_ENTITY` is undefined.

        Args:
            ids: Rows of the table, or `NO_ENTITY`.
            used: (u,), the sorted different rows among the ids of all processes, on any device; a table in the host's
                memory does not wait for the GPU if they are there, too. Default: found on the device of the ids, for
                which the host has to wait.
        """
        wanted = torch.cat(ids)
        if used is None:
            used = gather(wanted).unique()
            used = used[used != NO_ENTITY]
        there, here = (used.to(device, non_blocking=True) for device in (self.weight.device, wanted.device))
        rows = self._read(there, wanted.device).requires_grad_(torch.is_grad_enabled())
        if rows.requires_grad:
            self._lookups.append(_Lookup(there, rows))
        places = torch.searchsorted(here, wanted).clamp(max=len(here) - 1)
        found: Tensor = rows[places]
        return list(found.split([len(part) for part in ids]))

    def _read(self, used: Tensor, device: torch.device) -> Tensor:
        """Copy rows to a device, for which the host does not wait."""
        rows = self.weight[used]
        if rows.device.type == "cpu" and device.type == "cuda":
            rows = rows.pin_memory()
        return rows.to(device, non_blocking=True)

    def reduce_gradient(self) -> Tensor:
        """Average the gradient over all processes, and return the rows so that it can be clipped."""
        if not self._lookups:
            raise RuntimeError(
                "The entity table has no rows in use: call `forward` before `reduce_gradient`."
            )
        joint = self._join_lookups()
        self._lookups = [joint]
        if joint.rows.grad is None:
            joint.rows.grad = torch.zeros_like(joint.rows)
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
            self._lookups[0].used.unsqueeze(0),
            gradients[0].to(self.weight.device),
            self.weight.shape,
            is_coalesced=True,
            check_invariants=False,
        )
        self._lookups = []

    def _join_lookups(self) -> _Lookup:
        """Add the gradients of all lookups of a step."""
        if len(self._lookups) == 1:
            return self._lookups[0]
        used = torch.cat([lookup.used for lookup in self._lookups]).unique()
        rows = self._read(used, self._lookups[0].rows.device).requires_grad_()
        rows.grad = torch.zeros_like(rows)
        for lookup in self._lookups:
            if lookup.rows.grad is not None:
                places = torch.searchsorted(used, lookup.used)
                rows.grad[places.to(rows.device, non_blocking=True)] += lookup.rows.grad
        return _Lookup(used, rows)


class _Lookup(NamedTuple):
    """Rows that a forward pass read."""

    used: Tensor
    """(u,), sorted rows of the table, on its device"""
    rows: Tensor
    """(u, dimension), a copy of them on the device of the batch"""
