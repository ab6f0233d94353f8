"""Entity embeddings with row-sparse gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ease.methods.components.distributed import average, gather
from ease.methods.components.losses import NO_ENTITY


class EntityTable(nn.Module):
    """A table of millions of rows; a step reads and updates only the rows of its batch.

    `forward` returns a copy of the rows in use, the same ones in every process. After the backward pass,
    `reduce_gradient` averages the copy's gradient over the processes, and `set_sparse_gradient` makes it the sparse
    gradient of the table, for `torch.optim.SparseAdam`.
    """

    def __init__(self, embeddings: Tensor) -> None:
        """Use the given embeddings, (entities, dimension) in single precision, without copying them."""
        super().__init__()
        self.weight = nn.Parameter(embeddings, requires_grad=False)
        self._used = torch.empty(0, dtype=torch.long)  # (u,), sorted rows in use
        self._rows: Tensor | None = None  # (u, dimension)

    def forward(self, *ids: Tensor) -> list[Tensor]:
        """Look up ids, each (n,) -> (n, dimension); the embedding of `NO_ENTITY` is undefined."""
        wanted = torch.cat(ids)
        used = gather(wanted).unique()
        self._used = used[used != NO_ENTITY]
        self._rows = self.weight[self._used].requires_grad_(torch.is_grad_enabled())
        places = torch.searchsorted(self._used, wanted).clamp(max=len(self._used) - 1)
        found: Tensor = self._rows[places]
        return list(found.split([len(part) for part in ids]))

    def reduce_gradient(self) -> Tensor:
        """Average the gradient over all processes, and return the rows so that it can be clipped."""
        if self._rows is None:
            raise RuntimeError(
                "The entity table has no rows in use: call `forward` before `reduce_gradient`."
            )
        if self._rows.grad is None:
            self._rows.grad = torch.zeros_like(self._rows)
        average(self._rows.grad)
        return self._rows

    def set_sparse_gradient(self) -> None:
        """Set the table's sparse gradient from the rows' gradient."""
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
