"""Entity embeddings with row-sparse gradients."""

from __future__ import annotations

from typing import NamedTuple

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
        self._lookups: list[_Lookup] = []

    def forward(self, *ids: Tensor, used: Tensor | None = None) -> list[Tensor]:
        """Look up ids, each (n,) -> (n, dimension); the embedding of `NO_ENTITY` is undefined.

        Args:
            ids: Rows of the table, or `NO_ENTITY`.
            used: (u,), the sorted different rows among the ids of all processes. Default: found on the device, for
                which the host has to wait.
        """
        wanted = torch.cat(ids)
        if used is None:
            used = gather(wanted).unique()
            used = used[used != NO_ENTITY]
        rows = self.weight[used].requires_grad_(torch.is_grad_enabled())
        if rows.requires_grad:
            self._lookups.append(_Lookup(used, rows))
        places = torch.searchsorted(used, wanted).clamp(max=len(used) - 1)
        found: Tensor = rows[places]
        return list(found.split([len(part) for part in ids]))

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
        """Set the table's sparse gradient from the rows' gradient."""
        gradients = [lookup.rows.grad for lookup in self._lookups]
        if len(gradients) != 1 or gradients[0] is None:
            raise RuntimeError(
                "The entity table has no gradient: call `reduce_gradient` after the backward pass."
            )
        self.weight.grad = torch.sparse_coo_tensor(
            self._lookups[0].used.unsqueeze(0),
            gradients[0],
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
        rows = self.weight[used].requires_grad_()
        rows.grad = torch.zeros_like(rows)
        for lookup in self._lookups:
            if lookup.rows.grad is not None:
                rows.grad[torch.searchsorted(used, lookup.used)] += lookup.rows.grad
        return _Lookup(used, rows)


class _Lookup(NamedTuple):
    """Rows that a forward pass read."""

    used: Tensor
    """(u,), sorted rows of the table"""
    rows: Tensor
    """(u, dimension), a copy of them"""
