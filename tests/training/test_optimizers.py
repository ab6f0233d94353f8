"""The optimizers: weight decay, clipping, learning rates, and Adam with moments in half precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.optim import SparseAdam

from ease.training.optimizers import rate_share
from ease.training.row_adam import RowAdam, round_at_random


@pytest.mark.parametrize("warmup", [0.0, 0.3])
def test_a_constant_rate_stays_at_its_peak_after_the_warm_up(warmup: float) -> None:
    shares = [rate_share(step, 10, warmup, "constant") for step in range(1, 11)]
    assert shares == ([0.25, 0.5, 0.75] if warmup else [1, 1, 1]) + [1] * 7


def test_the_expectation_of_a_rounded_number_is_the_number() -> None:
    drawn = torch.Generator().manual_seed(0)
    for value in (1.001, -3e-9, 7e20, 0.0):
        rounded = round_at_random(torch.full((100_000,), value), drawn).double()
        assert float(rounded.mean()) == pytest.approx(value, rel=1e-4)
        assert len(rounded.unique()) <= 2


@pytest.mark.parametrize(("moments", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 0.02)])
def test_the_table_is_that_of_torch(moments: torch.dtype, tolerance: float) -> None:
    """A few rows a step, some of them often, move towards 1."""
    ours, theirs = torch.zeros(50, 16), torch.zeros(50, 16)
    for table, optimizer in (
        (ours, RowAdam([ours], lr=0.01, moments=moments)),
        (theirs, SparseAdam([theirs], lr=0.01)),
    ):
        drawn = np.random.default_rng(0)
        for _ in range(300):
            rows = torch.from_numpy(np.unique(drawn.zipf(1.5, 8) % len(table)))
            gradient = table[rows] - 1 + 0.1 * torch.from_numpy(drawn.normal(size=(len(rows), 16)))
            table.grad = torch.sparse_coo_tensor(rows[None], gradient.float(), table.shape, is_coalesced=True)
            optimizer.step()
    assert theirs.abs().max() > 0.9
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)
