"""Tables of embeddings whose gradients have only the rows that were read, on a CPU.

torch makes a gradient for every row of the vocabulary in each pass, and AdamW updates every row. Here, a pass adds the
gradients of its own tokens; a large vocabulary's gradient is sparse, and its optimizer computes the rows in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

SPARSE_ROWS = 10_000
"""Rows from which a gradient is sparse"""


class TokenTable(nn.Embedding):
    """A table of embeddings, to whose gradient each backward pass adds the rows that it has read.

    If `sparse`, the gradient has only the rows that a step has read.
    """

    precision: torch.dtype | None = None
    """Of the rows that are read; None: of the table"""
    before_reading: Callable[[Tensor | None], None] | None = None
    """Brings distinct rows, (u,), or all of them (None) up to date; set by an optimizer that defers steps"""

    def forward(self, input: Tensor) -> Tensor:
        """Read rows: numbers (...) -> (..., dimension)."""
        if self.before_reading is not None:
            self.before_reading(input.unique())
        rows: Tensor = _ReadRows.apply(input, self.weight, self.padding_idx, self.sparse)
        return rows.to(self.precision or rows.dtype)

    def reduce_gradient(self) -> Tensor:
        """Complete the table's sparse gradient.

        A dense gradient, of a loss that reads the complete table, becomes a sparse one of all rows.

        Returns:
            (u, dimension), rows whose gradient has the values of the sparse one, to be clipped.
        """
        gradient = self.weight.grad
        assert gradient is not None
        if not gradient.is_sparse:
            numbers = torch.arange(len(gradient))[None]
            gradient = torch.sparse_coo_tensor(numbers, gradient, check_invariants=False)
        self.weight.grad = gradient = gradient.coalesce()
        rows = torch.empty_like(gradient.values())
        rows.grad = gradient.values()
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the table without the optimizer."""
        return {**self.__dict__, "before_reading": None}


def use_token_tables(model: nn.Module) -> None:
    """Turn a model's plain tables of embeddings into such tables in place; they are saved as before."""
    for module in model.modules():
        if type(module) is nn.Embedding and module.max_norm is None and not module.scale_grad_by_freq:
            module.__class__ = TokenTable


def use_sparse_gradients(model: nn.Module) -> None:
    """Make the gradients of a model's large tables sparse, except for weights that another module has, too."""
    uses = Counter(id(weight) for _, weight in model.named_parameters(remove_duplicate=False))
    for module in model.modules():
        if isinstance(module, TokenTable):
            module.sparse = len(module.weight) >= SPARSE_ROWS and uses[id(module.weight)] == 1


class _ReadRows(torch.autograd.Function):
    """Rows of a table; their gradient is added to the table's, since torch makes a table of zeros for each pass."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, weight: Tensor, padding: int | None, sparse: bool) -> Tensor:
        ctx.weight = weight
        ctx.padding = padding
        ctx.sparse = sparse
        ctx.save_for_backward(numbers)
        return weight[numbers]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        (numbers,) = ctx.saved_tensors
        if ctx.padding is not None:
            gradient = gradient.masked_fill((numbers == ctx.padding).unsqueeze(-1), 0)
        weight: Tensor = ctx.weight
        rows, values = numbers.flatten(), gradient.flatten(0, -2)
        if ctx.sparse:
            # Texts repeat tokens: a row for each token would take more memory than the table in a large batch.
            added = torch.sparse_coo_tensor(rows[None], values, weight.shape, check_invariants=False).coalesce()
            if weight.grad is not None:
                added = weight.grad + added
            weight.grad = added
        else:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            weight.grad.index_add_(0, rows, values)
        return None, None, None, None
