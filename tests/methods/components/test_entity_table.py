"""The row-sparse entity table: lookups and updates."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import Adam, SparseAdam

from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import NO_ENTITY


def start() -> Tensor:
    return torch.arange(24, dtype=torch.float32).view(8, 3) / 10 + 0.1


def test_a_step_changes_the_rows_in_use_alone_as_a_dense_step_would() -> None:
    table, dense = EntityTable(start()), nn.Parameter(start())
    sparse_optimizer, dense_optimizer = SparseAdam([table.weight], lr=0.1), Adam([dense], lr=0.1)
    ids, others = torch.tensor([5, 1, 5]), torch.tensor([7, NO_ENTITY, 1])
    positives, negatives = table(ids, others)
    loss = (positives**2).sum() + (negatives[[0, 2]] ** 3).sum()
    loss.backward()
    rows = table.reduce_gradient()
    assert rows.shape == (3, 3)
    table.set_sparse_gradient()
    gradient = table.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    ((dense[ids] ** 2).sum() + (dense[[7, 1]] ** 3).sum()).backward()
    assert dense.grad is not None
    assert torch.allclose(gradient.to_dense(), dense.grad)
    sparse_optimizer.step()
    dense_optimizer.step()
    assert torch.allclose(table.weight, dense)
    untouched = [0, 2, 3, 4, 6]
    assert torch.equal(table.weight[untouched], start()[untouched])
