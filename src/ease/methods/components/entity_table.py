"""The entity embeddings, of which a training step reads and changes the rows of its batch alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ease.methods.components.distributed import average, gather
from ease.methods.components.losses import NO_ENTITY


class EntityTable(nn.Module):
    """A table of millions of rows with a gradient for those of the batch.

    A dense gradient, its clipping and its optimiser step would cost the whole table every step. Instead
    `forward` hands out a copy of the rows in use, the same ones on every process; after the backward pass
    `reduce_gradient` averages the copy's gradient and `set_sparse_gradient` makes it the sparse gradient of
    the table, for `torch.optim.SparseAdam`.
    """

    def __init__(self, embeddings: Tensor) -> None:
        """Start from the given embeddings: (entities, dimension), single precision."""
        super().__init__()
        self.weight = nn.Parameter(embeddings, requires_grad=False)
        self._used = torch.empty(0, dtype=torch.long)  # (u,), sorted rows in use
        self._rows: Tensor | None = None  # (u, dimension)

    def forward(self, *ids: Tensor) -> list[Tensor]:
        """Look up ids, each (n,) -> (n, dimension); what stands for `NO_ENTITY` means nothing."""
        wanted = torch.cat(ids)
        used = gather(wanted).unique()
        self._used = used[used != NO_ENTITY]
        self._rows = self.weight[self._used].requires_grad_(torch.is_grad_enabled())
        places = torch.searchsorted(self._used, wanted).clamp(max=len(self._used) - 1)
        found: Tensor = self._rows[places]
        return list(found.split([len(part) for part in ids]))

    def reduce_gradient(self) -> Tensor:
        """Average the rows' gradient over all processes, and return the rows for its clipping."""
        if self._rows is None:
            raise RuntimeError("The entity table has no rows in use: call it before reducing its gradient.")
        if self._rows.grad is None:
            self._rows.grad = torch.zeros_like(self._rows)
        average(self._rows.grad)
        return self._rows

    def set_sparse_gradient(self) -> None:
        """Make the rows' gradient the sparse gradient of the table."""
        if self._rows is None or self._rows.grad is None:
            raise RuntimeError("The entity table has no gradient: run the backward pass first.")
        self.weight.grad = torch.sparse_coo_tensor(
            self._used.unsqueeze(0),
            self._rows.grad,
            self.weight.shape,
            is_coalesced=True,
            check_invariants=False,
        )
        self._rows = None
