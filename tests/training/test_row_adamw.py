"""AdamW for the rows in use against `torch.optim.AdamW` on all rows of the table."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from ease.training.optimizers import rate_share
from ease.training.row_adamw import RowAdamW

ROWS = 300
STEPS = 3_000


def start(dtype: torch.dtype) -> nn.Parameter:
    generator = torch.Generator().manual_seed(0)
    return nn.Parameter(torch.randn(ROWS, 8, generator=generator).mul_(0.05).to(dtype), requires_grad=False)


def batches(steps: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the rows of each step, some of which are in most steps and others in a few, and noise."""
    drawn = np.random.default_rng(1)
    frequencies = 1 / np.arange(1, ROWS + 1) ** 1.5
    for _ in range(steps):
        rows = np.unique(drawn.choice(ROWS, 4, p=frequencies / frequencies.sum()))
        yield torch.from_numpy(rows), torch.from_numpy(drawn.normal(size=(len(rows), 8)))


def train(table: nn.Parameter, optimizer: Optimizer, scale: float = 1.0, steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """Move the rows towards 0.3 by noisy gradients; return the table, and how many steps apart its rows are used."""
    uses = torch.zeros(ROWS)
    for step, (rows, noise) in enumerate(batches(steps), start=1):
        uses[rows] += 1
        if isinstance(optimizer, RowAdamW):
            optimizer.catch_up(rows)
        # The gradient depends on what is read: a row that was read too early would get another one.
        gradient = (scale * (table[rows] - 0.3 + 0.1 * noise)).to(table.dtype)
        if isinstance(optimizer, RowAdamW):
            table.grad = torch.sparse_coo_tensor(rows[None], gradient, table.shape, is_coalesced=True)
        else:
            table.grad = torch.zeros_like(table).index_copy_(0, rows, gradient)
        optimizer.param_groups[0]["lr"] = 1e-3 * rate_share(step, steps, 0.1, "linear")
        optimizer.step()
    if isinstance(optimizer, RowAdamW):
        optimizer.catch_up()
    return table.detach().double(), steps / uses


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "weight_decay"), [(1.0, 0.0), (1e-6, 0.1)])
def test_the_table_is_that_of_dense_steps(scale: float, weight_decay: float) -> None:
    """Gradients of 1e-6 are near ε after their first moment's square root; EASE's are that small with λ 0.01, τ 10."""
    options = {"lr": 1e-3, "weight_decay": weight_decay}
    table = start(torch.float32)
    ours, between = train(table, RowAdamW(table, **options), scale)
    table = start(torch.float32)
    single, _ = train(table, AdamW([table], **options), scale)
    table = start(torch.float64)
    double, _ = train(table, AdamW([table], **options), scale)
    assert ((between > 100) & torch.isfinite(between)).sum() > 100
    change = (double - start(torch.float64)).norm(dim=1)
    error = (ours - double).norm(dim=1)
    # Both round each weight, of about 0.3, to 3e-8 in each of its steps; torch also in the steps without a gradient.
    assert float((error / change).nan_to_num().max()) < 5e-6
    assert float(error.norm()) < float((single - double).norm())


@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_missed_steps_are_summed_for_every_gap_and_size(weight_decay: float) -> None:
    """A row has one gradient, in an early or a late step, and is read after some more; against a sum in float64."""
    sizes = torch.tensor(10.0) ** torch.arange(-7, 3)
    for before, gap in product((0, 1, 5, 40, 300), (1, 2, 7, 50, 180, 700)):
        table = nn.Parameter(torch.zeros(2, len(sizes)), requires_grad=False)
        optimizer = RowAdamW(table, lr=1e-3, weight_decay=weight_decay)
        for step in range(1, before + gap + 2):
            row = int(step != before + 1)
            table.grad = torch.sparse_coo_tensor([[row]], sizes[None], table.shape, is_coalesced=True)
            optimizer.param_groups[0]["lr"] = 1e-5 * step
            optimizer.step()
        first, second = 0.1 * sizes.double(), 0.001 * sizes.double() ** 2
        expected = torch.zeros(len(sizes), dtype=torch.float64)
        for step in range(before + 1, before + gap + 2):
            denominator = (second / (1 - 0.999**step)).sqrt() + 1e-8
            expected -= 1e-5 * step * (weight_decay * expected + first / (1 - 0.9**step) / denominator)
            first, second = 0.9 * first, 0.999 * second
        optimizer.catch_up(torch.tensor([0]))
        torch.testing.assert_close(table[0].double(), expected, rtol=4e-6, atol=0)


def test_reading_more_often_changes_nothing_but_rounding() -> None:
    """Neither does a second look, nor a look at all rows, such as that before the table is saved."""
    tables = [start(torch.float32), start(torch.float32)]
    for number, table in enumerate(tables):
        optimizer = RowAdamW(table, lr=1e-3)
        for rows, noise in batches(200):
            optimizer.catch_up(rows)
            if number:
                before = table.clone()
                optimizer.catch_up(rows)
                assert torch.equal(table, before)
                optimizer.catch_up()
            gradient = (table[rows] - 0.3 + 0.1 * noise).float()
            table.grad = torch.sparse_coo_tensor(rows[None], gradient, table.shape, is_coalesced=True)
            optimizer.step()
        optimizer.catch_up()
    torch.testing.assert_close(*tables, rtol=3e-6, atol=1e-8)


def test_moments_in_bf16_are_near() -> None:
    tables = [start(torch.float32), start(torch.float32)]
    for table, moments in zip(tables, (torch.float32, torch.bfloat16), strict=True):
        train(table, RowAdamW(table, lr=1e-3, moments=moments), steps=400)
    assert not torch.equal(*tables)
    torch.testing.assert_close(*tables, rtol=0, atol=0.02)


def test_a_saved_state_continues_exactly() -> None:
    results = []
    for saved_after in (None, 150):
        table = start(torch.float32)
        optimizer = RowAdamW(table, lr=1e-3, moments=torch.bfloat16)
        for step, (rows, noise) in enumerate(batches(300)):
            if step == saved_after:
                saved = copy.deepcopy(optimizer.state_dict())
                table = nn.Parameter(table.clone(), requires_grad=False)
                optimizer = RowAdamW(table, lr=1e-3, moments=torch.bfloat16)
                optimizer.load_state_dict(saved)
            optimizer.catch_up(rows)
            gradient = (table[rows] - 0.3 + 0.1 * noise).float()
            table.grad = torch.sparse_coo_tensor(rows[None], gradient, table.shape, is_coalesced=True)
            optimizer.param_groups[0]["lr"] = 1e-3 * math.cos(step / 300)
            optimizer.step()
        optimizer.catch_up()
        results.append(table.detach())
    assert torch.equal(*results)
