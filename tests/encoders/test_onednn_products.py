"""Matrix products by oneDNN against torch's own."""

from __future__ import annotations

import pytest
import torch

from ease.encoders.onednn import OneDnnProducts, has_onednn

pytestmark = pytest.mark.skipif(not has_onednn(), reason="torch has no oneDNN here")
linear = torch.nn.functional.linear


def used(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> bool:
    """Return whether oneDNN computes this layer, whose result must equal torch's."""
    with torch.profiler.profile() as profile, OneDnnProducts():
        found = linear(rows, weight, bias)
    torch.testing.assert_close(found, linear(rows, weight, bias), rtol=1e-5, atol=1e-5)
    return any("mkldnn" in event.key for event in profile.key_averages())


@torch.inference_mode()
def test_products_equal_torchs() -> None:
    rows, weight, bias = torch.randn(3, 5, 16), torch.randn(24, 16), torch.randn(24)
    assert used(rows, weight, bias)
    assert used(rows, weight)
    assert used(rows.transpose(0, 1), weight, bias)
    assert used(rows, torch.randn(16, 24).t(), bias)
    assert used(torch.randn(5, 32)[:, ::2], weight[::2], bias[::2])
    assert used(rows, torch.nn.Parameter(weight), bias)


@torch.inference_mode()
def test_other_layers_are_left_to_torch() -> None:
    rows, weight = torch.randn(3, 16), torch.randn(24, 16)
    assert not used(rows.double(), weight.double())
    assert not used(rows.bfloat16(), weight.bfloat16())
    assert not used(torch.empty(0, 16), weight)
    assert not used(rows[0], weight)


def test_layers_with_gradients_are_left_to_torch() -> None:
    weight = torch.randn(24, 16, requires_grad=True)
    with OneDnnProducts():
        linear(torch.randn(3, 16), weight).sum().backward()
    assert weight.grad is not None
