"""Fast dropout: the share and size of what is kept, gradients, seeds, and the cases it leaves to torch."""

from __future__ import annotations

import pytest
import torch

from ease.encoders.dropout import FastDropout, drop


@pytest.mark.parametrize(("rate", "dtype"), [(0.1, torch.float32), (0.5, torch.bfloat16), (0.9, torch.bfloat16)])
def test_values_are_dropped_independently_at_the_rate(rate: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    values = torch.ones(1000, 333, dtype=dtype)
    dropped = drop(values, rate)
    kept = dropped != 0
    share = float(kept.double().mean())
    assert abs(share - (1 - rate)) < 5 * (rate * (1 - rate) / kept.numel()) ** 0.5
    assert torch.equal(dropped[kept].unique(), torch.tensor([1 / (1 - rate)], dtype=dtype))
    # Neighbours share a random number: they agree as often as independent values.
    agreeing = float((kept[:, 1:] == kept[:, :-1]).double().mean())
    assert agreeing == pytest.approx(share**2 + (1 - share) ** 2, abs=0.005)


def test_gradients_are_those_of_the_kept_values_and_a_seed_repeats_them() -> None:
    values = torch.randn(7, 13, requires_grad=True)
    torch.manual_seed(3)
    dropped = drop(values, 0.25)
    dropped.sum().backward()
    torch.manual_seed(3)
    assert torch.equal(drop(values, 0.25), dropped)
    assert not torch.equal(drop(values, 0.25), dropped)
    assert values.grad is not None
    torch.testing.assert_close(values.grad * values, dropped)


def test_nothing_is_dropped_outside_of_training_or_at_rate_0() -> None:
    values = torch.ones(1000)
    assert torch.equal(FastDropout(0.5).eval()(values), values)
    assert torch.equal(FastDropout(0.0)(values), values)
    assert torch.equal(drop(values, 1e-9), values)
    assert not FastDropout(1.0)(values).any()
