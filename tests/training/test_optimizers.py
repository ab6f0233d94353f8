"""The optimizers: weight decay, clipping, learning rates, and Adam with moments in half precision."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer, SparseAdam
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import get_linear_schedule_with_warmup

from ease.encoders.encoder import load_encoder
from ease.methods import get_method, method_options
from ease.training.loop import step_count
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers, RowAdam, rate_share, round_at_random
from ease.training.options import TrainingOptions

USED = [2, 5, 7]
"""Rows of the entity table that a step reads."""


@pytest.fixture
def model(files: Path) -> TrainingModel:
    torch.manual_seed(0)
    encoder, options = load_encoder(str(files / "encoder")), method_options("ease", {"projection": "tanh"})
    method = get_method("ease").build(options, encoder, torch.randn(10, 24))
    return TrainingModel(encoder, nn.Identity(), method)


def weights(model: TrainingModel) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def set_gradients(model: TrainingModel, scale: float) -> dict[str, Tensor]:
    """Set the gradients of all weights and of the entity rows in use; return them by name."""
    generator = torch.Generator().manual_seed(1)
    gradients = {}
    for name, weight in model.named_parameters():
        gradient = scale * torch.randn(weight.shape, generator=generator)
        if name == "method.table.weight":
            unused = torch.ones(len(gradient), dtype=torch.bool)
            unused[USED] = False
            gradient[unused] = 0
            assert model.method.table is not None
            (rows,) = model.method.table(torch.tensor(USED))
            (rows * gradient[USED]).sum().backward()
        else:
            weight.grad = gradient.clone()
        gradients[name] = gradient
    return gradients


def test_weight_decay_applies_to_matrices_only(model: TrainingModel) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_()  # biases begin at 0, and norms at 1
    optimizers = Optimizers(model, TrainingOptions(learning_rate=0.1, weight_decay=0.5))
    before = weights(model)
    set_gradients(model, 0.0)
    optimizers.set_rates(1.0)
    optimizers.step()
    decayed = set()
    for name, now in weights(model).items():
        if not torch.equal(now, before[name]):
            # Without a gradient Adam's own step is nothing: what is left is 1 - rate * decay.
            assert torch.allclose(now, 0.95 * before[name]), name
            decayed.add(name)
    assert decayed == {
        name
        for name in before
        if name.endswith("weight") and "LayerNorm" not in name and name != "method.table.weight"
    }
    assert {
        "method.projection.bias",
        "encoder.0.model.embeddings.LayerNorm.weight",
    } <= before.keys() - decayed


@pytest.mark.parametrize("limit", [None, 0.5])
def test_all_gradients_are_clipped_to_one_norm(model: TrainingModel, limit: float | None) -> None:
    options = TrainingOptions(max_grad_norm=limit)
    optimizers = Optimizers(model, options)
    gradients = set_gradients(model, 0.01)
    expected = math.sqrt(sum(float((gradient.double() ** 2).sum()) for gradient in gradients.values()))
    assert 0.5 < expected < 1e6
    assert float(optimizers.step()) == pytest.approx(expected, rel=1e-5)
    share = 0.5 / expected if limit == 0.5 else 1.0
    seen = {
        name: optimizers.by_name["entities" if "table" in name else "encoder"].state[weight]["exp_avg"]
        for name, weight in model.named_parameters()
    }
    for name, gradient in gradients.items():
        # After one step Adam's first moment is a tenth of the gradient that it was given.
        assert torch.allclose(seen[name], 0.1 * share * gradient, rtol=1e-4, atol=1e-8), name
    assert all(weight.grad is None for weight in model.parameters())


@pytest.mark.parametrize("steps", [1, 40])
@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
def test_rates_are_those_of_transformers(model: TrainingModel, steps: int, warmup: float) -> None:
    """transformers' warm-up begins with a step at rate 0, so it is compared from its second step."""
    rise = round(warmup * steps)
    peak = SGD([torch.zeros(1)], lr=2e-3)
    skipped = 1 if rise else 0
    schedule = get_linear_schedule_with_warmup(peak, rise + skipped, steps + skipped)
    options = TrainingOptions(learning_rate=2e-3, entity_learning_rate=0.5)
    optimizers = Optimizers(model, options)
    for step in range(1, steps + 1):
        if step <= skipped:
            peak.step()
            schedule.step()
        rate = optimizers.set_rates(rate_share(step, steps, warmup))
        assert rate == pytest.approx(schedule.get_last_lr()[0], rel=1e-9)
        assert {group["lr"] for group in optimizers.by_name["encoder"].param_groups} == {rate}
        assert [group["lr"] for group in optimizers.by_name["entities"].param_groups] == [
            pytest.approx(250 * rate)
        ]
        peak.step()
        schedule.step()
    if rise < steps:
        assert rate_share(rise + 1, steps, warmup) == 1


@pytest.mark.parametrize("warmup", [0.0, 0.3])
def test_a_constant_rate_stays_at_its_peak_after_the_warm_up(warmup: float) -> None:
    shares = [rate_share(step, 10, warmup, "constant") for step in range(1, 11)]
    assert shares == ([0.25, 0.5, 0.75] if warmup else [1, 1, 1]) + [1] * 7


@pytest.mark.parametrize(
    ("pairs", "options", "steps"),
    [
        (160, {"batch_size": 16}, 10),
        (175, {"batch_size": 16}, 10),
        (160, {"batch_size": 48, "epochs": 3}, 9),
        (160, {"batch_size": 16, "max_steps": 7}, 7),
        (160, {"batch_size": 16, "max_steps": 70, "epochs": 2}, 70),
    ],
)
def test_a_training_has_the_steps_of_its_epochs_complete_batches(
    pairs: int, options: dict[str, int], steps: int
) -> None:
    assert step_count(pairs, TrainingOptions(**options)) == steps


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
