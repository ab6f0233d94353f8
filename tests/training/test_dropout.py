"""Dropout in 16-bit numbers: its rate, its scale, its independence and its gradient."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import chisquare
from sentence_transformers import SentenceTransformer
from torch import nn

from ease.training.dropout import QuickDropout, drop_quickly, quicken_dropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_at_its_rate_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    count = 1_000_003  # no multiple of the four values that a number decides on
    found = drop_quickly(torch.ones(count), rate)
    dropped = int((found == 0).sum())
    assert abs(dropped - rate * count) < 5 * math.sqrt(count * rate * (1 - rate))
    kept = found[found != 0]
    assert torch.allclose(kept, torch.tensor(1 / (1 - rate)), rtol=1e-4)


def test_values_drop_independently_of_their_neighbours() -> None:
    """All 16 masks of four values, from one random number or from several, have their expected frequency."""
    torch.manual_seed(1)
    dropped = (drop_quickly(torch.ones(400_000), 0.25) == 0).long()
    expected = torch.tensor(
        [0.75 ** (4 - bin(fate).count("1")) * 0.25 ** bin(fate).count("1") for fate in range(16)]
    )
    for four in (dropped.view(-1, 4), dropped.view(4, -1).T):
        fates = (four * torch.tensor([1, 2, 4, 8])).sum(1).bincount(minlength=16)
        assert (
            chisquare(fates.numpy(), (expected.double() / expected.double().sum() * 100_000).numpy()).pvalue
            > 1e-4
        )


def test_the_gradient_passes_where_values_were_kept() -> None:
    values = torch.randn(50, 7, dtype=torch.float64, requires_grad=True)
    found = drop_quickly(values, 0.3)
    found.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad == 0, found == 0)
    assert torch.allclose(values.grad * values.detach(), found.detach())


def test_a_seed_repeats_and_the_limits_are_exact() -> None:
    values = torch.randn(5, 6).T
    torch.manual_seed(5)
    first = drop_quickly(values, 0.5)
    assert not torch.equal(drop_quickly(values, 0.5), first)
    torch.manual_seed(5)
    assert torch.equal(drop_quickly(values, 0.5), first)
    assert torch.equal(drop_quickly(values, 0.0), values)
    assert not drop_quickly(values, 1.0).any()
    assert drop_quickly(values.bfloat16(), 0.5).dtype == torch.bfloat16


def test_an_encoder_keeps_its_rates_and_drops_in_training_only() -> None:
    encoder = SentenceTransformer(
        modules=[nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Dropout(0.2)))], device="cpu"
    )
    quicken_dropout(encoder)
    (layer,) = (module for module in encoder.modules() if isinstance(module, nn.Dropout))
    assert isinstance(layer, QuickDropout)
    assert layer.p == 0.2
    values = torch.ones(1000)
    assert (layer.train()(values) == 0).any()
    assert torch.equal(layer.eval()(values), values)
