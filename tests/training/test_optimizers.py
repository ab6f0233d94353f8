"""The optimizers: weight decay, clipping, learning rates, and Adam with moments in half precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.optim import SGD, SparseAdam
from transformers import get_linear_schedule_with_warmup

from ease.training.loop import step_count
from ease.training.optimizers import RowAdam, rate_share, round_at_random
from ease.training.options import TrainingOptions


@pytest.mark.parametrize("steps", [1, 40])
@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
def test_rates_are_those_of_transformers(steps: int, warmup: float) -> None:
    """transformers' warm-up begins with a step at rate 0, so it is compared from its second step."""
    rise = round(warmup * steps)
    skipped = 1 if rise else 0
    peak = SGD([torch.zeros(1)], lr=1.0)
    schedule = get_linear_schedule_with_warmup(peak, rise + skipped, steps + skipped)
    for step in range(1 - skipped, steps + 1):
        if step:
            assert rate_share(step, steps, warmup) == pytest.approx(schedule.get_last_lr()[0], rel=1e-9)
        peak.step()
        schedule.step()


@pytest.mark.parametrize("warmup", [0.0, 0.3])
def test_a_constant_rate_stays_at_its_peak_after_the_warm_up(warmup: float) -> None:
    shares = [rate_share(step, 10, warmup, "constant") for step in range(1, 11)]
    assert shares == ([0.25, 0.5, 0.75] if warmup else [1, 1, 1]) + [1] * 7


@pytest.mark.parametrize(
    ("pairs", "options", "steps"),
    [
        (175, {"batch_size": 16}, 10),
        (160, {"batch_size": 48, "epochs": 3}, 9),
        (160, {"batch_size": 16, "max_steps": 70, "epochs": 2}, 70),
    ],
)
def test_a_training_has_the_steps_of_its_epochs_complete_batches(
    pairs: int, options: dict[str, int], steps: int
) -> None:
    assert step_count(pairs, TrainingOptions(**options)) == steps


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
