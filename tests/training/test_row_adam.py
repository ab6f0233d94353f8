"""Adam with moments in half precision, beside torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.optim import Optimizer, SparseAdam
from torch.utils._python_dispatch import TorchDispatchMode

from ease.training.job import run_job
from ease.training.optimizers import RowAdam, round_at_random
from tests.training.tiny_training import MakeJob, losses


def updated(table: Tensor, optimizer: Optimizer, steps: int) -> Tensor:
    """Update a few rows a step towards 1, some of them often, and return the table."""
    drawn = np.random.default_rng(0)
    for _ in range(steps):
        rows = torch.from_numpy(np.unique(drawn.zipf(1.5, 8) % len(table)))
        gradient = table[rows] - 1 + 0.1 * torch.from_numpy(drawn.normal(size=(len(rows), table.shape[1])))
        table.grad = torch.sparse_coo_tensor(
            rows[None], gradient.float(), table.shape, is_coalesced=True, check_invariants=False
        )
        optimizer.step()
    return table


class Made(TorchDispatchMode):
    """Counts the tensors in single precision that operations make."""

    single = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        self.single += isinstance(found, Tensor) and found.dtype == torch.float32
        return found


@pytest.mark.parametrize("moments", [torch.float32, torch.bfloat16])
def test_the_table_is_that_of_torch(moments: torch.dtype) -> None:
    ours, theirs = torch.zeros(50, 16), torch.zeros(50, 16)
    updated(ours, RowAdam([ours], lr=0.01, moments=moments), 300)
    updated(theirs, SparseAdam([theirs], lr=0.01), 300)
    tolerance = 1e-6 if moments == torch.float32 else 0.02
    assert theirs.abs().max() > 0.9
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def test_the_second_moment_does_not_stand_still() -> None:
    table = torch.zeros(1, 4096)
    optimizer = RowAdam([table], lr=1e-4)
    for _ in range(2000):
        table.grad = torch.sparse_coo_tensor(
            torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 4096), table.shape, is_coalesced=True
        )
        optimizer.step()
    second = optimizer.state[table]["second"].float()
    assert float(second.mean()) == pytest.approx(1 - 0.999**2000, rel=0.01)


def test_the_expectation_of_a_rounded_number_is_the_number() -> None:
    drawn = torch.Generator().manual_seed(0)
    for value in (1.001, -3e-9, 7e20, 0.0):
        rounded = round_at_random(torch.full((100_000,), value), drawn).double()
        assert float(rounded.mean()) == pytest.approx(value, rel=1e-4)
        assert len(rounded.unique()) <= 2


def test_restored_moments_are_not_copied_in_single_precision() -> None:
    table, restored = torch.zeros(50, 16), torch.zeros(50, 16)
    optimizer, other = RowAdam([table], lr=0.01), RowAdam([restored], lr=0.01)
    updated(table, optimizer, 5)
    with Made() as made:
        other.load_state_dict(optimizer.state_dict())
    assert not made.single
    state, expected = other.state[restored], optimizer.state[table]
    assert state["step"] == expected["step"] == 5
    for name in ("first", "second"):
        torch.testing.assert_close(state[name], expected[name], rtol=0, atol=0)


def test_a_training_with_bf16_moments_is_near_one_without(make_job: MakeJob) -> None:
    half, single = (
        losses(run_job(make_job(kind, development={}, training={"entity_moments": kind})))
        for kind in ("bf16", "fp32")
    )
    assert half != single
    assert list(half.values()) == pytest.approx(list(single.values()), rel=0.01)
